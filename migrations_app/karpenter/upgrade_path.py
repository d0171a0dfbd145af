"""The upgrade path from the running release to a target: each hop, its target patch, Kubernetes, and the rollback.

A pure function of the tables; the checks say whether a cluster is ready for a hop. `resolve_target` parses a
target: a release, a minor, a hop, or nothing for the newest release.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from migrations_app.errors import InvalidInput
from migrations_app.karpenter import hops
from migrations_app.karpenter.detection import DetectedRelease
from migrations_app.karpenter.hops import HOPS, STOPS, hop_of
from migrations_app.karpenter.releases import (
    RELEASES,
    Table,
    between,
    beyond_table,
    find,
    kubernetes_window,
    newest,
    rollback_targets,
    row_of,
)
from migrations_app.karpenter.table_types import MinorRelease, SupportedKubernetes
from migrations_app.karpenter.target_releases import best_in, best_patch, targets
from migrations_app.karpenter.versions import (
    Release,
    kubernetes_minor,
    minor_order,
    minors_text,
    parse,
    parse_minor,
    release,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PathHop:
    """One hop of a path, with its target patch and what it requires."""

    name: str
    start: Release
    release: Release
    """The release to install: never a patch known to be bad."""
    kubernetes: SupportedKubernetes
    kubernetes_fits: bool | None = None
    """Whether the cluster's Kubernetes, upgraded as earlier hops require, is supported; None if it is not known."""
    kubernetes_change: str = ""
    """What has to happen to Kubernetes before the hop; empty if nothing has to."""
    rollback_to: tuple[Release, ...] = ()
    """Releases one can roll back to, `start` first if it is among them; empty if none is known."""
    rollback_unsupported: tuple[Release, ...] = ()
    """Those of `rollback_to` that do not support the Kubernetes that runs after the hop."""
    rollback_caveats: tuple[str, ...] = ()
    mandatory: bool = True
    why: str = ""
    needs: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    """Minors that are skipped without running them."""
    notes: tuple[str, ...] = ()

    @property
    def entered(self) -> tuple[str, ...]:
        """Every minor whose changes come with this hop; the last one is that of `release`."""
        own = () if self.release.minor == self.start.minor else (self.release.minor,)
        return (*self.skipped, *own)


def walk(start: Release, goal: Release, *, kubernetes: str | None, table: Table) -> tuple[PathHop, ...]:
    """The hops from `start` to `goal`; `kubernetes` is the cluster's minor, or None if it is not known."""
    path_hops: list[PathHop] = []
    position, minor = start, kubernetes
    for target_release in targets(start, goal, kubernetes=kubernetes, table=table):
        path_hop = _path_hop(position, target_release, kubernetes=minor, table=table)
        path_hops.append(path_hop)
        position = target_release
        minor = minor and max(minor, path_hop.kubernetes.min, key=minor_order)
    return tuple(path_hops)


def _path_hop(start: Release, target_release: Release, *, kubernetes: str | None, table: Table) -> PathHop:
    row = row_of(target_release, table=table)
    hop = hop_of(target_release, start=start)
    stop = hops.named(hop)
    window = row.kubernetes_window(target_release)
    change = _kubernetes_change(start, target_release, kubernetes=kubernetes, table=table)
    back = _rollback_releases(start, row=row, table=table)
    raised = kubernetes and max(kubernetes, row.kubernetes_window(row.newest).min, key=minor_order)
    unsupported = _outgrown(back, raised, table=table)
    skipped = _skipped(start, target_release, table=table)
    return PathHop(
        name=hop,
        start=start,
        release=target_release,
        kubernetes=window,
        kubernetes_fits=None if kubernetes is None else window.holds(kubernetes),
        kubernetes_change=change,
        rollback_to=back,
        rollback_unsupported=unsupported,
        rollback_caveats=(*_caveats(start, row=row, back=back), *_outgrown_caveat(unsupported, raised)),
        mandatory=stop is not None and stop.strength == "mandatory",
        why=stop.why if stop else "",
        needs=_needs(start, target_release, table=table),
        skipped=skipped,
        notes=_notes(start, row=row, change=change, skipped=skipped, table=table),
    )


def _skipped(start: Release, target_release: Release, *, table: Table) -> tuple[str, ...]:
    inner = between(start.minor, target_release.minor, table=table)
    return tuple(row.minor for row in inner if row.minor not in (start.minor, target_release.minor))


def _needs(start: Release, target_release: Release, *, table: Table) -> tuple[str, ...]:
    """What every entered minor requires, including the skipped ones."""
    entered = [row for row in between(start.minor, target_release.minor, table=table) if row.minor != start.minor]
    return tuple(dict.fromkeys(need for row in entered for need in row.upgrade_needs))


def _notes(
    start: Release, *, row: MinorRelease, change: str, skipped: tuple[str, ...], table: Table
) -> tuple[str, ...]:
    passed = f"Passes over {minors_text(skipped)}: read their release notes too" if skipped else ""
    upgrade = row.upgrade_note if row.minor != start.minor else ""
    notes = (change, _leaving(start, row=row, table=table), passed, upgrade)
    return tuple(note for note in notes if note)


def _leaving(start: Release, *, row: MinorRelease, table: Table) -> str:
    """A note about the patch that the hop starts from, if the stop has one and a newer patch is available."""
    stop = next((stop for stop in hops.STOPS if stop.last and stop.spans(start)), None)
    start_row = find(start, table=table)
    if stop is None or start_row is None or not start_row.leave_from:
        return ""
    if row.minor == start_row.minor or stop.spans(row.newest):
        return stop.leaving if start < release(start_row.leave_from) else ""
    newer = start_row.newest_good
    return f"{newer} is out. {stop.leaving}" if newer is not None and newer > start else ""


def _kubernetes_change(start: Release, target_release: Release, *, kubernetes: str | None, table: Table) -> str:
    window = kubernetes_window(target_release, table=table)
    if kubernetes is None or window is None or window.holds(kubernetes):
        return ""
    if minor_order(kubernetes) > minor_order(window.max):
        return (
            f"{target_release} supports Kubernetes {window} and the cluster runs {kubernetes}, which cannot be rolled "
            "back: pass through without staying, outside the supported window, or build a new cluster"
        )
    before = kubernetes_window(start, table=table)
    if before is None or minor_order(before.max) >= minor_order(window.min):
        top = min(window.max, before.max, key=minor_order) if before else window.max
        return f"Before this step raise Kubernetes from {kubernetes} to {window.min}; up to {top} fits both releases"
    return (
        f"Raise Kubernetes from {kubernetes} to {window.min} together with this step: "
        f"{start} supports no more than {before.max}, {target_release} no less than {window.min}"
    )


def _rollback_releases(start: Release, *, row: MinorRelease, table: Table) -> tuple[Release, ...]:
    """`start` if it can take over again, then the newest and the oldest named patch of each minor that can."""
    able = rollback_targets(row.newest, table=table)
    named = [release(target.since) for target in row.rollback_to if target.since]
    newest = [next((patch for patch in able if patch.minor == target.minor), None) for target in row.rollback_to]
    others = {patch for patch in (*named, *newest) if patch in able and patch != start}
    includes_start = start in able or (start.minor == row.minor and not row.bad_reasons(start))
    return (*((start,) if includes_start else ()), *sorted(others, reverse=True))


def _caveats(start: Release, *, row: MinorRelease, back: tuple[Release, ...]) -> tuple[str, ...]:
    not_proven = f"{start}, where this step starts, is not known to be able to take over again"
    within_minor = f"Going back to {start} within the minor is not described anywhere; nothing is known against it"
    caveat = not_proven if start not in back else within_minor if start.minor == row.minor else ""
    return tuple(note for note in (*row.rollback_caveats, caveat) if note)


def _outgrown(back: tuple[Release, ...], kubernetes: str | None, *, table: Table) -> tuple[Release, ...]:
    """The rollback targets that do not support that Kubernetes; none if it is not known."""
    windows = {patch: kubernetes_window(patch, table=table) for patch in back}
    return tuple(patch for patch, window in windows.items() if kubernetes and window and not window.holds(kubernetes))


def _outgrown_caveat(unsupported: tuple[Release, ...], kubernetes: str | None) -> tuple[str, ...]:
    names = ", ".join(str(patch) for patch in unsupported)
    return (f"Kubernetes {kubernetes} is outside what these support: {names}",) if names else ()


def stay(running: Release, *, kubernetes: str | None = None, table: Table = RELEASES) -> PathHop | None:
    """The running release as a hop to itself, used to judge a cluster with no hop left.

    None for a minor that is not in the table.
    """
    return (
        None if find(running, table=table) is None else _path_hop(running, running, kubernetes=kubernetes, table=table)
    )


UNKNOWN = "unknown_target"


def resolve_target(
    target: Release | str | None, *, current: Release, kubernetes: str | None = None, table: Table = RELEASES
) -> Release:
    """The release that a target text stands for: "1.4.2", "1.4" (its newest good patch), a hop such as "0.33+", or
    None.

    Raises InvalidInput for an unknown release or minor, one known to be bad, and one older than `current`.
    """
    if target is None:
        return newest(table=table)
    text = str(target).strip()
    stop = hops.named(text) if text in HOPS else None
    if stop is not None and text.endswith("+"):
        return _by_hop(stop, current=current, kubernetes=kubernetes, table=table)
    minor = parse_minor(text)
    if minor is not None:
        return _not_below(_by_minor(minor, current=current, kubernetes=kubernetes, table=table), current)
    return _by_release(text, current=current, table=table)


def _by_hop(stop: hops.HopStop, *, current: Release, kubernetes: str | None, table: Table) -> Release:
    """The release to reach for a hop. If the running release is already inside an open hop, the newest patch of its
    own minor.
    """
    if stop.spans(current):
        return _by_minor(current.minor, current=current, kubernetes=kubernetes, table=table)
    rows = between(stop.first, stop.last or table[-1].minor, table=table)
    best = best_in(rows, kubernetes=kubernetes, oldest_first=stop.prefer == "oldest")
    if best is None:
        raise InvalidInput(f"no release of hop {stop.hop} is known", code="unknown_target")
    return _not_below(best, current)


def _by_minor(minor: str, *, current: Release, kubernetes: str | None, table: Table) -> Release:
    row = find(minor, table=table)
    best = best_patch(row, kubernetes=kubernetes) if row else None
    if best is None and minor != current.minor:
        raise InvalidInput(
            f"{minor} is no Karpenter minor that is known; the newest is {table[-1].minor}", code=UNKNOWN
        )
    return current if best is None or (current.minor == minor and current > best) else best


def _by_release(text: str, *, current: Release, table: Table) -> Release:
    goal = parse(text)
    if goal is None:
        raise InvalidInput(f"{text[:40]!r} is neither a release (1.4.2), a minor (1.4) nor a hop (0.33+)", code=UNKNOWN)
    row = find(goal, table=table)
    if row is None or not row.knows(goal):
        raise InvalidInput(f"{goal} is not a release that is known; the newest is {newest(table=table)}", code=UNKNOWN)
    _not_below(goal, current)
    if bad := row.bad_reasons(goal):
        raise InvalidInput(f"{goal} must not be stopped at: {bad[-1].why}; take {row.newest_good}", code="bad_target")
    return goal


def _not_below(goal: Release, current: Release) -> Release:
    if goal < current:
        raise InvalidInput(f"the target {goal} is older than the running {current}", code="target_below_current")
    return goal


__all__ = ["HOPS", "STOPS", "Path", "PathHop", "hop_of", "path", "resolve_target", "stay"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """The path from `current` to `target`; no hops means that nothing is left to do."""

    current: Release
    target: Release
    hops: tuple[PathHop, ...] = ()
    notes: tuple[str, ...] = ()
    assumed: bool = False
    """True if `current` is the oldest candidate of a range and not a detected release."""

    @property
    def hop_names(self) -> tuple[str, ...]:
        return tuple(hop.name for hop in self.hops)

    @property
    def next(self) -> PathHop | None:
        return self.hops[0] if self.hops else None


def path(
    current: Release | DetectedRelease | str | None,
    *,
    target: Release | str | None = None,
    kubernetes: str | None = None,
    table: Table = RELEASES,
) -> Path:
    """The path to `target`: a release, a minor, a hop, or None for the newest known release.

    Raises InvalidInput with the codes no_karpenter, unknown_current, unknown_target, bad_target,
    target_below_current and bad_kubernetes. Without `kubernetes` the hops do not say whether it fits.
    """
    start, notes = _start(current, table=table)
    minor = _kubernetes(kubernetes)
    goal = resolve_target(target, current=start, kubernetes=minor, table=table)
    whole_path = Path(current=start, target=goal, notes=notes, assumed=_is_range(current))
    if target is None and goal < start:
        newer = f"{start} is newer than the tables know, which end at {goal}"
        return replace(whole_path, target=start, notes=(*notes, newer))
    hops = walk(start, goal, kubernetes=minor, table=table)
    unread = ("Kubernetes version not known: whether it fits was not judged",) if hops and minor is None else ()
    return replace(whole_path, hops=hops, notes=(*notes, *unread))


class SupportedTarget(NamedTuple):
    """A hop with its target version and the Kubernetes versions that it supports."""

    hop: str
    release: str
    kubernetes: SupportedKubernetes


def planned_kubernetes(
    current: Release, targets: Iterable[SupportedTarget], *, minor: str, table: Table = RELEASES
) -> str:
    """A sentence: from which release of the path on that Kubernetes minor is supported."""
    window = kubernetes_window(current, table=table)
    if window is not None and window.holds(minor):
        return f"Kubernetes {minor}, as planned, is supported by {current} already"
    current_support = f"{current} supports {window}" if window else f"what {current} supports is not known"
    first = next((target for target in targets if target.kubernetes.holds(minor)), None)
    if first is not None:
        return f"Kubernetes {minor}, as planned, is supported from {first.release} on; {current_support}"
    return f"Kubernetes {minor}, as planned, is supported by no release of this path; {current_support}"


def _start(current: Release | DetectedRelease | str | None, *, table: Table) -> tuple[Release, tuple[str, ...]]:
    """The release that the path starts from, and notes about it."""
    if current is None or (isinstance(current, DetectedRelease) and current.absent):
        raise InvalidInput("no Karpenter runs in the cluster", code="no_karpenter")
    if isinstance(current, DetectedRelease):
        return _detected(current, table=table)
    running = parse(current) if isinstance(current, str) else current
    if running is None:
        raise InvalidInput(f"{str(current)[:40]!r} is not a Karpenter release", code="unknown_current")
    return running, _remarks(running, table=table)


def _detected(current: DetectedRelease, *, table: Table) -> tuple[Release, tuple[str, ...]]:
    if current.release is not None:
        return current.release, _remarks(current.release, table=table)
    row = find(current.minors[0], table=table) if current.minors else None
    if row is None:
        raise InvalidInput(f"the running Karpenter release is not known: {current.how}", code="unknown_current")
    caveat = f"only known to run {minors_text(current.minors)}; the path starts from the oldest, {row.releases[0]}"
    return row.releases[0], (caveat,)


def _is_range(current: object) -> bool:
    return isinstance(current, DetectedRelease) and current.release is None


def _remarks(running: Release, *, table: Table) -> tuple[str, ...]:
    """Notes on the running release; raises InvalidInput for a release that never existed."""
    row = find(running, table=table)
    if row is not None:
        faults = row.bad_reasons(running)
        return tuple(f"{running} has a known fault: {bad.why}; fixed in {bad.fixed_in}" for bad in faults)
    if minor_order(running.minor) < table[0].order:
        return (
            f"{running} is older than {table[0].minor}, where the tables begin: read the notes of its minors first",
        )
    if beyond_table(running, table=table):
        return ()
    raise InvalidInput(f"there is no Karpenter {running.minor}", code="unknown_current")


def _kubernetes(text: str | None) -> str | None:
    if text is None:
        return None
    minor = kubernetes_minor(text)
    if minor is None:
        raise InvalidInput(f"{text[:40]!r} is not a Kubernetes version", code="bad_kubernetes")
    return minor
