"""Who may look, prepare, approve and start: decided here, once, for pages, API and workers alike."""

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
"""What each role brings. Approving alone in an emergency comes with none: it is given by name (A45)."""
SOMEWHERE: frozenset[Right] = frozenset(("view", "operate", "approve", "change", "audit"))
"""Rights that open a page about no cluster in particular when they are held over one; the others need them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectivePermissions:
    """What an account may do where: over every cluster, and beside that over those of a group."""

    everywhere: frozenset[Right] = frozenset()
    by_group: Mapping[uuid.UUID, frozenset[Right]] = field(default_factory=dict)

    def over(self, groups: Collection[uuid.UUID]) -> frozenset[Right]:
        """The rights over a cluster that is in these groups."""
        return self.everywhere.union(*(self.by_group.get(group, frozenset()) for group in groups))

    def over_nothing_named(self) -> frozenset[Right]:
        """The rights where no cluster is meant in particular."""
        return self.everywhere | self.over(tuple(self.by_group)) & SOMEWHERE

    def groups_with(self, right: Right) -> frozenset[uuid.UUID]:
        """The groups over which the right is held."""
        return frozenset(group for group, rights in self.by_group.items() if right in rights)


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Who asks. `method` is how they proved who they are; `fresh_until` until when a step-up sign-in counts."""

    id: int
    name: str
    rights: Collection[Right]
    method: Method = "session"
    fresh_until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why not: a stable code and words for the page."""

    code: str
    why: str


DESTRUCTIVE: tuple[Risk, ...] = ("destructive",)


def may_prepare(person: Person) -> Refusal | None:
    """Preparing a plan changes nothing, but shows what an operator would do."""
    return _lacks(person, "operate", what="prepare plans")


def may_start(person: Person) -> Refusal | None:
    return _lacks(person, "operate", what="start rollouts")


def may_stop(person: Person) -> Refusal | None:
    """Whoever may start or approve may stop (A10)."""
    if "approve" in person.rights:
        return None
    return _lacks(person, "operate", what="stop rollouts")


def may_approve(person: Person, *, author: int, editors: Collection[int], risk: Risk, now: datetime) -> Refusal | None:
    """A person, not a token, not the author nor who edited last, freshly signed in where it destroys (A42, A44)."""
    if person.method != "session":
        return Refusal(code="person_needed", why="a plan is approved by a person in the browser, never by a token")
    if refusal := _lacks(person, "approve", what="approve plans"):
        return refusal
    if person.id == author or person.id in editors:
        return Refusal(code="second_person", why="the author of a plan can not approve it")
    if risk in DESTRUCTIVE and (person.fresh_until is None or person.fresh_until <= now):
        return Refusal(code="sign_in_again", why="sign in again to approve what can not be undone")
    return None


def may_administer(person: Person) -> Refusal | None:
    """Policies, and lifting the kill switch."""
    if "administer" in person.rights:
        return None
    return Refusal(code="forbidden", why="the account may not change policies")


def may_appoint(person: Person) -> Refusal | None:
    """Accounts, teams, and who gets which role."""
    if "people" in person.rights:
        return None
    return Refusal(code="forbidden", why="the account may not decide what others may do")


def may_waive(person: Person, *, blocker: bool, everywhere: bool) -> Refusal | None:
    """Accepting a failing check, which takes the right to change the cluster, or taking that back. What blocks, and
    what is accepted for all clusters, is for those who set the policies."""
    if refusal := _lacks(person, "change", what="accept failing checks"):
        return refusal
    if "administer" in person.rights or not (blocker or everywhere):
        return None
    what = "what blocks" if blocker else "anything for all clusters"
    return Refusal(code="forbidden", why=f"the account may not accept {what}: that takes the right to change policies")


def may_resolve(person: Person) -> Refusal | None:
    """What a rollout that needs attention came to is told by a person (A09)."""
    return _no_person(person) or _lacks(person, "operate", what="settle rollouts")


def may_break_glass(person: Person, *, now: datetime) -> Refusal | None:
    """One person alone, in an emergency: a right of its own, and freshly signed in whatever the risk (A45)."""
    if refusal := _no_person(person):
        return refusal
    if "break_glass" not in person.rights:
        return Refusal(code="forbidden", why="the account may not approve alone in an emergency")
    if person.fresh_until is None or person.fresh_until <= now:
        return Refusal(code="sign_in_again", why="sign in again to approve alone")
    return None


def approval_still_valid(rights: Collection[Right], *, alone: bool) -> bool:
    """Whether somebody with these rights may still stand by the yes they gave (A41)."""
    return bool({"break_glass"} & set(rights) if alone else {"approve", "administer"} & set(rights))


def _no_person(person: Person) -> Refusal | None:
    if person.method == "session":
        return None
    return Refusal(code="person_needed", why="only a person in the browser does this, never a token")


def _lacks(person: Person, right: Right, *, what: str) -> Refusal | None:
    if right in person.rights or "administer" in person.rights:
        return None
    return Refusal(code="forbidden", why=f"the account may not {what}")
