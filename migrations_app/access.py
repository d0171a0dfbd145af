"""Decides who may view, prepare, approve and start, in one place for pages, API and workers."""

import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from migrations_app.actions.changes import Risk

Right = Literal[
    "view", "scan", "operate", "approve", "register", "change", "remove", "audit", "administer", "people", "break_glass"
]
Role = Literal["viewer", "operator", "approver", "admin"]
Method = Literal["session", "token"]
RIGHTS: frozenset[Right] = frozenset(
    (
        "view",
        "scan",
        "operate",
        "approve",
        "register",
        "change",
        "remove",
        "audit",
        "administer",
        "people",
        "break_glass",
    )
)
ROLES: Mapping[Role, frozenset[Right]] = {
    "viewer": frozenset(("view",)),
    "operator": frozenset(("view", "scan", "operate")),
    "approver": frozenset(("view", "approve")),
    "admin": RIGHTS - {"break_glass"},
}
"""The rights of each role. Emergency approval is in none of them; it is granted by name (A45)."""
NEVER_OF_PROGRAMS: frozenset[Right] = frozenset(("approve", "administer", "people", "break_glass"))
"""Rights that no service account has, with any role: people approve, set limits and appoint others (A42)."""
PROGRAM_ROLES: tuple[Role, ...] = ("viewer", "operator", "admin")
SOMEWHERE: frozenset[Right] = frozenset(("view", "operate", "approve", "change", "audit"))
"""Rights that open a page about no particular cluster even if they cover only some clusters; others have to
cover all.
"""
SAMPLE_PEOPLE = ("sample-operator", "sample-approver")
"""Accounts without a password, for sign-in by one click: they must never have a right over a real cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectivePermissions:
    """An account's rights: those over every cluster, and in addition those over groups of clusters."""

    everywhere: frozenset[Right] = frozenset()
    by_group: Mapping[uuid.UUID, frozenset[Right]] = field(default_factory=dict)

    def over(self, groups: Collection[uuid.UUID]) -> frozenset[Right]:
        """The rights over a cluster that is in these groups."""
        return self.everywhere.union(*(self.by_group.get(group, frozenset()) for group in groups))

    def over_nothing_named(self) -> frozenset[Right]:
        """The rights if no particular cluster is concerned."""
        return self.everywhere | self.over(tuple(self.by_group)) & SOMEWHERE

    def groups_with(self, right: Right) -> frozenset[uuid.UUID]:
        """The groups over which the right is held."""
        return frozenset(group for group, rights in self.by_group.items() if right in rights)


def rights_of_program(role: Role) -> frozenset[Right]:
    """The rights of a service account with that role."""
    return ROLES[role] - NEVER_OF_PROGRAMS


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """The caller. `method` is how they authenticated; `fresh_until` is when their re-authentication expires."""

    id: int
    name: str
    rights: Collection[Right]
    method: Method = "session"
    fresh_until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The reason why an action is refused: a stable code and text for the page."""

    code: str
    why: str


DESTRUCTIVE: tuple[Risk, ...] = ("destructive",)


def may_prepare(person: Person) -> Refusal | None:
    """Whether the person may prepare a plan: this changes nothing, but shows what an operator would do."""
    return _lacks(person, "operate", what="prepare plans")


def may_start(person: Person) -> Refusal | None:
    return _lacks(person, "operate", what="start rollouts")


def may_stop(person: Person) -> Refusal | None:
    """Whether the person may stop a rollout: everyone who may start or approve may do that (A10)."""
    if "approve" in person.rights:
        return None
    return _lacks(person, "operate", what="stop rollouts")


def may_approve(person: Person, *, author: int, makers: Collection[int], risk: Risk, now: datetime) -> Refusal | None:
    """Whether the person may approve: a person, not a token, and not the author; for a destructive plan with a recent
    sign-in (A42, A44). `makers` created the service account that is the author, or a token of it: its plans count as
    theirs.
    """
    if person.method != "session":
        return Refusal(code="person_needed", why="a plan is approved by a person in the browser, never by a token")
    if refusal := _lacks(person, "approve", what="approve plans"):
        return refusal
    if person.id == author:
        return Refusal(code="second_person", why="the author of a plan can not approve it")
    if person.id in makers:
        why = "the plan is of a service account, and who made that or a token of it can not approve it"
        return Refusal(code="second_person", why=why)
    if risk in DESTRUCTIVE and (person.fresh_until is None or person.fresh_until <= now):
        return Refusal(code="sign_in_again", why="sign in again to approve what can not be undone")
    return None


def may_administer(person: Person) -> Refusal | None:
    """Whether the person may change policies and turn off the kill switch."""
    if "administer" in person.rights:
        return None
    return Refusal(code="forbidden", why="the account may not change policies")


def may_appoint(person: Person) -> Refusal | None:
    """Whether the person may manage accounts, teams and role grants."""
    if "people" in person.rights:
        return None
    return Refusal(code="forbidden", why="the account may not decide what others may do")


def may_waive(person: Person, *, blocker: bool, everywhere: bool) -> Refusal | None:
    """Whether the person may accept a failing check or revoke that: this needs the right to change the cluster.

    For blockers, and for all clusters, it needs the right to change policies.
    """
    if refusal := _lacks(person, "change", what="accept failing checks"):
        return refusal
    if "administer" in person.rights or not (blocker or everywhere):
        return None
    subject = "what blocks" if blocker else "anything for all clusters"
    return Refusal(
        code="forbidden", why=f"the account may not accept {subject}: that takes the right to change policies"
    )


def may_resolve(person: Person) -> Refusal | None:
    """Whether the person may resolve a rollout that needs attention (A09)."""
    return _no_person(person) or _lacks(person, "operate", what="settle rollouts")


def may_break_glass(person: Person, *, now: datetime) -> Refusal | None:
    """Whether the person may approve alone in an emergency: this needs a right of its own, and a recent sign-in for any
    risk (A45).
    """
    if refusal := _no_person(person):
        return refusal
    if "break_glass" not in person.rights:
        return Refusal(code="forbidden", why="the account may not approve alone in an emergency")
    if person.fresh_until is None or person.fresh_until <= now:
        return Refusal(code="sign_in_again", why="sign in again to approve alone")
    return None


def approval_still_valid(rights: Collection[Right], *, alone: bool) -> bool:
    """Whether an approval still counts, given the approver's current rights (A41)."""
    return bool({"break_glass"} & set(rights) if alone else {"approve", "administer"} & set(rights))


def _no_person(person: Person) -> Refusal | None:
    if person.method == "session":
        return None
    return Refusal(code="person_needed", why="only a person in the browser does this, never a token")


def _lacks(person: Person, right: Right, *, what: str) -> Refusal | None:
    if right in person.rights or "administer" in person.rights:
        return None
    return Refusal(code="forbidden", why=f"the account may not {what}")
