"""The policies that the checks of one hop add to the controller's roles: each statement once, under free names, and
each where the quotas of IAM leave room for it.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, get_args

from migrations_app.checks.base import CheckContext
from migrations_app.checks.shared.iam_gaps import GapPart, lacking
from migrations_app.errors import InvalidInput
from migrations_app.iam.evaluate import RequestVerdict, evaluate
from migrations_app.iam.policy import IamPolicy, filled, parse_policy
from migrations_app.iam.requirements.remedies import INLINE_LIMIT, MANAGED_LIMIT, Document, closing, fitted, size_of
from migrations_app.inventory.aws_facts.instances import InstanceRequestAnswer, answers_at_hop, statements_for
from migrations_app.inventory.aws_facts.permissions import MOST_ATTACHED, Permissions, RolePolicies, permissions
from migrations_app.inventory.objects.aws import ControllerRole
from migrations_app.karpenter.versions import minor_order

PolicyPart: TypeAlias = GapPart | Literal["instances"]
"""Which check asks for a policy; part of its name."""
PolicyPlace = Literal["managed", "inline", "none"]
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]", re.ASCII)
_LONGEST_NAME = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedPolicy:
    """A policy to add. `place` is "none" where the role takes neither a managed nor an inline one of its size."""

    name: str
    document: Document
    place: PolicyPlace

    @property
    def size(self) -> int:
        return size_of(self.document)


PlacedPolicies: TypeAlias = Mapping[tuple[str, PolicyPart], tuple[PlacedPolicy, ...]]
"""By the ARN of a role and the part."""


def placed_policies(case: CheckContext) -> PlacedPolicies:
    """Everything that the hop adds, in a fixed order, so that each check tells the same names and places. A part of
    which one statement alone is larger than a policy has none."""
    seen = permissions(case.inventory)
    if not isinstance(seen, Permissions):
        return {}
    names = _FreeNames({document.name for role in seen.roles for document in role.role.policies.items})
    rooms = {role.role.arn: _RoleRoom(role.role) for role in seen.roles}
    placed: dict[tuple[str, PolicyPart], tuple[PlacedPolicy, ...]] = {}
    for part, arn, release, documents in _documents(case, seen):
        stem = f"karpenter-{seen.site.cluster}-{release}-{part}"
        placed[arn, part] = tuple(
            PlacedPolicy(name=names.take(stem), document=document, place=rooms[arn].take(size_of(document)))
            for document in documents
        )
    return placed


def of_release(placed: PlacedPolicies, role: RolePolicies) -> list[tuple[PlacedPolicy, ...]]:
    """What the release of the hop adds to the role, each part by itself; none for capacity of Provisioners."""
    parts: tuple[PolicyPart, ...] = ("needs", "profiles")
    return [placed[role.role.arn, part] for part in parts if (role.role.arn, part) in placed]


def filled_to(role: RolePolicies) -> str:
    """How much of its quotas a role has used, in words."""
    attached = sum(policy.kind != "inline" for policy in role.role.policies.items)
    return (
        f"{attached} managed policies are attached, of {MOST_ATTACHED} that a role takes, and {role.role.inline_size:,}"
        f" of the {INLINE_LIMIT:,} characters that all its inline policies may have are used"
    )


class _PartDocuments(NamedTuple):
    part: PolicyPart
    arn: str
    release: str
    documents: tuple[Document, ...]


def _documents(case: CheckContext, seen: Permissions) -> Iterator[_PartDocuments]:
    before: dict[str, list[Document]] = {}
    for part in get_args(GapPart):
        gaps_of_roles = lacking(case, part)
        for lack in gaps_of_roles if isinstance(gaps_of_roles, tuple) else ():
            try:
                documents = closing(lack.report, seen.site).documents()
            except InvalidInput:
                continue
            if documents:
                before.setdefault(lack.role.role.arn, []).extend(documents)
                yield _PartDocuments(part, lack.role.role.arn, lack.report.release, documents)
    refused = [instance_request for instance_request in instance_requests(case, seen) if is_refused(instance_request)]
    for role in seen.roles:
        arn = role.role.arn
        role_refusals = [answer for answer in refused if answer.role.role.arn == arn]
        left = [
            role_refusal for role_refusal in role_refusals if role_refusal.answer.verdict is not RequestVerdict.DENIED
        ]
        left = [answer for answer in left if not allowed_with(answer, before.get(arn, ()), seen=seen)]
        documents = fitted(statements_for(left, seen.site), limit=MANAGED_LIMIT)
        if documents:
            yield _PartDocuments("instances", arn, str(case.step.release), documents)


def instance_requests(case: CheckContext, seen: Permissions) -> tuple[InstanceRequestAnswer, ...]:
    """The controller's requests on the instances that exist, as far as the hop brings them."""
    running, groups = case.running.release, case.inventory.aws.instances.items
    now = minor_order(running.minor) if running else None
    start, end = minor_order(case.step.start.minor), minor_order(case.step.release.minor)
    return answers_at_hop(seen, groups, running=now, start=start, end=end)


def is_refused(answer: InstanceRequestAnswer) -> bool:
    return answer.answer.verdict not in (RequestVerdict.ALLOWED, RequestVerdict.UNKNOWN)


def allowed_with(answer: InstanceRequestAnswer, added: Iterable[Document], *, seen: Permissions) -> bool:
    """Whether the request is allowed once the role has these documents as well."""
    more = [parse_policy(json.dumps(document), name="added") for document in added]
    policies = [filled(policy, seen.site) for policy in (*answer.role.policies, *more)]
    return evaluate(answer.request, policies, boundary=_boundary(answer.role, seen)).verdict is RequestVerdict.ALLOWED


def _boundary(role: RolePolicies, seen: Permissions) -> Sequence[IamPolicy] | None:
    return None if role.boundary is None else [filled(policy, seen.site) for policy in role.boundary]


class _FreeNames:
    """Names that no policy of these roles has. A name is given once: policies of an account do not share one."""

    def __init__(self, names: set[str]) -> None:
        self._taken = names

    def take(self, stem: str) -> str:
        number = 1
        while (name := _NO_NAME.sub("-", f"{stem}-{number}")[-_LONGEST_NAME:]) in self._taken:
            number += 1
        self._taken.add(name)
        return name


class _RoleRoom:
    """What a role still takes: managed policies by their number, and characters in the role."""

    def __init__(self, role: ControllerRole) -> None:
        self._managed = MOST_ATTACHED - sum(policy.kind != "inline" for policy in role.policies.items)
        self._inline = INLINE_LIMIT - role.inline_size

    def take(self, size: int) -> PolicyPlace:
        if self._managed > 0:
            self._managed -= 1
            return "managed"
        if size > self._inline:
            return "none"
        self._inline -= size
        return "inline"
