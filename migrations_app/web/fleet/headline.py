"""Values for the top of the fleet page: which clusters can be upgraded today, and what blocks the others."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from django.urls import reverse

from migrations_app.checks.base import Check
from migrations_app.checks.registry import all_checks
from migrations_app.errors import InvalidInput
from migrations_app.karpenter.upgrade_path import path
from migrations_app.karpenter.versions import kubernetes_minor
from migrations_app.queries.fleet.causes import BlockerCause, OpenBlocker
from migrations_app.queries.fleet.clusters import FleetRow
from migrations_app.queries.rollouts.active import IN_PROGRESS, ROLLOUT, ActiveRollout
from migrations_app.readiness.progress.done_percent import DonePercent
from migrations_app.texts import text as _

ORDER: tuple[str, ...] = (
    "ready",
    "ready_with_warnings",
    "in_progress",
    "blocked",
    "needs_facts",
    "unreachable",
    "never_scanned",
    "done",
    "no_karpenter",
)
"""The statuses in the order of the page: clusters that can be upgraded today come first."""
STATUS_TABS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("ready", _("Ready now"), ("ready", "ready_with_warnings")),
    ("progress", _("In progress"), ("in_progress",)),
    ("blocked", _("Blocked"), ("blocked",)),
    ("access", _("Needs access"), ("needs_facts", "unreachable", "never_scanned")),
    ("target", _("On target"), ("done",)),
    ("none", _("No Karpenter"), ("no_karpenter",)),
)
"""Query value, title and statuses of each tab."""
WORDS_SHOWN = 2


@dataclass(frozen=True, slots=True)
class ReleasePath:
    """`start` is the running release; `releases` are the releases still to be installed, in order."""

    start: str
    releases: tuple[str, ...]

    @property
    def next(self) -> str:
        """The release to upgrade to next; empty if none is left."""
        return self.releases[0] if self.releases else ""

    @property
    def several(self) -> bool:
        return len(self.releases) > 1

    @property
    def last(self) -> str:
        return self.releases[-1] if self.releases else self.start


@dataclass(frozen=True, slots=True)
class StatusTab:
    value: str
    word: str
    count: int
    chosen: bool


@dataclass(frozen=True, slots=True)
class FleetHeadline:
    """`upgradable` is the number of clusters that have Karpenter; `shared` that of causes that block several clusters,
    and `covered` that of the clusters that these causes block.
    """

    upgradable: int
    ready: int
    blocked: int
    access: int
    progress: int
    target: int
    shared: int
    covered: int


@dataclass(frozen=True, slots=True)
class OnV1:
    """Of the clusters that have or may have Karpenter, how many are on v1 and of how many this is unknown."""

    on: int
    of: int
    unknown: int


@dataclass(frozen=True, slots=True)
class RowAction:
    word: str
    url: str
    primary: bool = False


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A row of the fleet page. `blockers` are the first two, `more` the number of the others; `done` is the share of
    the conversion to v1, None if nothing was counted; `rollout` is a rollout or journey in progress, or a rollout that
    waits for an approval.
    """

    row: FleetRow
    url: str
    path: ReleasePath | None
    blockers: tuple[OpenBlocker, ...]
    more: int
    action: RowAction | None
    done: DonePercent | None = None
    rollout: ActiveRollout | None = None

    @property
    def counts(self) -> bool:
        """Whether the row has a line of counts below the blockers."""
        return bool(self.more or self.row.warnings or self.row.unknowns)


def statuses_of(tab: str) -> tuple[str, ...]:
    """Returns the statuses of a tab; empty for an unknown tab."""
    return next((statuses for value, _, statuses in STATUS_TABS if value == tab), ())


def tabs_of(counts: Mapping[str, int], *, chosen: Sequence[str]) -> tuple[StatusTab, ...]:
    """Returns the tabs that hold clusters, and the chosen tab."""
    status_tabs = (
        StatusTab(value, word, sum(counts[name] for name in statuses), set(chosen) == set(statuses))
        for value, word, statuses in STATUS_TABS
    )
    return tuple(tab for tab in status_tabs if tab.count or tab.chosen)


def fleet_headline(counts: Mapping[str, int], causes: Iterable[BlockerCause]) -> FleetHeadline:
    """Returns the numbers above the list, from the clusters of each status and the causes that block some of them."""
    of = {value: sum(counts[name] for name in statuses) for value, _, statuses in STATUS_TABS}
    shared = [cause for cause in causes if len(cause.clusters) > 1]
    covered = {cluster.id for cause in shared for cluster in cause.clusters}
    return FleetHeadline(
        upgradable=sum(of.values()) - of["none"],
        ready=of["ready"],
        blocked=of["blocked"],
        access=of["access"],
        progress=of["progress"],
        target=of["target"],
        shared=len(shared),
        covered=len(covered),
    )


def on_v1(stages: Mapping[str, int]) -> OnV1:
    """Returns how many clusters are on v1, from the number of clusters in each stage."""
    return OnV1(on=stages["v1"], of=sum(stages.values()) - stages["no_karpenter"], unknown=stages["unknown"])


def shown_row(
    row: FleetRow,
    blockers: Mapping[uuid.UUID, tuple[OpenBlocker, ...]],
    *,
    done: Mapping[uuid.UUID, DonePercent],
    rollouts: Mapping[uuid.UUID, ActiveRollout],
) -> ShownRow:
    """Returns the row with its path, its first two blockers, its progress, and its button."""
    words = tuple({open_blocker.summary: open_blocker for open_blocker in blockers.get(row.id, ())}.values())
    first = words[:WORDS_SHOWN]
    rollout = rollouts.get(row.id)
    return ShownRow(
        row=row,
        url=_address("cluster", row.id),
        path=release_path(row),
        blockers=first,
        more=len(words) - len(first),
        action=_watch(rollout) if rollout and rollout.state in IN_PROGRESS else _action(row),
        done=done.get(row.id),
        rollout=rollout,
    )


def _watch(rollout: ActiveRollout) -> RowAction:
    word = _("Open rollout") if rollout.kind == ROLLOUT else _("Open upgrade")
    return RowAction(word, _address(rollout.kind, rollout.id), primary=True)


@lru_cache(maxsize=4096)
def _address(name: str, key: uuid.UUID) -> str:
    """Returns the URL of a page of that cluster, rollout or journey. Cached: the URL never changes, and a list needs
    some hundred.
    """
    return reverse(name, args=[key])


def _action(row: FleetRow) -> RowAction | None:
    cluster = _address("cluster", row.id)
    if row.active:
        return None
    if row.bucket in ("ready", "ready_with_warnings"):
        if row.stale:
            return RowAction(_("Scan again"), f"{cluster}#next")
        return RowAction(_("Open runbook"), _address("cluster-plan", row.id), primary=True)
    if row.bucket == "blocked":
        return RowAction(_("Fix next blocker"), f"{cluster}#next")
    if row.bucket == "in_progress":
        return RowAction(_("Finish"), f"{cluster}#next")
    if row.bucket == "needs_facts":
        return RowAction(_("Fix access"), _address("cluster-parts", row.id) if not row.complete else cluster)
    if row.bucket in ("unreachable", "never_scanned"):
        return RowAction(_("Connect"), cluster)
    return None


def cause_text(cause: BlockerCause) -> str:
    """Returns the cause as a sentence with the objects of all clusters counted; for one cluster its own summary."""
    check = _by_id().get(cause.check)
    if len(cause.clusters) == 1 or check is None or not cause.evidence:
        return cause.clusters[0].summary
    return check.says[1].format(count=cause.evidence)


@cache
def _by_id() -> Mapping[str, Check]:
    return {check.id: check for check in all_checks()}


def release_path(row: FleetRow) -> ReleasePath | None:
    """Returns the path by the current tables; None if the release is not known or the scan judged another next
    upgrade.
    """
    minor = kubernetes_minor(row.kubernetes_version) or ""
    hops_and_releases = _path(row.karpenter_version, kubernetes=minor, target=row.target)
    if hops_and_releases is None:
        return None
    hops, releases = hops_and_releases
    if hops and hops[0] != row.next_hop:
        return None
    return ReleasePath(row.karpenter_version, releases)


@lru_cache(maxsize=1024)
def _path(release: str, *, kubernetes: str, target: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Returns the hops and their releases. Cached: a fleet has few different ones."""
    try:
        way = path(release, target=target or None, kubernetes=kubernetes or None)
    except InvalidInput:
        return None
    return way.hop_names, tuple(str(hop.release) for hop in way.hops)
