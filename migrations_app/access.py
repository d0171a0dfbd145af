"""Who may look, prepare, approve and start: decided here, once, for pages, API and workers alike."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from migrations_app.actions.changes import Risk

Right = Literal["view", "operate", "approve", "administer"]
Method = Literal["session", "token"]


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
    return _lacks(person, "operate", "prepare plans")


def may_start(person: Person) -> Refusal | None:
    return _lacks(person, "operate", "start rollouts")


def may_stop(person: Person) -> Refusal | None:
    """Whoever may start or approve may stop (A10)."""
    if "approve" in person.rights:
        return None
    return _lacks(person, "operate", "stop rollouts")


def may_approve(person: Person, *, author: int, editors: Collection[int], risk: Risk, now: datetime) -> Refusal | None:
    """A person, not a token, not the author nor who edited last, freshly signed in where it destroys (A42, A44)."""
    if person.method != "session":
        return Refusal(code="person_needed", why="a plan is approved by a person in the browser, never by a token")
    if refusal := _lacks(person, "approve", "approve plans"):
        return refusal
    if person.id == author or person.id in editors:
        return Refusal(code="second_person", why="the author of a plan can not approve it")
    if risk in DESTRUCTIVE and (person.fresh_until is None or person.fresh_until <= now):
        return Refusal(code="sign_in_again", why="sign in again to approve what can not be undone")
    return None


def _lacks(person: Person, right: Right, what: str) -> Refusal | None:
    if right in person.rights or "administer" in person.rights:
        return None
    return Refusal(code="forbidden", why=f"the account may not {what}")
