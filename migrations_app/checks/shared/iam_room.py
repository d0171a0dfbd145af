"""The policies that the checks of one hop add to the controller's roles, without repeated statements and with unused
names. Each policy is managed or inline, depending on the quotas that the role has left."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, get_args

from migrations_app.checks.base import CheckContext
from migrations_app.checks.shared.iam_gaps import GapPart, gaps_for_part
from migrations_app.errors import InvalidInput
from migrations_app.iam.evaluate import RequestVerdict, evaluate
from migrations_app.iam.policy import IamPolicy, filled, parse_policy
from migrations_app.iam.requirements.remedies import INLINE_LIMIT, MANAGED_LIMIT, fitted, size_of, statements_to_add
from migrations_app.inventory.aws_facts.instances import InstanceRequestAnswer, answers_at_hop, statements_for
from migrations_app.inventory.aws_facts.permissions import (
    MAX_ATTACHED,
    REGION,
    Permissions,
    RolePolicies,
    permissions,
)
from migrations_app.inventory.objects.aws import ControllerRole
from migrations_app.karpenter.versions import minor_order
from migrations_app.manifests import JsonMap

PolicyPart: TypeAlias = GapPart | Literal["instances"]
"""The check that adds a policy; part of the policy's name."""
PolicyPlace = Literal["managed", "inline", "none"]
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]", re.ASCII)
_LONGEST_NAME = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedPolicy:
    """A policy to add. `place` is "none" if the role accepts neither a managed nor an inline policy of its size."""

    name: str
    document: JsonMap
    place: PolicyPlace

    @property
    def size(self) -> int:
        return size_of(self.document)


PlacedPolicies: TypeAlias = Mapping[tuple[str, PolicyPart], tuple[PlacedPolicy, ...]]
"""The policies by ARN of the role and part."""


def placed_policies(case: CheckContext) -> PlacedPolicies:
    """Everything that the hop adds, in a fixed order, so that each check names the same policies and places. A part
    with a statement that is larger than a policy has no entry."""
    seen = permissions(case.inventory)
    if not isinstance(seen, Permissions):
        return {}
    names = _FreeNames({document.name for role in seen.roles for document in role.role.policies.items})
    rooms = {role.role.arn: _RoleRoom(role.role) for role in seen.roles}
    placed: dict[tuple[str, PolicyPart], tuple[PlacedPolicy, ...]] = {}
    for part, arn, release, documents in _documents(case, seen):
        stem = f"karpenter-{_place_name(seen)}-{release}-{part}"
        placed[arn, part] = tuple(
            PlacedPolicy(name=names.take(stem), document=document, place=rooms[arn].take(size_of(document)))
            for document in documents
        )
    return placed


def _place_name(seen: Permissions) -> str:
    """The cluster and its region: an account may have clusters of one name in several regions, and all its policies
    share their names. Without the region if that is not known."""
    known = () if REGION in seen.untold else (seen.site.region,)
    return "-".join((seen.site.cluster, *known))


def of_release(placed: PlacedPolicies, role: RolePolicies) -> list[tuple[PlacedPolicy, ...]]:
    """What the target version adds to the role, one tuple for each part; without policies for capacity of
    Provisioners."""
    parts: tuple[PolicyPart, ...] = ("needs", "profiles")
    return [placed[role.role.arn, part] for part in parts if (role.role.arn, part) in placed]


def filled_to(role: RolePolicies) -> str:
    """How much of its quotas a role uses, as text."""
    attached = sum(policy.kind != "inline" for policy in role.role.policies.items)
    return (
        f"{attached} managed policies are attached, of {MAX_ATTACHED} that a role takes, and {role.role.inline_size:,}"
        f" of the {INLINE_LIMIT:,} characters that all its inline policies may have are used"
    )


class _PartDocuments(NamedTuple):
    part: PolicyPart
    arn: str
    release: str
    documents: tuple[JsonMap, ...]


def _documents(case: CheckContext, seen: Permissions) -> Iterator[_PartDocuments]:
    before: dict[str, list[JsonMap]] = {}
    for part in get_args(GapPart):
        gaps_of_roles = gaps_for_part(case, part)
        for role_gaps in gaps_of_roles if isinstance(gaps_of_roles, tuple) else ():
            try:
                documents = statements_to_add(role_gaps.report, seen.site).documents()
            except InvalidInput:
                continue
            if documents:
                before.setdefault(role_gaps.role.role.arn, []).extend(documents)
                yield _PartDocuments(part, role_gaps.role.role.arn, role_gaps.report.release, documents)
    refused = [instance_request for instance_request in instance_requests(case, seen) if is_refused(instance_request)]
    for role in seen.roles:
        arn = role.role.arn
        role_refusals = [answer for answer in refused if answer.role.role.arn == arn]
        remaining = [
            role_refusal for role_refusal in role_refusals if role_refusal.answer.verdict is not RequestVerdict.DENIED
        ]
        remaining = [answer for answer in remaining if not allowed_with(answer, before.get(arn, ()), seen=seen)]
        documents = fitted(statements_for(remaining, seen.site), limit=MANAGED_LIMIT)
        if documents:
            yield _PartDocuments("instances", arn, str(case.hop.release), documents)


def instance_requests(case: CheckContext, seen: Permissions) -> tuple[InstanceRequestAnswer, ...]:
    """The evaluated requests of the controller on existing instances that matter at the hop."""
    running, groups = case.running.release, case.inventory.aws.instances.items
    now = minor_order(running.minor) if running else None
    start, end = minor_order(case.hop.start.minor), minor_order(case.hop.release.minor)
    return answers_at_hop(seen, groups, running=now, start=start, end=end)


def is_refused(answer: InstanceRequestAnswer) -> bool:
    return answer.answer.verdict not in (RequestVerdict.ALLOWED, RequestVerdict.UNKNOWN)


def allowed_with(answer: InstanceRequestAnswer, added: Iterable[JsonMap], *, seen: Permissions) -> bool:
    """Whether the request is allowed once the role also has these documents. A boundary that refuses it as well as the
    policies has to be extended beside them, so it does not count here.
    """
    more = [parse_policy(json.dumps(document), name="added") for document in added]
    policies = [filled(policy, seen.site) for policy in (*answer.role.policies, *more)]
    both = answer.answer.boundary is not None and answer.answer.verdict is not RequestVerdict.DENIED
    boundary = None if both else _boundary(answer.role, seen)
    return evaluate(answer.request, policies, boundary=boundary).verdict is RequestVerdict.ALLOWED


def _boundary(role: RolePolicies, seen: Permissions) -> Sequence[IamPolicy] | None:
    return None if role.boundary is None else [filled(policy, seen.site) for policy in role.boundary]


class _FreeNames:
    """Generates unused policy names. Each name is returned once, because all policies of an account share their
    names, in which IAM does not distinguish capital letters."""

    def __init__(self, names: set[str]) -> None:
        self._taken = {name.lower() for name in names}

    def take(self, stem: str) -> str:
        number = 1
        while (name := _NO_NAME.sub("-", f"{stem}-{number}")[-_LONGEST_NAME:]).lower() in self._taken:
            number += 1
        self._taken.add(name.lower())
        return name


class _RoleRoom:
    """The quotas that a role has left: number of managed policies, and characters of inline policies."""

    def __init__(self, role: ControllerRole) -> None:
        self._managed = MAX_ATTACHED - sum(policy.kind != "inline" for policy in role.policies.items)
        self._inline = INLINE_LIMIT - role.inline_size

    def take(self, size: int) -> PolicyPlace:
        if self._managed > 0:
            self._managed -= 1
            return "managed"
        if size > self._inline:
            return "none"
        self._inline -= size
        return "inline"
