"""Remedies for the role that the controller acts as: the trust of a role, and permissions without a second role."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from migrations_app.checks.base import CheckContext, Remedy
from migrations_app.checks.changes import PersonTask, group
from migrations_app.checks.remedies.aws import aws_call, terraform_remedy
from migrations_app.checks.remedies.commands import after_task, chart_values, in_aws
from migrations_app.checks.render import aws_cli
from migrations_app.checks.render.aws_cli import compact
from migrations_app.errors import InvalidInput
from migrations_app.iam.partitions import iam_region_of
from migrations_app.iam.policy import WITH_VARIABLES
from migrations_app.iam.requirements.remedies import size_of
from migrations_app.iam.trust import AUDIENCE, EXTERNAL_ID, NAMESPACE_TAG, RoleAssumption, statements_of, subject_of
from migrations_app.inventory.aws_facts.names import controller_accounts
from migrations_app.inventory.aws_facts.trust import TrustFit
from migrations_app.inventory.objects.aws import OidcProvider
from migrations_app.inventory.objects.cluster_arn import read_role_arn

WHOLE = "The document is the whole trust policy: an update replaces what is there"
PROVIDERS = "aws iam list-open-id-connect-providers"
ADVISED = "kube-system"
"""The namespace in which the guides install Karpenter from 0.33 on; before, Karpenter had its own namespace."""
TRUST_LIMIT = 2_048
"""Characters of a trust policy without white space, unless AWS raised the quota; it does up to 4,096 at least."""
TRUST_QUOTA, TRUST_MOST = "L-C07B4B0D", 4_096
ANNOTATION = "serviceAccount.annotations.eks\\.amazonaws\\.com/role-arn"


def trust_remedies(case: CheckContext, fit: TrustFit) -> Iterator[Remedy]:
    """The trust policy with the missing statement, the command that sets it, and both as Terraform code."""
    if not fit.role.role.items:
        about = "AWS has no role of the ARN that is set: name the one that exists"
        yield from chart_values(case, {ANNOTATION: "arn:aws:iam::<account>:role/<name>"}, about=about, when="person")
        return
    role = fit.role.role.items[0]
    entry = fit.entry
    if entry is None:
        return
    statement_wanted = entry.statement(_conditions(entry, fit))
    try:
        present = [
            statement for statement in statements_of(role.trust, name=role.name) if statement != statement_wanted
        ]
    except InvalidInput:
        present = []
    document = {"Version": WITH_VARIABLES, "Statement": [*present, statement_wanted]}
    words = ("iam", "update-assume-role-policy", "--role-name", role.name, "--policy-document")
    undo = aws_call(*words, role.trust) if role.trust else None
    task = _provider_task(entry, seen=case.inventory.aws.oidc_provider.items)
    provider = (PersonTask(what=task, where=PROVIDERS, aws=True),) if task else ()
    shorter = _shortening(document, role_arn=role.arn)
    room = (PersonTask(what=shorter, where="the trust policy of the role", aws=True),) if shorter else ()
    change = group(*provider, *room, aws_call(*words, compact(document), undo=undo), notes=(WHOLE,))
    yield in_aws(change)
    yield Remedy(how="iam", text=json.dumps(document, indent=2), change=change)
    yield terraform_remedy(change, _terraform(document, entry=entry, fit=fit))


def _shortening(document: dict[str, Any], *, role_arn: str) -> str:
    """How to make the trust policy fit; empty if it is not longer than IAM accepts by default."""
    size, role = size_of(document), read_role_arn(role_arn)
    if size <= TRUST_LIMIT:
        return ""
    which = ("--service-code", "iam", "--quota-code", TRUST_QUOTA)
    at = ("--region", iam_region_of(role.partition)) if role else ()
    wanted = ("--desired-value", str(TRUST_MOST))
    raising = aws_cli.command("service-quotas", "request-service-quota-increase", *which, *at, *wanted)
    ask = f", or have AWS raise the quota of the length of trust policies: {raising}" if size <= TRUST_MOST else ""
    return (
        f"take out of the trust policy what is not needed: it would have {size:,} characters, of {TRUST_LIMIT:,} that"
        f" IAM takes by default{ask}"
    )


def _conditions(entry: RoleAssumption, fit: TrustFit) -> dict[str, Any]:
    """The conditions with the service accounts to admit: if Karpenter has its own namespace, also the one in
    kube-system, where it is to move. A session without tags shows no service account."""
    account, spaces = fit.role.service_account, list(dict.fromkeys((fit.role.namespace, ADVISED)))
    keys: dict[str, Any] = {}
    match entry.kind:
        case "Federated":
            issuer = entry.principal.partition(":oidc-provider/")[2]
            keys = {
                f"{issuer}:sub": _one_or_list([subject_of(space, account) for space in spaces]),
                f"{issuer}:aud": _audience(entry),
            }
        case "Service":
            keys = {key: values[0] for key, values in entry.context.items() if values[0]}
            keys |= {NAMESPACE_TAG: _one_or_list(spaces)} if keys else {}
        case "AWS":
            keys = {key: values[0] for key, values in entry.context.items() if key == EXTERNAL_ID}
    return {"StringEquals": keys} if keys else {}


def _one_or_list(values: list[str]) -> str | list[str]:
    """The only value by itself, otherwise the list."""
    return values if len(values) > 1 else values[0]


def _provider_task(entry: RoleAssumption, *, seen: Iterable[OidcProvider]) -> str:
    """What a person does so that IAM takes the tokens of the issuer; empty if nothing is needed."""
    if entry.kind != "Federated":
        return ""
    audience = _audience(entry)
    provider = next((provider for provider in seen if provider.arn == entry.principal), None)
    if provider is None:
        issuer = ("--url", f"https://{entry.principal.partition(':oidc-provider/')[2]}")
        command = aws_cli.command("iam", "create-open-id-connect-provider", *issuer, "--client-id-list", audience)
        return f"make the identity provider where IAM has none for this issuer: {command}"
    if audience in provider.client_ids:
        return ""
    at = ("--open-id-connect-provider-arn", provider.arn)
    command = aws_cli.command("iam", "add-client-id-to-open-id-connect-provider", *at, "--client-id", audience)
    return f"let the identity provider take tokens for {audience}: {command}"


def _audience(entry: RoleAssumption) -> str:
    """The audience of the tokens; the usual one if they show none."""
    return next((values[0] for key, values in entry.context.items() if key.endswith(":aud")), AUDIENCE)


def _terraform(document: dict[str, Any], *, entry: RoleAssumption, fit: TrustFit) -> str:
    body = json.dumps(document, indent=2).replace("${", "$${").replace("%{", "%%{")
    lines = ["# aws_iam_role of the controller", f"assume_role_policy = jsonencode({body})"]
    if entry.kind == "Federated":
        account = f"{fit.role.namespace}:{fit.role.service_account}"
        lines += [
            "# with terraform-aws-modules/eks/aws//modules/karpenter, version 20, instead",
            f"irsa_namespace_service_accounts = {json.dumps([account])}",
        ]
    return "\n".join(lines) + "\n"


CHAIN = "by an AWS config profile or a Pod Identity target role"


def permitted_first(case: CheckContext, remedies: Iterable[Remedy], *, assumed: str) -> Iterator[Remedy]:
    """The remedies that take out the setting by which the controller assumes a role, each after the task to give it
    the permissions of that role in another way."""
    own = next((account.annotated for account in controller_accounts(case.inventory).items if account.annotated), "")
    own_role, assumed_role = read_role_arn(own), read_role_arn(assumed)
    same_account = own_role is None or assumed_role is None or own_role.account == assumed_role.account
    give = f"give {own or 'the role of the service account'} the permissions of {assumed}, or chain to it {CHAIN}"
    release = case.hop.release
    task = PersonTask(
        what=give if same_account else f"chain {own} to {assumed} {CHAIN}",
        why=f"{release} ignores the setting, and without the permissions launches and terminates nothing",
        where=f"karpdash iam --policy FILE --to {release}",
        done=f"the role that the controller acts as without the setting may do what {release} asks for",
        aws=True,
    )
    return after_task(task, remedies)
