"""The controller's permissions as they were seen: whose they are, the names they are judged with, and the gaps."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from migrations_app.errors import BadInput
from migrations_app.inventory import aws_named
from migrations_app.inventory.aws import ControllerRole, NodeRole, PolicyDocument
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.seen import Part, Unseen
from migrations_app.karpenter.iam.features import ASSUMED, Feature
from migrations_app.karpenter.iam.gaps import Report, find_gaps
from migrations_app.karpenter.iam.guess import guessed
from migrations_app.karpenter.iam.policy import Policy, parse_policy
from migrations_app.karpenter.iam.site import Site, role_name

QUEUE = "aws.interruptionQueueName"
ASSUME_ROLE = "aws.assumeRoleARN"
CLUSTER = "aws.clusterName"


@dataclass(frozen=True, slots=True, kw_only=True)
class RolePolicies:
    """One role on which requests of the controller fall, its documents parsed. `boundary` is None without one."""

    role: ControllerRole
    policies: tuple[Policy, ...]
    boundary: tuple[Policy, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    """Everything a question about permissions needs: names, what applies here, and the roles that have to be allowed.

    Each of `roles` has to be allowed by itself: where two are listed nobody can tell which of them counts.
    """

    site: Site
    assumed: frozenset[Feature]
    roles: tuple[RolePolicies, ...]

    def reports(self, release: str) -> tuple[tuple[RolePolicies, Report], ...]:
        """What each role lacks for a release, such as 1.0.14 or 1.7."""
        return tuple((one, self.report(one, release)) for one in self.roles)

    def report(self, one: RolePolicies, release: str) -> Report:
        return find_gaps(one.policies, release=release, site=self.site, assumed=self.assumed, boundary=one.boundary)


def permissions(inventory: Inventory) -> Permissions | Unseen:
    """The permissions that were seen; Unseen with the reason when those of some role could not be read whole."""
    found = inventory.aws.controller_roles
    if isinstance(found, Unseen):
        return found
    if found.quarantined:
        return Unseen("unreadable", f"{found.quarantined[0].name}: {found.quarantined[0].why}")
    judged = working(found.items)
    if not judged:
        return Unseen("not_found", "nothing names a role of the controller")
    unread = next((part for one in judged for part in _parts(one) if isinstance(part, Unseen)), None)
    if unread is not None:
        return unread
    try:
        roles = tuple(_parsed(one) for one in judged)
    except BadInput as wrong:
        return Unseen(wrong.code, str(wrong))
    return Permissions(site=site_seen(inventory, roles), assumed=features_seen(inventory), roles=roles)


def working(roles: Sequence[ControllerRole]) -> tuple[ControllerRole, ...]:
    """The roles on which requests fall: those that others only lead to where there are such, else all of them."""
    last = tuple(one for one in roles if one.found_by == "assume_role")
    target = tuple(one for one in roles if one.found_by == "pod_identity_target")
    return last or target or tuple(roles)


def site_seen(inventory: Inventory, roles: Iterable[RolePolicies] = ()) -> Site:
    """The names with which requests of this cluster are judged; what nothing tells is read from the policies."""
    place = inventory.aws.place
    node_roles = _node_roles(inventory.aws.node_roles) or [one.name for one in aws_named.node_roles(inventory).items]
    told = {
        "cluster": place.cluster or _setting(inventory, CLUSTER),
        "account": place.account,
        "region": place.region,
        "partition": place.partition if place.region else "",
        "queue": _setting(inventory, QUEUE),
    }
    read = guessed(policy for one in roles for policy in one.policies)
    plain = {name: value for name, value in read.items() if name != "node_role"} | {k: v for k, v in told.items() if v}
    guess = [read["node_role"]] if "node_role" in read else []
    return Site(
        **plain,
        node_roles=tuple(node_roles or guess),
        assume_role_arn=_setting(inventory, ASSUME_ROLE),
        extra_tags=aws_named.class_tags(inventory),
    )


def features_seen(inventory: Inventory) -> frozenset[Feature]:
    """The settings that apply here: those assumed of any cluster, but for what was seen to be otherwise."""
    on = {Feature.ASSUME_ROLE} if _setting(inventory, ASSUME_ROLE) else set()
    return ASSUMED | on


def _node_roles(roles: Part[NodeRole]) -> list[str]:
    return [role_name(found.arn) for one in roles.items for found in one.role.items]


def _setting(inventory: Inventory, key: str) -> str:
    return next(iter(aws_named.setting(inventory, key).items), "")


def _parts(role: ControllerRole) -> tuple[Part[object], ...]:
    """What has to be seen of a role. Documents that were handed in belong to no role that could be looked at."""
    return (role.policies, role.boundary) if role.found_by == "given" else (role.role, role.policies, role.boundary)


def _parsed(role: ControllerRole) -> RolePolicies:
    limit = _documents(role.boundary)
    return RolePolicies(role=role, policies=_documents(role.policies), boundary=limit or None)


def _documents(part: Part[PolicyDocument]) -> tuple[Policy, ...]:
    return tuple(parse_policy(one.text, name=one.name) for one in part.items)
