"""The table of Karpenter releases, and questions put to it. Knowing a new minor means one more row, and nothing else.

Every function takes the table as `table`, so that a check of tomorrow's release needs no new code.
"""

from migrations_app.karpenter import crd_sets
from migrations_app.karpenter.crd_sets import CrdSet
from migrations_app.karpenter.release_rows_alpha import ALPHA_ROWS
from migrations_app.karpenter.release_rows_beta import BETA_ROWS
from migrations_app.karpenter.release_rows_v1 import V1_ROWS
from migrations_app.karpenter.release_rows_v1_later import LATER_ROWS
from migrations_app.karpenter.release_shape import BadPatch, KubernetesWindow, MinorRelease
from migrations_app.karpenter.versions import Release, minor_order

Table = tuple[MinorRelease, ...]

RELEASES: Table = (*ALPHA_ROWS, *BETA_ROWS, *V1_ROWS, *LATER_ROWS)
"""Oldest first; the newest known minor is the last row."""


def find(wanted: Release | str, *, table: Table = RELEASES) -> MinorRelease | None:
    """The row of a release or of a minor ("0.32"); None for a minor the table does not know."""
    minor = wanted.minor if isinstance(wanted, Release) else wanted
    return next((row for row in table if row.minor == minor), None)


def row_of(known: Release, *, table: Table = RELEASES) -> MinorRelease:
    """The row of a release that is known to have one; raises LookupError otherwise."""
    row = find(known, table=table)
    if row is None:
        raise LookupError(f"no row for {known}")
    return row


def between(first: str, last: str, *, table: Table = RELEASES) -> Table:
    """The rows from minor `first` to minor `last`, both included, oldest first."""
    low, high = minor_order(first), minor_order(last)
    return tuple(row for row in table if low <= row.order <= high)


def newest(*, table: Table = RELEASES) -> Release:
    """The newest release that is not known to be bad."""
    return next(good for row in reversed(table) if (good := row.newest_good) is not None)


def beyond_table(running: Release, *, table: Table = RELEASES) -> bool:
    """Whether that release belongs to a minor newer than every row."""
    return minor_order(running.minor) > table[-1].order


def bad_reasons(running: Release, *, table: Table = RELEASES) -> tuple[BadPatch, ...]:
    """Why that release must not be stopped at; empty when nothing is known against it."""
    row = find(running, table=table)
    return row.bad_reasons(running) if row else ()


def kubernetes_window(running: Release, *, table: Table = RELEASES) -> KubernetesWindow | None:
    """The Kubernetes minors that release supports; None for a minor the table does not know."""
    row = find(running, table=table)
    return row.kubernetes_window(running) if row else None


def crd_set(running: Release, *, table: Table = RELEASES) -> CrdSet | None:
    """The CRDs that release ships; None for a minor the table does not know."""
    row = find(running, table=table)
    return crd_sets.find(row.crd_set(running)) if row else None


def serves(running: Release, generation: str, *, table: Table = RELEASES) -> bool | None:
    """Whether the controller acts on objects of that generation ("alpha", "beta", "v1"); None when unknown.

    1.0 acts on v1 only: v1beta1 reaches it through the conversion webhook.
    """
    row = find(running, table=table)
    if row is None:
        return None
    return generation in _ACTS_ON[row.generation]


_ACTS_ON = {
    "alpha": ("alpha",),
    "alpha_and_beta": ("alpha", "beta"),
    "beta": ("beta",),
    "v1_with_beta_conversion": ("v1",),
    "v1": ("v1",),
}


def rollback_targets(running: Release, *, table: Table = RELEASES) -> tuple[Release, ...]:
    """The known releases one can go back to from that one, newest first, without those known to be bad."""
    row = find(running, table=table)
    if row is None:
        return ()
    found = {
        patch
        for older in table
        for patch in older.releases
        if any(target.accepts(patch) for target in row.rollback_to) and not older.bad_reasons(patch)
    }
    return tuple(sorted(found, reverse=True))


def as_tag(release: Release) -> str:
    """The release as its charts and image tags spell it: `v0.32.10`, `1.0.14`."""
    row = find(release)
    return f"{row.tag_prefix if row else ''}{release}"
