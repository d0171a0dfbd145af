"""The types of what people see and approve of a campaign and of each cluster; None means not known, never zero."""

import hashlib
from collections.abc import Iterable

import msgspec

from migrations_app.actions.changes import RISKS, Risk
from migrations_app.actions.plan import canonical
from migrations_app.campaigns.recipe import Recipe
from migrations_app.journeys.deletions import DestroyedObject
from migrations_app.journeys.prior_approval import AskedCheck

PREVIEWER_VERSION = 2
"""Incremented if the meaning of a stored preview changes."""


class Pace(msgspec.Struct, frozen=True):
    """The pace that a cluster's policy allows: nodes at once, and deletions per hour."""

    batch: int = 1
    per_hour: int = 60


class StepPreview(msgspec.Struct, frozen=True):
    """One step: who does it, its title, and for karpdash the action with its highest possible risk.

    `checks` are those of a step that people or other tools do; `failing` are those that failed in the scan.
    """

    kind: str
    title: str
    action: str = ""
    risk: str = ""
    checks: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()


class WarningShown(msgspec.Struct, frozen=True):
    """A warning that fails before the hop: the check's summary and each cause."""

    check: str
    says: str
    about: tuple[str, ...] = ()


class HopPreview(msgspec.Struct, frozen=True, kw_only=True, rename={"target_release": "lands"}):
    """One hop of one cluster. `nodes` are replaced nodes; `minutes` estimates the work of karpdash."""

    hop: str
    starts: str
    target_release: str
    steps: tuple[StepPreview, ...]
    nodes: int | None
    minutes: int | None
    blockers: int
    unknowns: int
    reasons: tuple[str, ...] = ()
    """Summaries of the findings that keep the hop from being ready, most severe first."""
    asked: dict[str, AskedCheck] = {}
    """The answers of checks of steps that people or other tools do, by id, before the hop."""
    warns: tuple[WarningShown, ...] = ()
    """Failing warnings that an approver accepts, if the recipe asks for that."""
    again: tuple[str, ...] = ()
    """Checks that are unknown between the work of an earlier hop and the scan after it."""

    @property
    def by_people(self) -> int:
        """The number of steps that a person or a tool outside does."""
        return sum(step.kind in ("person", "outside") for step in self.steps)


class MemberPreview(msgspec.Struct, frozen=True, kw_only=True):
    """What would be done on one cluster. With a `cause`, which is a code, it does not join.

    `uid` and `ca` identify the cluster. `owned` is the number of Karpenter's nodes; None if not all nodes were read.
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
    """How many people have to approve, by the present policy."""
    objects: tuple[DestroyedObject, ...] | None = ()
    """The objects that destructive plans of the recipe would delete; None if not all of them were read."""
    destroys: bool = True
    """Whether the present policy lets the approval of a campaign cover destructive plans."""

    @property
    def minutes(self) -> int | None:
        """The estimate for all hops."""
        return known_sum(hop.minutes for hop in self.hops)

    @property
    def nodes(self) -> int | None:
        """Replaced nodes of all hops; a node counts once for each hop that replaces it."""
        return known_sum(hop.nodes for hop in self.hops)

    @property
    def risk(self) -> Risk | None:
        """The highest declared risk of an action; None if karpdash changes nothing. A plan may have a higher risk."""
        risks = [risk for hop in self.hops for step in hop.steps for risk in RISKS if risk == step.risk]
        return max(risks, key=RISKS.index, default=None)

    def hop_to(self, target_release: str) -> HopPreview | None:
        """Returns the hop that ends at that release."""
        return next((hop for hop in self.hops if hop.target_release == target_release), None)


class CampaignPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is approved: the recipe, the waves as ids of clusters, and the preview of each cluster."""

    name: str
    recipe: Recipe
    waves: tuple[tuple[str, ...], ...]
    shown: tuple[MemberPreview, ...]
    author: str = ""
    previewer: int = PREVIEWER_VERSION

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical text."""
        return hashlib.sha256(canonical(self)).hexdigest()

    @property
    def joined(self) -> tuple[MemberPreview, ...]:
        """The clusters that take part."""
        return tuple(member for member in self.shown if not member.cause)

    @property
    def risk(self) -> Risk | None:
        """The highest risk that the approval covers; None if karpdash changes nothing.

        The real risk of a plan is known only when it is made, so people approve the limit of the recipe.
        """
        if any(destroyed_by(member) for member in self.joined):
            return "destructive"
        return self.recipe.covers if any(member.risk is not None for member in self.joined) else None

    @property
    def accepted(self) -> tuple[str, ...]:
        """The ids of the warnings that an approver accepts one by one: those that fail in the previews."""
        return accepted_of(self.joined) if self.recipe.accepts else ()


def accepted_of(previews: Iterable[MemberPreview]) -> tuple[str, ...]:
    """Returns the ids of the warnings that fail in any of the previews."""
    return tuple(sorted({warning.check for member in previews for hop in member.hops for warning in hop.warns}))


def destroyed_by(member: MemberPreview) -> tuple[DestroyedObject, ...]:
    """Returns the objects of the cluster that the approval lets plans delete."""
    return (member.objects or ()) if member.destroys else ()


def known_sum(counts: Iterable[int | None]) -> int | None:
    """Returns the sum; None if any number is not known."""
    numbers = tuple(counts)
    return None if None in numbers else sum(count or 0 for count in numbers)
