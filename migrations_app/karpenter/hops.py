"""The path from the running release to a target: each hop, the patch to land on, Kubernetes, and the way back.

`path` is pure: it says what the tables say. Whether a cluster is ready for a hop is for the checks to tell.
"""

from dataclasses import dataclass, replace

from migrations_app.errors import BadInput
from migrations_app.karpenter.detection import Detected
from migrations_app.karpenter.releases import RELEASES, Table, beyond_table, find
from migrations_app.karpenter.steps import Step, walk
from migrations_app.karpenter.stops import HOPS, STOPS, hop_of
from migrations_app.karpenter.targets import resolve_target
from migrations_app.karpenter.versions import Release, kubernetes_minor, minor_order, parse, spoken

__all__ = ["HOPS", "STOPS", "Path", "Step", "hop_of", "path", "resolve_target"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """The way from `current` to `target`; no steps means that there is nothing left to do."""

    current: Release
    target: Release
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    assumed: bool = False
    """`current` is the oldest candidate of a range, not a release that was read."""

    @property
    def hops(self) -> tuple[str, ...]:
        return tuple(step.hop for step in self.steps)

    @property
    def next(self) -> Step | None:
        return self.steps[0] if self.steps else None


def path(
    current: Release | Detected | str | None,
    *,
    target: Release | str | None = None,
    kubernetes: str | None = None,
    table: Table = RELEASES,
) -> Path:
    """The path to `target`: a release, a minor, a hop, or None for the newest known release.

    Raises BadInput, with the codes no_karpenter, unknown_current, unknown_target, bad_target, target_below_current
    and bad_kubernetes. Without `kubernetes` nothing is said about whether it fits.
    """
    start, notes = _start(current, table=table)
    minor = _kubernetes(kubernetes)
    goal = resolve_target(target, current=start, kubernetes=minor, table=table)
    found = Path(current=start, target=goal, notes=notes, assumed=_is_range(current))
    if target is None and goal < start:
        newer = f"{start} is newer than the tables know, which end at {goal}"
        return replace(found, target=start, notes=(*notes, newer))
    steps = walk(start, goal, kubernetes=minor, table=table)
    unread = ("Kubernetes version not known: whether it fits was not judged",) if steps and minor is None else ()
    return replace(found, steps=steps, notes=(*notes, *unread))


def _start(current: Release | Detected | str | None, *, table: Table) -> tuple[Release, tuple[str, ...]]:
    """The release the path starts from, and what has to be said about it."""
    if current is None or (isinstance(current, Detected) and current.absent):
        raise BadInput("no Karpenter runs in the cluster", code="no_karpenter")
    if isinstance(current, Detected):
        return _detected(current, table=table)
    running = parse(current) if isinstance(current, str) else current
    if running is None:
        raise BadInput(f"{str(current)[:40]!r} is not a Karpenter release", code="unknown_current")
    return running, _remarks(running, table=table)


def _detected(current: Detected, *, table: Table) -> tuple[Release, tuple[str, ...]]:
    if current.release is not None:
        return current.release, _remarks(current.release, table=table)
    row = find(current.minors[0], table=table) if current.minors else None
    if row is None:
        raise BadInput(f"the running Karpenter release is not known: {current.how}", code="unknown_current")
    told = f"only known to run {spoken(current.minors)}; the path starts from the oldest, {row.releases[0]}"
    return row.releases[0], (told,)


def _is_range(current: object) -> bool:
    return isinstance(current, Detected) and current.release is None


def _remarks(running: Release, *, table: Table) -> tuple[str, ...]:
    """Notes on the running release; raises BadInput for one that never existed."""
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
    raise BadInput(f"there is no Karpenter {running.minor}", code="unknown_current")


def _kubernetes(text: str | None) -> str | None:
    if text is None:
        return None
    minor = kubernetes_minor(text)
    if minor is None:
        raise BadInput(f"{text[:40]!r} is not a Kubernetes version", code="bad_kubernetes")
    return minor
