"""The releases that a path stops at between two releases, each at the best patch for the cluster's
Kubernetes version.
"""

from migrations_app.karpenter.hops import STOPS, HopStop
from migrations_app.karpenter.releases import Table, between, find, kubernetes_window
from migrations_app.karpenter.table_types import MinorRelease, SupportedKubernetes
from migrations_app.karpenter.versions import Release, minor_order, release


def targets(start: Release, goal: Release, *, kubernetes: str | None, table: Table) -> tuple[Release, ...]:
    """The releases after `start` up to and including `goal`, each newer than the one before."""
    releases: list[Release] = []
    position = start
    for stop in STOPS:
        stop_release = _release_of_stop(
            stop, position, goal=goal, kubernetes=_raised(kubernetes, position, table=table), table=table
        )
        if stop_release is not None and position < stop_release < goal:
            releases.append(stop_release)
            position = stop_release
    forced = _forced(position, goal, kubernetes=_raised(kubernetes, position, table=table), table=table)
    last = (goal,) if goal > start else ()
    return (*releases, *forced, *last)


def best_patch(row: MinorRelease, *, kubernetes: str | None) -> Release | None:
    """The newest patch that is not known to be bad, preferring those that support that Kubernetes; None if all are
    bad.
    """
    newest_first = reversed(row.good_releases)
    fitting = (patch for patch in newest_first if kubernetes and row.kubernetes_window(patch).holds(kubernetes))
    return next(fitting, row.newest_good)


def best_in(rows: Table, *, kubernetes: str | None, oldest_first: bool = False) -> Release | None:
    """The best patch of the first row that supports that Kubernetes, newest row first unless `oldest_first`.

    If none supports it: the first row to which Kubernetes can still be upgraded; otherwise the row with the highest
    maximum.
    """
    choice = [patch for row in rows if (patch := best_patch(row, kubernetes=kubernetes)) is not None]
    if not oldest_first:
        choice.reverse()
    if not choice or kubernetes is None:
        return choice[0] if choice else None
    windows = {patch: window for patch in choice if (window := kubernetes_window(patch, table=rows)) is not None}
    fitting = [patch for patch in choice if windows[patch].holds(kubernetes)]
    above = [patch for patch in choice if minor_order(windows[patch].min) > minor_order(kubernetes)]
    if fitting or above:
        return (fitting or above)[0]
    return max(choice, key=lambda patch: minor_order(windows[patch].max))


def _release_of_stop(
    stop: HopStop, position: Release, *, goal: Release, kubernetes: str | None, table: Table
) -> Release | None:
    """The release to use for that stop; None if the stop is not needed."""
    if not stop.last:
        return _first_after(stop, position, goal=goal, kubernetes=kubernetes, table=table)
    if stop.ahead_of(goal) or stop.spans(goal):
        return None
    rows = between(stop.first, stop.last, table=table)
    if stop.ahead_of(position):
        return best_in(rows, kubernetes=kubernetes, oldest_first=stop.prefer == "oldest")
    return _bridge(position, rows=rows, kubernetes=kubernetes) if stop.spans(position) else None


def _first_after(
    stop: HopStop, position: Release, *, goal: Release, kubernetes: str | None, table: Table
) -> Release | None:
    if not stop.ahead_of(position) or stop.ahead_of(goal):
        return None
    return best_in(between(stop.first, goal.minor, table=table), kubernetes=kubernetes, oldest_first=True)


def _bridge(position: Release, *, rows: Table, kubernetes: str | None) -> Release | None:
    """The patch to reach within the stop before leaving it; None if the running one is new enough."""
    own = find(position, table=rows)
    if own is None or not own.leave_from or position >= release(own.leave_from):
        return None
    patch = best_patch(own, kubernetes=kubernetes)
    if patch is not None and (kubernetes is None or own.kubernetes_window(patch).holds(kubernetes)):
        return patch
    return best_in(tuple(row for row in rows if row.order >= own.order), kubernetes=kubernetes)


def _forced(position: Release, goal: Release, *, kubernetes: str | None, table: Table) -> tuple[Release, ...]:
    """Stops that are needed to upgrade Kubernetes from what one release supports to what the next one supports."""
    releases: list[Release] = []
    while kubernetes is not None:
        through = _between_windows(position, goal, kubernetes=kubernetes, table=table)
        if through is None:
            break
        releases.append(through)
        position, kubernetes = through, _raised(kubernetes, through, table=table)
    return tuple(releases)


def _between_windows(position: Release, goal: Release, *, kubernetes: str | None, table: Table) -> Release | None:
    """The newest release that supports a Kubernetes version of `position` and a higher one; None if none is needed."""
    window, goal_window = kubernetes_window(position, table=table), kubernetes_window(goal, table=table)
    if window is None or goal_window is None or kubernetes is None:
        return None
    ceiling = max(minor_order(window.max), minor_order(kubernetes))
    if minor_order(goal_window.min) <= ceiling:
        return None
    inner = [
        row for row in between(position.minor, goal.minor, table=table) if row.minor not in (position.minor, goal.minor)
    ]
    for row in reversed(inner):
        patch = best_patch(row, kubernetes=None)
        if patch and _reaches(row.kubernetes_window(patch), ceiling=ceiling):
            return patch
    return None


def _reaches(window: SupportedKubernetes, *, ceiling: tuple[int, int]) -> bool:
    return minor_order(window.min) <= ceiling < minor_order(window.max)


def _raised(kubernetes: str | None, position: Release, *, table: Table) -> str | None:
    """The Kubernetes version once `position` runs: raised to its window if it was below."""
    window = kubernetes_window(position, table=table)
    if kubernetes is None or window is None:
        return kubernetes
    return max(kubernetes, window.min, key=minor_order)
