"""Whether the trust policies let the controller's pods assume the controller's roles, as far as that was seen."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from migrations_app.errors import InvalidInput
from migrations_app.iam.evaluate import RequestVerdict
from migrations_app.iam.trust import AUDIENCE, RoleAssumption, admits, by_pod_identity, by_role, by_token, subject_of
from migrations_app.inventory.aws_facts.names import controller_accounts
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.aws import AwsRole, ControllerRole, OidcProvider
from migrations_app.inventory.objects.cluster_arn import read_role_arn
from migrations_app.inventory.parts import Part, Unseen
from migrations_app.karpenter import labels

TrustState = Literal["fits", "refused", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustFit:
    """The result for one role's trust policy. `entry` is how the controller assumes the role, if known."""

    role: ControllerRole
    state: TrustState
    seen: str = ""
    wanted: str = ""
    entry: RoleAssumption | None = field(default=None, compare=False)


def role_fits(inventory: Inventory) -> tuple[TrustFit, ...]:
    """One row for each role of the controller; none for documents that a user supplied."""
    every = inventory.aws.controller_roles.items
    return tuple(_fit(role, inventory, every=every) for role in every if role.found_by != "given")


def _fit(role: ControllerRole, inventory: Inventory, *, every: Sequence[ControllerRole]) -> TrustFit:
    if isinstance(role.role, Unseen):
        return TrustFit(role=role, state="unknown", seen=f"{role.arn} could not be read: {role.role.full_reason}")
    if not role.role.items:
        return TrustFit(role=role, state="refused", seen="AWS has no role of this ARN", wanted="a role that exists")
    entry = _entry(role, inventory, every=every)
    if isinstance(entry, str):
        return TrustFit(role=role, state="unknown", seen=f"{role.arn}: {entry}")
    audience = _audience(role, inventory)
    if role.found_by == "irsa" and (gap := _provider_gap(inventory.aws.oidc_provider, audience)):
        return TrustFit(role=role, state="refused", seen=gap, wanted=f"{entry.principal} for {audience}", entry=entry)
    fit = _judged(role, role.role.items[0], entry=entry)
    provider = inventory.aws.oidc_provider
    if role.found_by == "irsa" and fit.state == "fits" and isinstance(provider, Unseen):
        return replace(fit, state="unknown", seen=f"{entry.principal} could not be read: {provider.full_reason}")
    return fit


def _judged(controller_role: ControllerRole, role: AwsRole, *, entry: RoleAssumption) -> TrustFit:
    try:
        answer = admits(role.trust, entry, name="trust policy")
    except InvalidInput as wrong:
        return TrustFit(role=controller_role, state="unknown", seen=f"{controller_role.arn}: {wrong}")
    if answer.verdict is RequestVerdict.UNKNOWN:
        return TrustFit(
            role=controller_role, state="unknown", seen=f"{controller_role.arn}: {answer.because}", entry=entry
        )
    state: TrustState = "fits" if answer.verdict is RequestVerdict.ALLOWED else "refused"
    return TrustFit(
        role=controller_role, state=state, seen=answer.because, wanted=" ".join(_needed_texts(entry)), entry=entry
    )


def _needed_texts(entry: RoleAssumption) -> Iterator[str]:
    yield f"{' and '.join(entry.actions)} by {entry.principal}"
    for key, values in entry.context.items():
        if key.endswith((":sub", ":aud")):
            yield f"{key.rpartition(':')[2]}={values[0]}"


def _entry(role: ControllerRole, inventory: Inventory, *, every: Sequence[ControllerRole]) -> RoleAssumption | str:
    """How the controller assumes the role, or a text why that cannot be determined."""
    match role.found_by:
        case "irsa":
            return _by_token(role, inventory)
        case "pod_identity":
            name = inventory.aws.place.cluster
            return by_pod_identity(
                cluster=name,
                namespace=role.namespace,
                service_account=role.service_account,
                tagged=role.session_tags,
            )
        case "pod_identity_target" | "assume_role":
            return _by_role(role, every)
    return f"how the controller comes into a role found by {role.found_by} is not known"


def _by_token(role: ControllerRole, inventory: Inventory) -> RoleAssumption | str:
    clusters = inventory.aws.cluster
    if isinstance(clusters, Unseen):
        return f"the token issuer of the cluster is not known: {clusters.full_reason}"
    issuer = next((cluster.issuer.removeprefix("https://") for cluster in clusters.items), "")
    if not issuer:
        return "EKS names no token issuer of the cluster"
    parsed = read_role_arn(role.arn)
    if parsed is None:
        return "is not the ARN of a role"
    # The token is accepted by the OIDC provider in the role's own account, even if the cluster is in another one.
    provider = f"arn:{parsed.partition}:iam::{parsed.account}:oidc-provider/{issuer}"
    audience = _audience(role, inventory)
    if not audience:
        return f"the annotation {labels.ROLE_AUDIENCE} of its service account is empty: who takes its tokens is open"
    return by_token(provider, subject_of(role.namespace, role.service_account), audience=audience)


def _audience(role: ControllerRole, inventory: Inventory) -> str:
    """The audience of the tokens with which the pods of that service account assume the role.

    aws/amazon-eks-pod-identity-webhook@v0.6.9:pkg/cache/cache.go.
    """
    accounts = controller_accounts(inventory).items
    name = (role.namespace, role.service_account)
    return next((account.audience for account in accounts if (account.namespace, account.name) == name), AUDIENCE)


def _by_role(role: ControllerRole, every: Sequence[ControllerRole]) -> RoleAssumption | str:
    """The role from which this one is assumed: the association's role, or the one the pods run with."""
    before = ("pod_identity",) if role.found_by == "pod_identity_target" else ("pod_identity_target", "irsa")
    arns = [other.arn for other in every if other.found_by in before]
    if role.found_by == "assume_role" and not arns:
        arns = [other.arn for other in every if other.found_by in ("pod_identity", "environment")]
    if len(set(arns)) != 1:
        return "which role goes on to this one is not known"
    tagged = role.found_by == "pod_identity_target" and role.session_tags
    return by_role(arns[0], tagged=tagged, external_id=role.external_id)


def _provider_gap(seen: Part[OidcProvider], audience: str) -> str:
    """What is wrong with the cluster's identity provider; empty if it is correct or was not seen."""
    if isinstance(seen, Unseen):
        return ""
    if not seen.items:
        return "IAM has no identity provider for the token issuer of this cluster"
    ids = seen.items[0].client_ids
    return "" if audience in ids else f"the identity provider takes tokens for {', '.join(ids) or 'nobody'} only"
