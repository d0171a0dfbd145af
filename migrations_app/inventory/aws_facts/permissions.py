"""The controller's permissions as read: its roles and their policies, the names to evaluate them with, what they lack,
and whether a policy has space for the missing statements.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from migrations_app.errors import InvalidInput
from migrations_app.iam.evaluate import RequestVerdict
from migrations_app.iam.partitions import known_partition_of, partition_of
from migrations_app.iam.policy import IamPolicy, PolicyStatement, parse_policy
from migrations_app.iam.requirements.evaluation import NAME_FORMS
from migrations_app.iam.requirements.features import Feature
from migrations_app.iam.requirements.gaps import GapReport, find_gaps
from migrations_app.iam.requirements.remedies import fitted, merged_size, statements_to_add
from migrations_app.iam.site import AwsSite, role_name
from migrations_app.iam.site_from_policies import accounts_named, site_from_policies
from migrations_app.inventory.aws_facts import feature_settings, names
from migrations_app.inventory.aws_facts.feature_settings import ASSUME_ROLE, QUEUE
from migrations_app.inventory.aws_facts.image_parameters import image_parameters
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.aws import LIMITS, ControllerRole, PolicyDocument
from migrations_app.inventory.objects.cluster_arn import AwsPlace, read_role_arn
from migrations_app.inventory.parts import Part, Seen, Unseen
from migrations_app.karpenter import labels

CLUSTER = "aws.clusterName"
NODE_ROLE = "role of the nodes"
CLUSTER_NAME = "name of the cluster"
ACCOUNT = "account"
REGION = "region"
_ZONE = re.compile(r"([a-z]{2,5}(?:-[a-z]{2,12}){1,3}-\d{1,2})[a-z]", re.ASCII)
"""An availability zone; names of local zones are longer and do not match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolePolicies:
    """One role that sends requests of the controller, with its documents parsed. `boundary` is None without one."""

    role: ControllerRole
    policies: tuple[IamPolicy, ...]
    boundary: tuple[IamPolicy, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    """Everything needed to evaluate permissions: names, applicable features, and the roles that must be allowed.

    Each of `roles` must be allowed by itself: if several are listed, it is unknown which one is used. `untold` are
    the names that neither the cluster nor AWS shows. They are taken from the policies or are placeholders, and prove
    nothing.
    """

    site: AwsSite
    assumed: frozenset[Feature]
    roles: tuple[RolePolicies, ...]
    untold: tuple[str, ...] = ()
    guessed: frozenset[Feature] = frozenset()
    """Those of `assumed` that apply only because what would show them was not read."""

    def named(self, untold: str) -> tuple[str, ...]:
        """The values that stand for a name that is not known."""
        if untold == NODE_ROLE:
            return self.site.roles
        words = {CLUSTER_NAME: self.site.cluster, ACCOUNT: self.site.account, REGION: self.site.region}
        return (words.get(untold, self.site.queue_name),)

    def reports(self, release: str) -> tuple[tuple[RolePolicies, GapReport], ...]:
        """What each role lacks for a release, such as 1.0.14 or 1.7."""
        return tuple((role, self.report(role, release)) for role in self.roles)

    def report(self, policies: RolePolicies, release: str) -> GapReport:
        return _report(policies.policies, policies.boundary, release=release, site=self.site, assumed=self.assumed)

    def refused_in_every_account(self, policies: RolePolicies, action: str, *, release: str) -> bool:
        """Whether the role is refused the action whichever account the cluster is in: in each account that its policies
        name, and in one that they do not name. False if they name accounts by a pattern."""
        named = accounts_named((*policies.policies, *(policies.boundary or ())))
        if named is None:
            return False
        sites = (replace(self.site, account=account) for account in (*named, _unnamed_account(named)))
        reports = (replace(self, site=site).report(policies, release) for site in sites)
        return all(action in _refused_actions(report) for report in reports)


def _unnamed_account(named: Iterable[str]) -> str:
    """An account number that is none of those."""
    return next(number for number in map("{:012d}".format, itertools.count(1)) if number not in named)


def _refused_actions(report: GapReport) -> set[str]:
    """The actions of which a needed request is refused for certain."""
    gaps = (*report.gaps, *report.legacy_gaps)
    return {gap.action for gap in gaps if gap.required == "always" and gap.verdict is not RequestVerdict.UNKNOWN}


@lru_cache(maxsize=64)
def _report(
    policies: tuple[IamPolicy, ...],
    boundary: tuple[IamPolicy, ...] | None,
    *,
    release: str,
    site: AwsSite,
    assumed: frozenset[Feature],
) -> GapReport:
    """Cached, because several checks and the permissions page need the same hop: 25 ms for twenty statements."""
    return find_gaps(policies, release=release, site=site, assumed=assumed, boundary=boundary)


def permissions(inventory: Inventory) -> Permissions | Unseen:
    """The permissions as read; Unseen with the reason if those of a role could not be read completely."""
    roles_part = inventory.aws.controller_roles
    if isinstance(roles_part, Unseen):
        return roles_part
    if roles_part.quarantined:
        return Unseen("unreadable", f"{roles_part.quarantined[0].name}: {roles_part.quarantined[0].why}")
    judged = requesting_roles(roles_part.items)
    if not judged:
        return Unseen("not_found", "nothing names a role of the controller")
    unread = next((part for role in judged for part in _parts(role) if isinstance(part, Unseen)), None)
    if unread is not None:
        return unread
    missing_role = next((role.arn for role in judged if isinstance(role.role, Seen) and not role.role.items), "")
    if missing_role:
        return Unseen("not_found", f"AWS has no role {missing_role}")
    try:
        roles = tuple(_parsed(role) for role in judged)
    except InvalidInput as wrong:
        return Unseen(wrong.code, str(wrong))
    return Permissions(
        site=site_seen(inventory, roles),
        assumed=features_seen(inventory),
        roles=roles,
        untold=tuple(_missing_names(inventory)),
        guessed=feature_settings.guessed_features(inventory),
    )


def requesting_roles(roles: Sequence[ControllerRole]) -> tuple[ControllerRole, ...]:
    """The roles that send the requests: the last ones of a role chain if there is one, otherwise all."""
    last = tuple(role for role in roles if role.found_by == "assume_role")
    target = tuple(role for role in roles if role.found_by == "pod_identity_target")
    return last or target or tuple(roles)


def controller_role(inventory: Inventory) -> str:
    """The ARN of the one role that sends the requests, from AWS or the cluster's objects; empty if they name none or
    several, or if an object that may name a role was not read."""
    roles_part = inventory.aws.controller_roles
    if isinstance(roles_part, Seen):
        arns = {role.arn for role in requesting_roles(roles_part.items)}
    else:
        assumed = names.setting(inventory, ASSUME_ROLE)
        accounts = names.controller_accounts(inventory)
        if isinstance(assumed, Unseen) or isinstance(accounts, Unseen):
            return ""
        arns = set(assumed.items) or {account.annotated for account in accounts.items if account.annotated}
    arn = arns.pop() if len(arns) == 1 else ""
    return arn if read_role_arn(arn) else ""


def site_seen(inventory: Inventory, roles: Iterable[RolePolicies] = ()) -> AwsSite:
    """The names with which requests of this cluster are evaluated; names that nothing shows are read from the
    policies.
    """
    site_names, node_roles = _site_names(inventory), tuple(_node_roles(inventory))
    read = site_from_policies(policy for role in roles for policy in role.policies)
    plain = {name: value for name, value in read.items() if name != "node_role"} | {
        k: v for k, v in site_names.items() if v
    }
    plain.setdefault("partition", partition_of(plain.get("region", "")))
    guess = (read["node_role"],) if "node_role" in read else ()
    return AwsSite(
        **plain,
        node_roles=node_roles or guess,
        assume_role_arn=_in_form("assume_role_arn", _setting(inventory, ASSUME_ROLE)),
        parameters=image_parameters(inventory),
        extra_tags=names.class_tags(inventory),
    )


def features_seen(inventory: Inventory) -> frozenset[Feature]:
    """The features that apply to this cluster: the assumed ones, corrected by what was seen."""
    return feature_settings.applicable_features(inventory)


def cluster_named(inventory: Inventory) -> str:
    """The name of the cluster in EKS, as AWS or the controller's settings tell it; empty where neither does."""
    return _site_names(inventory)["cluster"]


def place_seen(inventory: Inventory) -> AwsPlace:
    """Region, name and account of the cluster from AWS or the cluster's objects; empty where neither shows them."""
    site_names = _site_names(inventory)
    return AwsPlace(region=site_names["region"], cluster=site_names["cluster"], account=site_names["account"])


def _site_names(inventory: Inventory) -> dict[str, str]:
    """The names that AWS or the cluster's objects show; empty for those they do not."""
    place = inventory.aws.place
    region = place.region or region_of_nodes(inventory)
    return {
        "cluster": place.cluster or _in_form("cluster_name", _setting(inventory, CLUSTER)),
        "account": place.account or _account_of_role(inventory),
        "region": region,
        "partition": known_partition_of(region),
        "queue": _in_form("queue", _setting(inventory, QUEUE)),
    }


def _in_form(name: str, value: str) -> str:
    """The value if it is a valid name, otherwise empty: a wildcard or placeholder would change the evaluation."""
    return value if re.fullmatch(NAME_FORMS[name], value) else ""


def region_of_nodes(inventory: Inventory) -> str:
    """The region of all nodes, from the zone in their provider id; empty if they differ."""
    ids = (node.spec.provider_id or "" for node in inventory.nodes.items)
    zones = {
        instance_id.removeprefix(labels.PROVIDER_ID_PREFIX).partition("/")[0]
        for instance_id in ids
        if instance_id.startswith("aws:///")
    }
    regions = {match[1] for zone in zones if (match := _ZONE.fullmatch(zone))}
    return regions.pop() if len(regions) == 1 else ""


def _account_of_role(inventory: Inventory) -> str:
    """The account of the role that the service account names; empty without one."""
    arns = (controller_account.annotated for controller_account in names.controller_accounts(inventory).items)
    accounts = {role.account for arn in arns if (role := read_role_arn(arn))}
    return accounts.pop() if len(accounts) == 1 else ""


def _node_roles(inventory: Inventory) -> Iterator[str]:
    """Names of the roles that nodes run as, with their path if AWS was asked; roles that do not exist are left out."""
    seen = inventory.aws.node_roles
    if isinstance(seen, Unseen):
        yield from (node_role.name for node_role in names.node_roles(inventory).items)
        return
    for node_role in seen.items:
        yield from (role_name(role.arn) for role in node_role.role.items)
        if isinstance(node_role.role, Unseen):
            yield node_role.name


def _missing_names(inventory: Inventory) -> Iterator[str]:
    site_names = _site_names(inventory)
    for name, sentence in (("cluster", CLUSTER_NAME), ("account", ACCOUNT), ("region", REGION)):
        if not site_names[name]:
            yield sentence
    if not site_names["queue"] and Feature.QUEUE in features_seen(inventory):
        yield "queue"
    if not _node_roles_known(inventory):
        yield NODE_ROLE


def _node_roles_known(inventory: Inventory) -> bool:
    """Whether every role that nodes run as is known: from AWS, or because all node classes name theirs."""
    seen = inventory.aws.node_roles
    if isinstance(seen, Seen):
        return (
            bool(seen.items)
            and not seen.quarantined
            and not any(isinstance(node_role.role, Unseen) for node_role in seen.items)
        )
    named, profiles = names.node_roles(inventory), names.instance_profiles(inventory)
    whole = isinstance(named, Seen) and not named.quarantined and isinstance(profiles, Seen)
    return whole and bool(named.items) and not profiles.items


def _setting(inventory: Inventory, key: str) -> str:
    return next(iter(names.setting(inventory, key).items), "")


def _parts(role: ControllerRole) -> tuple[Part[object], ...]:
    """The parts that must be seen for a role. Documents that a user supplied belong to no role that could be read."""
    return (role.policies, role.boundary) if role.found_by == "given" else (role.role, role.policies, role.boundary)


def _parsed(role: ControllerRole) -> RolePolicies:
    limit = _documents(role.boundary)
    return RolePolicies(role=role, policies=_documents(role.policies), boundary=limit or None)


def _documents(part: Part[PolicyDocument]) -> tuple[IamPolicy, ...]:
    return tuple(parse_policy(document.text, name=document.name) for document in part.items)


MAX_ATTACHED = 10
"""Managed policies that a role accepts by default; the quota can be raised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """The size of a policy, as IAM counts it, after the missing statements are merged into it, and its limit.

    `attached` is the number of managed policies of its role.
    """

    name: str
    size: int
    limit: int
    attached: int

    @property
    def fits(self) -> bool:
        return self.size <= self.limit

    @property
    def full(self) -> bool:
        """Whether the role accepts no further managed policy by default."""
        return self.attached >= MAX_ATTACHED


def policy_with_most_space(policies: RolePolicies, report: GapReport, *, site: AwsSite) -> Room | None:
    """The policy of the role with the most space left after adding what it lacks; None if nothing must be added or no
    policy can be edited. Raises InvalidPolicy if one statement alone is larger than a policy.
    """
    added = statements_to_add(report, site).statements
    if not added:
        return None
    fitted(added, limit=LIMITS["customer_managed"])
    return max(_rooms(policies, added, site=site), key=lambda room: room.limit - room.size, default=None)


def _rooms(policies: RolePolicies, added: Sequence[PolicyStatement], *, site: AwsSite) -> Iterator[Room]:
    """One row for each policy that can be edited. All inline policies of a role share one limit."""
    attached = sum(document.kind != "inline" for document in policies.role.policies.items)
    for document, policy in zip(policies.role.policies.items, policies.policies, strict=True):
        if document.kind != "aws_managed":
            others = policies.role.inline_size - document.size if document.kind == "inline" else 0
            size = merged_size([policy], added, site=site) + others
            yield Room(name=document.name, size=size, limit=LIMITS[document.kind], attached=attached)
