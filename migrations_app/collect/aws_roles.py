"""Reads IAM roles: those of the nodes and that of the controller, and simulates the controller's requests.

Node roles are named by node classes and by instance profiles; the controller's role by its Pod Identity association,
its service account's annotation or its settings. SimulatePrincipalPolicy is compared with karpdash's own evaluator.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from migrations_app.collect.aws_reader import AwsReading, boundary, each, part, policies, read_one, role_part
from migrations_app.errors import ReadError
from migrations_app.iam.policy import IamPolicy, parse_policy
from migrations_app.iam.site import AwsSite
from migrations_app.inventory.aws_facts import names as aws_named
from migrations_app.inventory.aws_facts.names import (
    NameWithSources,
    ServiceAccountRef,
    controller_accounts,
    own_credentials,
    setting,
)
from migrations_app.inventory.aws_facts.permissions import requesting_roles
from migrations_app.inventory.aws_facts.simulation import compared, questions, requests_to_simulate
from migrations_app.inventory.objects.aws import (
    AccessEntry,
    Association,
    AwsRole,
    ControllerRole,
    CrossCheck,
    FoundBy,
    InstanceProfile,
    NamedBy,
    NodeRole,
    PolicyDocument,
)
from migrations_app.inventory.objects.cluster_arn import read_role_arn
from migrations_app.inventory.parts import NOT_ASKED, Part, Seen, UnparsableObject, Unseen


def instance_profiles(reading: AwsReading) -> Part[InstanceProfile]:
    """Every instance profile that an object names, with `exists` False if AWS has none."""
    named = aws_named.instance_profiles(reading.inventory)
    if isinstance(named, Unseen):
        return named
    profiles = each(
        named.items, lambda item: _profile(reading, item), kind="InstanceProfile", name=lambda item: item.name
    )
    if isinstance(profiles, Unseen):
        return profiles
    return replace(profiles, quarantined=(*named.quarantined, *profiles.quarantined))


def _profile(reading: AwsReading, named: NameWithSources) -> InstanceProfile:
    profile = reading.api.instance_profile(named.name)
    return replace(profile or InstanceProfile(name=named.name, exists=False), named_by=named.by)


def node_roles(reading: AwsReading, profiles: Part[InstanceProfile]) -> Part[NodeRole]:
    """Every node role once. Unreadable instance profiles are set aside here, too, since they may name another role."""
    named = aws_named.node_roles(reading.inventory)
    if isinstance(named, Unseen):
        return named
    names = {item.name: item.by for item in named.items}
    for name, by in _held(profiles):
        names[name] = (*names.get(name, ()), *by)
    bad = (*named.quarantined, *_doubts(profiles))
    return Seen(tuple(_role(reading, NameWithSources(name, by)) for name, by in names.items()), None, bad)


def _held(profiles: Part[InstanceProfile]) -> list[tuple[str, tuple[NamedBy, ...]]]:
    arns = [(arn, profile.named_by) for profile in profiles.items for arn in profile.role_arns]
    return [(parsed.name, by) for arn, by in arns if (parsed := read_role_arn(arn))]


def _doubts(profiles: Part[InstanceProfile]) -> tuple[UnparsableObject, ...]:
    if isinstance(profiles, Seen):
        return tuple(bad for bad in profiles.quarantined if bad.kind == "InstanceProfile")
    return (UnparsableObject("InstanceProfile", "", "", "", profiles.detail or profiles.why),)


def _role(reading: AwsReading, named: NameWithSources) -> NodeRole:
    role: Part[AwsRole] = part(lambda: read_one(reading.api.role(named.name)))
    names = [item.name for item in role.items]
    if isinstance(role, Unseen):
        return NodeRole(name=named.name, role=role, policies=role, inline=role, access_entry=role, named_by=named.by)
    return NodeRole(
        name=named.name,
        role=role,
        policies=part(lambda: Seen(tuple(row for name in names for row in reading.api.attached_policies(name)))),
        inline=part(lambda: Seen(tuple(row for name in names for row in reading.api.inline_names(name)))),
        access_entry=_access_entry(reading, role),
        named_by=named.by,
    )


def _access_entry(reading: AwsReading, role: Seen[AwsRole]) -> Part[AccessEntry]:
    if isinstance(reading.cluster, Unseen):
        return reading.cluster
    arns = [item.arn for cluster in reading.cluster.items if cluster.asks_access_entries for item in role.items]
    return part(lambda: Seen(tuple(entry for arn in arns if (entry := reading.api.access_entry(arn)))))


ASSUMED = "aws.assumeRoleARN"


class _Candidate(NamedTuple):
    """A role that the controller may use. `association` is the Pod Identity association that names it."""

    found_by: FoundBy
    arn: str
    account: ServiceAccountRef
    association: Association | None = None


def controller_roles(reading: AwsReading) -> Part[ControllerRole]:
    """Every role that the controller may use, in order of precedence; a role by assume-role comes last.

    Unseen if they cannot be determined; objects that might name another role are set aside.
    """
    accounts = controller_accounts(reading.inventory)
    if isinstance(accounts, Unseen):
        return accounts
    candidates: list[_Candidate] = []
    bad: list[UnparsableObject] = list(accounts.quarantined)
    for account in accounts.items:
        by_account = _of_account(reading, account)
        if isinstance(by_account, Unseen):
            return by_account
        candidates += by_account.items
        bad += by_account.quarantined
    assumed = setting(reading.inventory, ASSUMED)
    if isinstance(assumed, Unseen):
        bad.append(UnparsableObject("Deployment", "", "karpenter", "", f"assume-role setting: {assumed.detail}"))
    candidates += [_Candidate("assume_role", arn, ServiceAccountRef("", "", "")) for arn in assumed.items]
    return Seen(tuple(_read(reading, candidate) for candidate in candidates), None, tuple(bad))


def _of_account(reading: AwsReading, account: ServiceAccountRef) -> Part[_Candidate]:
    """The roles of one service account. If associations cannot be read, its annotation is used, with a doubt."""
    annotated = [_Candidate("irsa", account.annotated, account)] if account.annotated else []
    try:
        associated = list(_associated(reading, account))
    except ReadError as reason:
        if not annotated:
            return Unseen(reason.code, reason.message)
        doubt = UnparsableObject("PodIdentityAssociation", account.namespace, account.name, "", reason.message)
        return Seen(tuple(annotated), None, (doubt,))
    candidates = [*associated, *annotated]
    if not candidates:
        return _from_environment(reading, account)
    return Seen(tuple(candidates), None, tuple(_limits(associated)))


def _associated(reading: AwsReading, account: ServiceAccountRef) -> Iterator[_Candidate]:
    for association in reading.api.associations(namespace=account.namespace, service_account=account.name):
        yield _Candidate("pod_identity", association.role_arn, account, association)
        if association.target_role_arn:
            yield _Candidate("pod_identity_target", association.target_role_arn, account, association)


def _limits(associated: Sequence[_Candidate]) -> Iterator[UnparsableObject]:
    """The associations whose own policy limits the role: what the role's policies allow may not be allowed then."""
    for association in {one.association.id: one.association for one in associated if one.association}.values():
        if association.limited:
            why = f"the policy of association {association.id} limits the role, and is not evaluated"
            place = association.namespace, association.service_account
            yield UnparsableObject("PodIdentityAssociation", *place, "", why)


def _from_environment(reading: AwsReading, account: ServiceAccountRef) -> Part[_Candidate]:
    environment = dict(own_credentials(reading.inventory))
    if "AWS_ACCESS_KEY_ID" in environment:
        return Unseen("not_asked", "the controller has access keys in its environment; their owner is not known")
    arn = environment.get("AWS_ROLE_ARN", "")
    return Seen((_Candidate("environment", arn, account),) if arn else ())


def _read(reading: AwsReading, candidate: _Candidate) -> ControllerRole:
    arn, account, association = candidate.arn, candidate.account, candidate.association
    parsed = read_role_arn(arn)
    role = role_part(reading, parsed) if parsed else Unseen("bad_name", f"{arn[:100]!r} is not the ARN of a role")
    return ControllerRole(
        found_by=candidate.found_by,
        arn=arn,
        role=role,
        policies=policies(reading, role),
        boundary=boundary(reading, role),
        namespace=account.namespace,
        service_account=account.name,
        session_tags=association is None or association.session_tags,
        external_id=association.external_id if association else "",
    )


def simulation(
    reading: AwsReading, roles: Part[ControllerRole], *, releases: Sequence[str], site: AwsSite
) -> Part[CrossCheck]:
    """One row for each request, for the role that the controller uses; unseen if AWS does not simulate.

    Without a role or a release it is NOT_ASKED.
    """
    if isinstance(roles, Unseen):
        return roles
    judged = requesting_roles(roles.items)
    unread = next((unseen for role in judged if (unseen := _unread(role))), None)
    if unread is not None:
        return unread
    if not judged or not releases:
        return NOT_ASKED
    return part(
        lambda: Seen(
            tuple(
                row
                for role in judged
                for release in releases
                for row in _checked(reading, role, release=release, site=site)
            )
        )
    )


def _unread(role: ControllerRole) -> Unseen | None:
    parts: tuple[Part[object], ...] = (role.role, role.policies, role.boundary)
    return next((item for item in parts if isinstance(item, Unseen)), None)


def _checked(reading: AwsReading, role: ControllerRole, *, release: str, site: AwsSite) -> tuple[CrossCheck, ...]:
    if not role.role.items:
        return ()
    limit = _parsed(role.boundary) if role.boundary.items else None
    rows = requests_to_simulate(_parsed(role.policies), release=release, site=site, boundary=limit)
    replies = {question: reading.api.simulated(role.arn, question) for question in questions(rows)}
    return compared(rows, replies, release=release, role_arn=role.arn)


def _parsed(documents: Part[PolicyDocument]) -> list[IamPolicy]:
    return [parse_policy(document.text, name=document.name) for document in documents.items]
