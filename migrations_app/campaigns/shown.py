"""What is shown of a campaign and of each cluster of it, as values; None means not known, never none."""

import hashlib
from collections.abc import Iterable

import msgspec

from migrations_app.actions.changes import RISKS, Risk
from migrations_app.actions.plan import canonical
from migrations_app.campaigns.recipe import Recipe
from migrations_app.journeys.beforehand import AskedCheck
from migrations_app.journeys.destroyed import DestroyedObject

PREVIEWER = 2
"""Incremented with every change of what a stored preview means."""


class Pace(msgspec.Struct, frozen=True):
    """The pace of a cluster's policy: nodes at once, and deletions in an hour."""

    batch: int = 1
    per_hour: int = 60


class StepPreview(msgspec.Struct, frozen=True):
    """One step: who does it, its title, and the action with its highest possible risk if karpdash does it.

    `checks` are those of a step that people or other tools do, `failing` those of them that failed in the scan.
    """

    kind: str
    title: str
    action: str = ""
    risk: str = ""
    checks: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()


class WarningShown(msgspec.Struct, frozen=True):
    """A warning that fails as the hop begins: what the check says, and each of its causes."""

    check: str
    says: str
    about: tuple[str, ...] = ()


class HopPreview(msgspec.Struct, frozen=True, kw_only=True):
    """One hop of one cluster. `nodes` are those that are replaced; `minutes` is the estimate of what karpdash does."""

    hop: str
    starts: str
    lands: str
    steps: tuple[StepPreview, ...]
    nodes: int | None
    minutes: int | None
    blockers: int
    unknowns: int
    reasons: tuple[str, ...] = ()
    """Summaries of what keeps the hop from being ready, most severe first."""
    asked: dict[str, AskedCheck] = {}
    """By the id of a check of a step that people or other tools do, what it says as the hop begins."""
    warns: tuple[WarningShown, ...] = ()
    """What an approver accepts of it, where the recipe asks for that."""
    again: tuple[str, ...] = ()
    """Checks that the work of an earlier hop makes unknown until a scan after it, which asks them here."""

    @property
    def by_people(self) -> int:
        """Steps that a person or a tool outside does."""
        return sum(step.kind in ("person", "outside") for step in self.steps)


class MemberPreview(msgspec.Struct, frozen=True, kw_only=True):
    """What would be done on one cluster. With a `cause` it does not join; `cause` is a code.

    `uid` and `ca` tell which cluster it is. `owned` are the nodes of Karpenter; None where nodes were not all read.
    """

    cluster: str
    name: str
    environment: str = ""
    region: str = ""
    cause: str = ""
    uid: str = ""
    ca: str = ""
    snapshot: str = ""
    scanned_at: str = ""
    release: str = ""
    owned: int | None = None
    pods: int | None = None
    hops: tuple[HopPreview, ...] = ()
    approvals: int = 0
    """How many people have to agree, by the policy of now."""
    objects: tuple[DestroyedObject, ...] | None = ()
    """What plans would delete that the recipe lets the approval cover; None where not all of it was read."""
    destroys: bool = True
    """Whether the policy of now lets the approval of a campaign cover such plans."""

    @property
    def minutes(self) -> int | None:
        """The estimate of all hops."""
        return known_sum(hop.minutes for hop in self.hops)

    @property
    def nodes(self) -> int | None:
        """Replaced nodes of all hops: one node counts once for each hop that replaces it."""
        return known_sum(hop.nodes for hop in self.hops)

    @property
    def risk(self) -> Risk | None:
        """The highest risk that an action declares; None if karpdash changes nothing. Its plan may risk more."""
        risks = [risk for hop in self.hops for step in hop.steps for risk in RISKS if risk == step.risk]
        return max(risks, key=RISKS.index, default=None)

    def hop_to(self, lands: str) -> HopPreview | None:
        """The hop that ends at that release."""
        return next((hop for hop in self.hops if hop.lands == lands), None)


class CampaignPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is approved: the recipe, the waves as ids of clusters, and what was shown of each cluster."""

    name: str
    recipe: Recipe
    waves: tuple[tuple[str, ...], ...]
    shown: tuple[MemberPreview, ...]
    author: str = ""
    previewer: int = PREVIEWER

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical text."""
        return hashlib.sha256(canonical(self)).hexdigest()

    @property
    def joined(self) -> tuple[MemberPreview, ...]:
        """The clusters that are part of it."""
        return tuple(member for member in self.shown if not member.cause)

    @property
    def risk(self) -> Risk | None:
        """The risk up to which its approval counts; None if karpdash changes nothing.

        What a plan really risks is only known when it is made, so people agree to the limit and not to less.
        """
        if any(destroyed_by(member) for member in self.joined):
            return "destructive"
        return self.recipe.covers if any(member.risk is not None for member in self.joined) else None

    @property
    def accepted(self) -> tuple[str, ...]:
        """The checks that an approver accepts one by one: warnings that fail as they are shown."""
        return accepted_of(self.joined) if self.recipe.accepts else ()


def accepted_of(previews: Iterable[MemberPreview]) -> tuple[str, ...]:
    """The ids of the checks of steps for people that fail somewhere as they are shown."""
    return tuple(sorted({warning.check for member in previews for hop in member.hops for warning in hop.warns}))


def destroyed_by(member: MemberPreview) -> tuple[DestroyedObject, ...]:
    """The objects of the cluster that the approval lets plans delete."""
    return (member.objects or ()) if member.destroys else ()


def known_sum(counts: Iterable[int | None]) -> int | None:
    """The sum; None if one of the numbers is not known."""
    numbers = tuple(counts)
    return None if None in numbers else sum(count or 0 for count in numbers)
