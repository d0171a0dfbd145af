"""The remedy for a gap report, written as JSON, CloudFormation, Terraform, or input of the Terraform EKS module's
Karpenter submodule.

One implementation for the command line, the API and the page.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from migrations_app.iam.evaluate import Evaluation
from migrations_app.iam.policy import IamPolicy, PolicyStatement
from migrations_app.iam.requirements.gaps import GapReport, boundary_answer
from migrations_app.iam.requirements.remedies import (
    MANAGED_LIMIT,
    AddedStatements,
    Removal,
    fitted,
    merged,
    merged_size,
    statements_to_add,
)
from migrations_app.iam.requirements.terraform_module import (
    ModuleSetting,
    ModuleVersion,
    inline_setting,
    module_settings,
    module_version,
    role_output,
)
from migrations_app.iam.site import SOME_ACCOUNT, SOME_CLUSTER, SOME_REGION, AwsSite
from migrations_app.manifests import JsonMap

_NAME = "KarpenterController{release}Gaps"


def as_json(documents: Sequence[JsonMap]) -> str:
    """The documents in IAM's format, one after the other; each is one policy to create."""
    return "\n".join(json.dumps(document, indent=2) for document in documents)


def as_cloudformation(documents: Sequence[JsonMap], *, release: str) -> str:
    """A template with a managed policy for each document, attached to the role that its parameter names."""
    name = _plain(_NAME.format(release=release))
    resources = {
        f"{name}{n}": {
            "Type": "AWS::IAM::ManagedPolicy",
            "Properties": {"Roles": [{"Ref": "ControllerRoleName"}], "PolicyDocument": document},
        }
        for n, document in enumerate(documents, start=1)
    }
    parameter = {"Type": "String", "Description": "Name of the role that the Karpenter controller uses"}
    template = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": f"What the Karpenter controller of {release} may not do yet",
        "Parameters": {"ControllerRoleName": parameter},
        "Resources": resources,
    }
    return json.dumps(template, indent=2)


def as_terraform(documents: Sequence[JsonMap], *, release: str, role: str = "") -> str:
    """A policy and its attachment for each document; `role` is the expression of the role's name, without it the role
    is a variable.
    """
    label = _plain(release.replace(".", "_"))
    blocks = [] if role else ['variable "karpenter_controller_role_name" {\n  type = string\n}']
    for n, document in enumerate(documents, start=1):
        name = f"karpenter_{label}_gaps_{n}"
        body = _indented(_hcl(document), 2)
        blocks.append(
            f'resource "aws_iam_policy" "{name}" {{\n'
            f'  name_prefix = "KarpenterController-"\n'
            f"  policy = jsonencode({body})\n}}"
        )
        blocks.append(
            f'resource "aws_iam_role_policy_attachment" "{name}" {{\n'
            f"  role       = {role or 'var.karpenter_controller_role_name'}\n"
            f"  policy_arn = aws_iam_policy.{name}.arn\n}}"
        )
    return "\n\n".join(blocks) + "\n"


def as_module_statements(statements: Iterable[PolicyStatement], *, major: int) -> str:
    """The submodule's variable `iam_policy_statements`; its blocks are named `conditions` up to 20 and `condition`
    from 21.

    Source: terraform-aws-modules/terraform-aws-eks@v20.16.0, v20.37.2, v21.19.0:modules/karpenter/policy.tf,
    main.tf
    """
    block = "condition" if major >= 21 else "conditions"
    listed = [
        {
            "sid": statement.sid,
            "effect": "Allow",
            "actions": list(statement.actions),
            "resources": list(statement.resources),
            block: [
                {"test": line.operator, "variable": line.key, "values": list(line.values)}
                for line in statement.conditions
            ],
        }
        for statement in statements
    ]
    return f"iam_policy_statements = {_hcl(listed)}\n"


def _hcl(value: object) -> str:
    """The value as an HCL expression: JSON with HCL's two template openings escaped."""
    return json.dumps(value, indent=2).replace("${", "$${").replace("%{", "%%{")


def _indented(text: str, spaces: int) -> str:
    return text.replace("\n", "\n" + " " * spaces)


def _plain(text: str) -> str:
    return "".join(sign for sign in text if sign.isalnum() or sign == "_")


Form = Literal["json", "cloudformation", "terraform", "module", "merged"]
REMEDY_FORMS: tuple[Form, ...] = get_args(Form)
NEWEST_MODULE = "21.19.0"


@dataclass(frozen=True, kw_only=True)
class PolicyRemedy:
    """What has to be added to the policies of a report, before it is written in a format."""

    report: GapReport
    site: AwsSite
    policies: tuple[IamPolicy, ...]
    added: AddedStatements

    def documents(self, form: Form = "json") -> tuple[JsonMap, ...]:
        """The documents for the formats `json` and `merged`. Raises InvalidPolicy if one statement
        alone is too large.
        """
        if form == "merged":
            return merged(self.policies, self.added.statements, site=self.site)
        return self._documents

    @cached_property
    def _documents(self) -> tuple[JsonMap, ...]:
        return self.added.documents()

    def text(self, form: Form, *, version: str = NEWEST_MODULE) -> str:
        """The remedy as text; `version` is that of the Terraform EKS module. Raises InvalidInput for an invalid
        version.
        """
        match form:
            case "cloudformation":
                return as_cloudformation(self.documents(), release=self.report.release)
            case "terraform":
                return as_terraform(self.documents(), release=self.report.release)
            case "module":
                return self._module(version)
            case _:
                return as_json(self.documents(form))

    def remarks(self) -> tuple[str, ...]:
        """Notes for the user: names that were not given, what the permissions boundary refuses, refusals that no
        statement fixes, nothing to add.
        """
        not_closed = (
            f"{request.probe.action}: no added statement helps, {request.answer.because}"
            for request in self.added.not_closed
        )
        nothing = () if self.added.statements else ("no statement has to be added",)
        return (*stand_ins(self.site), *self.boundary_remarks(), *dict.fromkeys(not_closed), *nothing)

    def boundary_remarks(self) -> tuple[str, ...]:
        """What the permissions boundary refuses of these requests, as sentences; none without such a boundary."""
        return boundary_remarks((refusal.probe.action, refusal.answer) for refusal in self.added.bounded)

    def _module(self, module: str) -> str:
        version = module_version(module)
        crowded = merged_size(self.policies, self.added.statements, site=self.site) > MANAGED_LIMIT
        lines = [f"# terraform-aws-modules/eks/aws//modules/karpenter {version[0]}.{version[1]}"]
        settings = module_settings(self.report, version, crowded=crowded)
        if settings:
            lines.append(_SAME_MODULE)
        for setting in settings:
            lines += self._setting(setting, version=version)
        if crowded and (inline := inline_setting(version)):
            lines += [f"# more than 6,144 characters in all: {inline.why}", f"{inline.variable} = {inline.value}"]
        return "\n".join(lines)

    def _setting(self, setting: ModuleSetting, *, version: ModuleVersion) -> list[str]:
        if setting.after_hop:
            return _after_hop(setting)
        about = f"# closes {', '.join(setting.closes)}: {setting.why}"
        needed = [one for one in self.added.statements if set(one.actions) & set(setting.closes)]
        if setting.apart:
            role = f"module.karpenter.{role_output(version)}"
            documents = fitted(needed, limit=MANAGED_LIMIT)
            code = as_terraform(documents, release=self.report.release, role=role)
            return [about, "# beside the module's block, which is taken to be named karpenter:", code]
        if setting.variable == "iam_policy_statements":
            return [about, _BESIDE_OTHERS, as_module_statements(needed, major=version[0])]
        return [about, f"{setting.variable} = {setting.value}"]


_SAME_MODULE = (
    "# Keep this version of the module during the hop: the document of another may refuse the running release."
)
_BESIDE_OTHERS = "# If the module's block sets iam_policy_statements already, add these to its list."


def _after_hop(setting: ModuleSetting) -> list[str]:
    """The setting as comments only, so that nobody sets it together with what the hop needs."""
    upgrade = [f'#   version = "~> {setting.upgrade_to}"'] if setting.upgrade_to else []
    return [
        f"# Only after the hop, when {setting.after_hop}: {setting.why}.",
        *upgrade,
        f"#   {setting.variable} = {setting.value}",
    ]


def remedy(report: GapReport, site: AwsSite, *, policies: Iterable[IamPolicy]) -> PolicyRemedy:
    """What closes the gaps that are always needed, including those for capacity that Provisioners still own."""
    return PolicyRemedy(report=report, site=site, policies=tuple(policies), added=statements_to_add(report, site))


def boundary_remarks(answers: Iterable[tuple[str, Evaluation]]) -> tuple[str, ...]:
    """One sentence with the actions that the permissions boundary does not let through, and one with those that it may
    not; none for others.
    """
    by_action: dict[str, list[Evaluation]] = {}
    for action, evaluation in answers:
        by_action.setdefault(action, []).append(evaluation)
    limits = {action: boundary_answer(evaluations) for action, evaluations in sorted(by_action.items())}
    refused = [action for action, limit in limits.items() if limit == "refused"]
    doubtful = [action for action, limit in limits.items() if limit == "unknown"]
    sentences = (
        (refused, "the permissions boundary has to be extended as well, it does not let through"),
        (doubtful, "it is not certain that the permissions boundary lets through"),
    )
    return tuple(f"{sentence} {', '.join(actions)}" for actions, sentence in sentences if actions)


def stand_ins(site: AwsSite) -> tuple[str, ...]:
    """Placeholder names in a remedy that have to be replaced before use."""
    some = {"cluster name": SOME_CLUSTER, "account": SOME_ACCOUNT, "region": SOME_REGION}
    used = {"cluster name": site.cluster, "account": site.account, "region": site.region}
    return tuple(f"{name} not told: {used[name]} stands in for it" for name, word in some.items() if used[name] == word)


def removal_lines(removals: Sequence[Removal]) -> tuple[str, ...]:
    """One line for each removal; a line that says so if there is none."""
    lines = tuple(
        f"{removal.statement.where}: {'whole statement' if removal.whole else ', '.join(removal.actions)}"
        for removal in removals
    )
    return lines or ("nothing",)
