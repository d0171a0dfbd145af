"""Computes text and colour of the badge of a cluster or a fleet. What is not known is grey, never green."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

Colour = Literal["green", "yellow", "red", "blue", "grey"]
FLEET_COLOURS: tuple[Colour, ...] = ("red", "grey", "yellow", "blue", "green")
"""The badge of a fleet has the first of these colours that one of its clusters has."""
LONGEST_NAME = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class BadgeFacts:
    """The facts behind the badge of one cluster. `verdict` is of its next hop; `scanned_at` is None before the first
    scan."""

    verdict: str
    next_hop: str
    blockers: int
    complete: bool
    stale: bool
    unreachable: bool
    no_karpenter: bool
    scanned_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Badge:
    """A badge: the text of its two halves, and its colour."""

    label: str
    message: str
    colour: Colour


def cluster_badge(name: str, facts: BadgeFacts, *, now: datetime) -> Badge:
    """Returns the badge of one cluster, with the age of its scan."""
    message, colour = _text_and_colour(facts)
    age = f" · scanned {age_of(facts.scanned_at, now=now)} ago" if facts.scanned_at else ""
    return Badge(label=_short(name), message=f"{message}{age}", colour=colour)


def fleet_badge(clusters: Sequence[BadgeFacts], *, now: datetime) -> Badge:
    """Returns the badge of all clusters, with the age of the oldest scan; clusters without Karpenter do not count."""
    counting = [cluster for cluster in clusters if not _has_no_karpenter(cluster)]
    if not counting:
        return Badge(label="Karpenter fleet", message="no clusters", colour="grey")
    colours = Counter(_text_and_colour(badge_facts)[1] for badge_facts in counting)
    ready = colours["green"] + colours["yellow"]
    parts = [f"{ready} of {len(counting)} ready or done"]
    words: tuple[tuple[Colour, str], ...] = (("red", "blocked"), ("blue", "in progress"), ("grey", "unknown"))
    parts += [f"{colours[colour]} {word}" for colour, word in words if colours[colour]]
    oldest = min((badge_facts.scanned_at for badge_facts in counting if badge_facts.scanned_at), default=None)
    age = f" · oldest scan {age_of(oldest, now=now)} ago" if oldest else ""
    colour = next(colour_name for colour_name in FLEET_COLOURS if colours[colour_name])
    return Badge(label="Karpenter fleet", message=", ".join(parts) + age, colour=colour)


def age_of(moment: datetime, *, now: datetime) -> str:
    """Returns the whole minutes, hours or days since the moment; days from two days on. One unit, because a badge is
    small; other texts have `duration_text`.
    """
    passed = max(now - moment, timedelta(0))
    if passed >= timedelta(days=2):
        return f"{passed.days} d"
    minutes = int(passed.total_seconds() // 60)
    return f"{minutes // 60} h" if minutes >= 60 else f"{minutes} min"


def _reason_unknown(facts: BadgeFacts) -> str:
    """Returns why the state of the cluster is unknown; empty if it is known."""
    if facts.scanned_at is None:
        return "unknown: never scanned"
    if facts.unreachable:
        return "unknown: not reachable"
    return "unknown: scan is too old" if facts.stale else ""


def _has_no_karpenter(facts: BadgeFacts) -> bool:
    """Returns whether everything was read and there is no Karpenter."""
    return facts.no_karpenter and facts.complete and not _reason_unknown(facts)


def _text_and_colour(facts: BadgeFacts) -> tuple[str, Colour]:
    if unknown := _reason_unknown(facts):
        return unknown, "grey"
    if _has_no_karpenter(facts):
        return "no Karpenter", "grey"
    hop = f" for {facts.next_hop}" if facts.next_hop else ""
    if facts.verdict == "blocked":
        return f"blocked{hop}: {facts.blockers} blocker{'' if facts.blockers == 1 else 's'}", "red"
    if not facts.complete:
        return "unknown: not all was read", "grey"
    texts: dict[str, tuple[str, Colour]] = {
        "ready": (f"ready{hop}", "green"),
        "ready_with_warnings": (f"ready{hop} with warnings", "yellow"),
        "in_progress": (f"in progress{hop}", "blue"),
        "done": ("upgraded", "green"),
    }
    return texts.get(facts.verdict, ("unknown: facts are missing", "grey"))


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
