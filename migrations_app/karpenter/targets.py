"""What a target text means: a release, a minor, a hop, or nothing for the newest release."""

from migrations_app.errors import BadInput
from migrations_app.karpenter import stops
from migrations_app.karpenter.landings import best_in, best_patch
from migrations_app.karpenter.releases import RELEASES, Table, between, find, newest
from migrations_app.karpenter.stops import HOPS
from migrations_app.karpenter.versions import Release, parse, parse_minor

UNKNOWN = "unknown_target"


def resolve_target(
    target: Release | str | None, *, current: Release, kubernetes: str | None = None, table: Table = RELEASES
) -> Release:
    """The release that a target text means: "1.4.2", "1.4" (its newest good patch), a hop such as "0.33+", or None.

    Raises BadInput for a release or minor nobody knows, one known to be bad, and one older than `current`.
    """
    if target is None:
        return newest(table=table)
    text = str(target).strip()
    stop = stops.named(text) if text in HOPS else None
    if stop is not None and text.endswith("+"):
        return _by_hop(stop, current=current, kubernetes=kubernetes, table=table)
    minor = parse_minor(text)
    if minor is not None:
        return _not_below(_by_minor(minor, current=current, kubernetes=kubernetes, table=table), current)
    return _by_release(text, current=current, table=table)


def _by_hop(stop: stops.Stop, *, current: Release, kubernetes: str | None, table: Table) -> Release:
    """Inside an open hop, its target is the newest patch of the running minor."""
    if stop.spans(current):
        return _by_minor(current.minor, current=current, kubernetes=kubernetes, table=table)
    rows = between(stop.first, stop.last or table[-1].minor, table=table)
    found = best_in(rows, kubernetes=kubernetes, oldest_first=stop.prefer == "oldest")
    if found is None:
        raise BadInput(f"no release of hop {stop.hop} is known", code="unknown_target")
    return _not_below(found, current)


def _by_minor(minor: str, *, current: Release, kubernetes: str | None, table: Table) -> Release:
    row = find(minor, table=table)
    found = best_patch(row, kubernetes=kubernetes) if row else None
    if found is None and minor != current.minor:
        raise BadInput(f"{minor} is no Karpenter minor that is known; the newest is {table[-1].minor}", code=UNKNOWN)
    return current if found is None or (current.minor == minor and current > found) else found


def _by_release(text: str, *, current: Release, table: Table) -> Release:
    wanted = parse(text)
    if wanted is None:
        raise BadInput(f"{text[:40]!r} is neither a release (1.4.2), a minor (1.4) nor a hop (0.33+)", code=UNKNOWN)
    row = find(wanted, table=table)
    if row is None or not row.knows(wanted):
        raise BadInput(f"{wanted} is not a release that is known; the newest is {newest(table=table)}", code=UNKNOWN)
    _not_below(wanted, current)
    if bad := row.bad_reasons(wanted):
        raise BadInput(f"{wanted} must not be stopped at: {bad[-1].why}; take {row.newest_good}", code="bad_target")
    return wanted


def _not_below(wanted: Release, current: Release) -> Release:
    if wanted < current:
        raise BadInput(f"the target {wanted} is older than the running {current}", code="target_below_current")
    return wanted
