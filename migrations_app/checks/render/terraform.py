"""Text for Terraform: values of a helm_release, policies of a role, and what to change in the code of an object."""

import json
from collections.abc import Mapping
from textwrap import indent
from typing import Any, Final

from migrations_app.checks.changes import Change, HelmChange, IamStatements, leaves
from migrations_app.checks.render.sources import PLAN, TERRAFORM, source_text
from migrations_app.checks.render.values import reasons, tag_of, yaml_of
from migrations_app.checks.shell import note
from migrations_app.iam.policy import WITH_VARIABLES
from migrations_app.inventory.facts.managers import Managed
from migrations_app.inventory.objects.cluster_arn import read_role_arn


class HclExpression(str):
    """A Terraform expression, written without quotes."""

    __slots__ = ()


REPOSITORY: Final = "oci://public.ecr.aws/karpenter"


def text(change: Change, by: Managed) -> str:
    """The change as Terraform code, or what to change in the code of the object, with how to apply it; empty if
    Terraform does not manage what it changes."""
    code = _code(change)
    return with_apply(code) if code else source_text(change, by, tool="terraform")


def with_apply(code: str) -> str:
    """The code, followed by a comment that says how to apply it."""
    return f"{code.rstrip()}\n{note(TERRAFORM)}"


def applied_text(release: str) -> str:
    """The lines that show and then apply the change of a Helm release; the second waits until its pods are ready."""
    look = note(f"see that helm_release {release} changes, and nothing else")
    return f"terraform plan -out={PLAN}  {look}\nterraform apply {PLAN}"


def _code(change: Change) -> str:
    steps = tuple(leaves(change))
    if isinstance(change, HelmChange):
        tree = yaml_of(change.given)
        return values_text(change.release, tree=tree, version=tag_of(change), about=reasons(change))
    if all(isinstance(step, IamStatements) for step in steps):
        blocks = [_policy(step) for step in steps if isinstance(step, IamStatements)]
        about = [note(line) for step in steps for line in step.notes]
        return "\n".join([*about, "\n\n".join(blocks)]) if all(blocks) else ""
    return ""


def values_text(release: str, *, tree: str, version: str, about: str) -> str:
    """The values of the helm_release; `tree` is YAML, `about` lines of comments, both may be empty."""
    pinned = f'version = "{version}"\n' if version else ""
    changed = [line for line in tree.splitlines() if not line.startswith("#")]
    comments = [line for line in tree.splitlines() if line.startswith("#")]
    body = indent(_literal("\n".join(changed)), "  ")
    listed = f"# At the end of the values that are there:\nvalues = [<<-YAML\n{body}\n  YAML\n]" if changed else ""
    listed = "\n".join(filter(None, (listed, *comments)))
    return f"{note(f'helm_release of {release}')}\n{about}{pinned}{listed}".rstrip()


def crd_release(chart: str, *, version: str, namespace: str, tree: str = "") -> str:
    """A helm_release for the CRD chart; `tree` is YAML of its values, or empty."""
    head = f"# helm_release of {chart}, applied before the controller changes; in that of karpenter: skip_crds = true"
    fields: dict[str, object] = {"name": chart, "namespace": namespace, "repository": REPOSITORY, "chart": chart}
    if tree:
        fields["values"] = HclExpression(f"[<<-YAML\n{indent(_literal(tree), '    ')}\n    YAML\n  ]")
    return f"{head}\n{hcl('helm_release', chart, arguments={**fields, 'version': version})}"


def _policy(change: IamStatements) -> str:
    """The statements as a policy of the role; empty if they are to be removed or the role has no ARN."""
    role = read_role_arn(change.role)
    if role is None or change.removed:
        return ""
    document = _in_lines({"Version": WITH_VARIABLES, "Statement": list(change.statements)})
    if change.inline:
        arguments = {"name": change.policy, "role": role.name, "policy": document}
        return hcl("aws_iam_role_policy", change.policy, arguments=arguments)
    resource = hcl("aws_iam_policy", change.policy, arguments={"name": change.policy, "policy": document})
    arn = HclExpression(f"aws_iam_policy.{label(change.policy)}.arn")
    attached = {"role": role.name, "policy_arn": arn}
    return f"{resource}\n\n{hcl('aws_iam_role_policy_attachment', change.policy, arguments=attached)}"


def hcl(kind: str, name: str, *, arguments: Mapping[str, object]) -> str:
    """One Terraform block. A value that starts with jsonencode( or is a reference has to be an HclExpression."""
    lines = [
        f"  {key} = {value if isinstance(value, HclExpression) else quoted(value)}" for key, value in arguments.items()
    ]
    return "\n".join([f'resource "{kind}" "{label(name)}" {{', *lines, "}"])


def _in_lines(document: Mapping[str, Any]) -> HclExpression:
    """The document as an argument of a block, one entry per line."""
    return HclExpression(f"jsonencode({indent(_literal(json.dumps(document, indent=2)), '  ').lstrip()})")


def encoded(document: Mapping[str, Any]) -> HclExpression:
    return HclExpression(f"jsonencode({quoted(document)})")


def quoted(value: object) -> str:
    """The value as an HCL string, with HCL's two template openings escaped."""
    return _literal(json.dumps(value))


def label(name: str) -> str:
    """The name as a Terraform label: letters, digits, hyphens and underscores, not starting with a digit."""
    plain = "".join(sign if sign.isascii() and (sign.isalnum() or sign in "-_") else "_" for sign in name)
    return plain if plain[:1].isalpha() else f"_{plain}"


def _literal(plain: str) -> str:
    """Text inside a string or heredoc of Terraform, with HCL's two template openings escaped."""
    return plain.replace("${", "$${").replace("%{", "%%{")
