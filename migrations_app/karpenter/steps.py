"""One step of a path: the hop, the patch to land on, what Kubernetes has to be, and the way back."""

from dataclasses import dataclass

from migrations_app.karpenter import stops
from migrations_app.karpenter.landings import landings
from migrations_app.karpenter.release_shape import KubernetesWindow, MinorRelease
from migrations_app.karpenter.releases import Table, between, find, kubernetes_window, rollback_targets, row_of
from migrations_app.karpenter.stops import hop_of
from migrations_app.karpenter.versions import Release, minor_order, release, spoken


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One hop of a path."""

    hop: str
    start: Release
    release: Release
    """What to land on: never a patch known to be bad."""
    kubernetes: KubernetesWindow
    kubernetes_fits: bool | None = None
    """Whether the cluster's Kubernetes, raised as earlier steps ask, lies in the window; None when it is not known."""
    kubernetes_change: str = ""
    """What has to happen to Kubernetes before the step; empty when nothing has to."""
    rollback_to: tuple[Release, ...] = ()
    """Where one can go back to, `start` first where it is among them; empty when no way back is known."""
    rollback_caveats: tuple[str, ...] = ()
    mandatory: bool = True
    why: str = ""
    needs: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    """Minors passed over without running them."""
    notes: tuple[str, ...] = ()

    @property
    def entered(self) -> tuple[str, ...]:
        """Every minor whose changes come with this step, the last one being that of `release`."""
        own = () if self.release.minor == self.start.minor else (self.release.minor,)
        return (*self.skipped, *own)


def walk(start: Release, goal: Release, *, kubernetes: str | None, table: Table) -> tuple[Step, ...]:
    """The steps from `start` to `goal`; `kubernetes` is the cluster's minor, or None where it is not known."""
    found: list[Step] = []
    here, minor = start, kubernetes
    for landing in landings(start, goal, kubernetes=kubernetes, table=table):
        step = _step(here, landing, kubernetes=minor, table=table)
        found.append(step)
        here = landing
        minor = minor and max(minor, step.kubernetes.min, key=minor_order)
    return tuple(found)


def _step(start: Release, landing: Release, *, kubernetes: str | None, table: Table) -> Step:
    row = row_of(landing, table=table)
    hop = hop_of(landing, start=start)
    stop = stops.named(hop)
    window = row.kubernetes_window(landing)
    change = _kubernetes_change(start, landing, kubernetes=kubernetes, table=table)
    back = _way_back(start, row=row, table=table)
    skipped = _skipped(start, landing, table=table)
    return Step(
        hop=hop,
        start=start,
        release=landing,
        kubernetes=window,
        kubernetes_fits=None if kubernetes is None else window.holds(kubernetes),
        kubernetes_change=change,
        rollback_to=back,
        rollback_caveats=_caveats(start, row=row, back=back, kubernetes=kubernetes, table=table),
        mandatory=stop is not None and stop.strength == "mandatory",
        why=stop.why if stop else "",
        needs=_needs(start, landing, table=table),
        skipped=skipped,
        notes=_notes(start, row=row, change=change, skipped=skipped, table=table),
    )


def _skipped(start: Release, landing: Release, *, table: Table) -> tuple[str, ...]:
    inner = between(start.minor, landing.minor, table=table)
    return tuple(row.minor for row in inner if row.minor not in (start.minor, landing.minor))


def _needs(start: Release, landing: Release, *, table: Table) -> tuple[str, ...]:
    """What every minor entered asks for, the skipped ones included."""
    entered = [row for row in between(start.minor, landing.minor, table=table) if row.minor != start.minor]
    return tuple(dict.fromkeys(need for row in entered for need in row.upgrade_needs))


def _notes(
    start: Release, *, row: MinorRelease, change: str, skipped: tuple[str, ...], table: Table
) -> tuple[str, ...]:
    passed = f"Passes over {spoken(skipped)}: read their release notes too" if skipped else ""
    upgrade = row.upgrade_note if row.minor != start.minor else ""
    told = (change, _leaving(start, row=row, table=table), passed, upgrade)
    return tuple(note for note in told if note)


def _leaving(start: Release, *, row: MinorRelease, table: Table) -> str:
    """What to know about the patch one comes from, where the stop has a word on it and a newer patch is out."""
    stop = next((stop for stop in stops.STOPS if stop.last and stop.spans(start)), None)
    own = find(start, table=table)
    if stop is None or own is None or not own.leave_from:
        return ""
    if row.minor == own.minor or stop.spans(row.newest):
        return stop.leaving if start < release(own.leave_from) else ""
    newer = own.newest_good
    return f"{newer} is out. {stop.leaving}" if newer is not None and newer > start else ""


def _kubernetes_change(start: Release, landing: Release, *, kubernetes: str | None, table: Table) -> str:
    window = kubernetes_window(landing, table=table)
    if kubernetes is None or window is None or window.holds(kubernetes):
        return ""
    if minor_order(kubernetes) > minor_order(window.max):
        return (
            f"{landing} supports Kubernetes {window} and the cluster runs {kubernetes}, which cannot be taken back: "
            "pass through without staying, outside the supported window, or build a new cluster"
        )
    before = kubernetes_window(start, table=table)
    if before is None or minor_order(before.max) >= minor_order(window.min):
        top = min(window.max, before.max, key=minor_order) if before else window.max
        return f"Before this step raise Kubernetes from {kubernetes} to {window.min}; up to {top} fits both releases"
    return (
        f"Raise Kubernetes from {kubernetes} to {window.min} together with this step: "
        f"{start} supports no more than {before.max}, {landing} no less than {window.min}"
    )


def _way_back(start: Release, *, row: MinorRelease, table: Table) -> tuple[Release, ...]:
    """`start` where it can take over again, then of each minor that can the newest patch and the oldest one named."""
    able = rollback_targets(row.newest, table=table)
    named = [release(target.since) for target in row.rollback_to if target.since]
    newest = [next((patch for patch in able if patch.minor == target.minor), None) for target in row.rollback_to]
    others = {patch for patch in (*named, *newest) if patch in able and patch != start}
    own = start in able or (start.minor == row.minor and not row.bad_reasons(start))
    return (*((start,) if own else ()), *sorted(others, reverse=True))


def _caveats(
    start: Release, *, row: MinorRelease, back: tuple[Release, ...], kubernetes: str | None, table: Table
) -> tuple[str, ...]:
    strange = f"{start}, where this step starts, is not known to be able to take over again"
    within = f"Going back to {start} within the minor is not described anywhere; nothing is known against it"
    told = strange if start not in back else within if start.minor == row.minor else ""
    raised = kubernetes and max(kubernetes, row.kubernetes_window(row.newest).min, key=minor_order)
    return tuple(note for note in (*row.rollback_caveats, told, _outgrown(back, raised, table=table)) if note)


def _outgrown(back: tuple[Release, ...], kubernetes: str | None, *, table: Table) -> str:
    """Which of the ways back do not support the cluster's Kubernetes; empty when all do."""
    windows = {patch: kubernetes_window(patch, table=table) for patch in back}
    small = [str(patch) for patch, window in windows.items() if kubernetes and window and not window.holds(kubernetes)]
    return f"Kubernetes {kubernetes} is outside what these support: {', '.join(small)}" if small else ""
