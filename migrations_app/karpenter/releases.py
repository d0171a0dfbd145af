"""The table of Karpenter releases, and functions that query it. A new minor needs one more row and no code.

Every function takes the table as `table`, so that tests can add a future release. HASH_CHANGES lists what changed
with each version of the drift hashes; the release rows say which release writes which version. GATE_FATES lists
what became of feature gates; the release rows hold each minor's gates with their defaults.
Sources: pkg/apis/v1beta1 and pkg/apis/v1 of kubernetes-sigs/karpenter and aws/karpenter-provider-aws at every tag;
aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md for what is carried over;
pkg/operator/options/options.go of kubernetes-sigs/karpenter at every minor; charts/karpenter/values.yaml of
aws/karpenter-provider-aws for the names of the values.
"""

from typing import NamedTuple

from migrations_app.karpenter import crds, labels
from migrations_app.karpenter.crds import CrdSet
from migrations_app.karpenter.table_types import BadPatch, MinorRelease, SupportedKubernetes
from migrations_app.karpenter.tables.release_rows_alpha import ALPHA_ROWS
from migrations_app.karpenter.tables.release_rows_beta import BETA_ROWS
from migrations_app.karpenter.tables.release_rows_v1 import V1_ROWS
from migrations_app.karpenter.versions import Release, minor_order


class HashChange(NamedTuple):
    """`carried`: nodes receive the new hash instead of being replaced, unless they had drifted before."""

    annotation: str
    version: str
    first: str
    what: str
    carried: bool = True


HASH_CHANGES: tuple[HashChange, ...] = (
    HashChange(labels.NODEPOOL_HASH_VERSION, "v1", "0.32.9", "hashes carry a version"),
    HashChange(labels.EC2_NODE_CLASS_HASH_VERSION, "v1", "0.32.9", "hashes carry a version"),
    HashChange(labels.NODEPOOL_HASH_VERSION, "v2", "0.36", "the hash function changed"),
    HashChange(labels.EC2_NODE_CLASS_HASH_VERSION, "v2", "0.36", "the hash function changed"),
    HashChange(labels.NODEPOOL_HASH_VERSION, "v3", "1.0", "fields moved with v1"),
    HashChange(labels.EC2_NODE_CLASS_HASH_VERSION, "v3", "1.0", "fields moved with v1"),
    HashChange(labels.EC2_NODE_CLASS_HASH_VERSION, "v4", "1.1", "kubelet settings belong to the node class"),
    HashChange(
        labels.EC2_NODE_CLASS_HASH_VERSION,
        "v5",
        "1.12",
        "the CA bundle of the cluster is part of the hash: the guide expects every node to drift",
        carried=False,
    ),
)


def change_to(annotation: str, version: str | None) -> HashChange | None:
    """The row of that version; None for an unknown version."""
    return next((row for row in HASH_CHANGES if (row.annotation, row.version) == (annotation, version)), None)


def number(version: str | None) -> int | None:
    """The number in a version such as "v3", 0 for hashes without a version; None for anything else."""
    if not version:
        return 0
    digits = version.removeprefix("v")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 6 else None


Table = tuple[MinorRelease, ...]

RELEASES: Table = (*ALPHA_ROWS, *BETA_ROWS, *V1_ROWS)
"""Oldest first; the last row is the newest known minor."""


def find(release_or_minor: Release | str, *, table: Table = RELEASES) -> MinorRelease | None:
    """The row of a release or of a minor ("0.32"); None for a minor that is not in the table."""
    minor = release_or_minor.minor if isinstance(release_or_minor, Release) else release_or_minor
    return next((row for row in table if row.minor == minor), None)


def row_of(known: Release, *, table: Table = RELEASES) -> MinorRelease:
    """The row of a release that must have one; raises LookupError otherwise."""
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


class KnownUpTo(NamedTuple):
    """The newest release in a table and the date of its tag: what is published later is not known here."""

    release: Release
    date: str

    def __str__(self) -> str:
        return f"{self.release} ({self.date})"


def known_up_to(*, table: Table = RELEASES) -> KnownUpTo:
    """How far the table reaches."""
    return KnownUpTo(table[-1].newest, table[-1].patches[-1].date)


def newer_than_known(running: Release, *, table: Table = RELEASES) -> bool:
    """Whether that release came out after every release in the table, so that nothing is known about it."""
    return running > known_up_to(table=table).release


def beyond_table(running: Release, *, table: Table = RELEASES) -> bool:
    """Whether that release belongs to a minor newer than every row."""
    return minor_order(running.minor) > table[-1].order


def bad_reasons(running: Release, *, table: Table = RELEASES) -> tuple[BadPatch, ...]:
    """Why an upgrade must not stop at that release; empty if no reason is known."""
    row = find(running, table=table)
    return row.bad_reasons(running) if row else ()


def kubernetes_window(running: Release, *, table: Table = RELEASES) -> SupportedKubernetes | None:
    """The Kubernetes minors that the release supports; None for a minor that is not in the table."""
    row = find(running, table=table)
    return row.kubernetes_window(running) if row else None


def metrics_port(release: Release | None, *, table: Table = RELEASES) -> int | None:
    """The default port for metrics of the release's chart; None for one that is not known."""
    row = find(release, table=table) if release else None
    return row.metrics_port if row else None


def newest_patch_for(release: Release, kubernetes: str, *, table: Table = RELEASES) -> str:
    """The newest patch of that release's minor that supports the Kubernetes minor; empty if none does."""
    row = find(release, table=table)
    supporting = (str(patch) for patch in row.releases if row.kubernetes_window(patch).holds(kubernetes)) if row else ()
    return max(supporting, default="")


def crd_set(running: Release, *, table: Table = RELEASES) -> CrdSet | None:
    """The CRDs that the release ships; None for a minor that is not in the table."""
    row = find(running, table=table)
    return crds.find(row.crd_set(running)) if row else None


def drops_versions(before: Release | None, after: Release | None, *, table: Table = RELEASES) -> bool:
    """Whether a CRD that both releases ship serves a version in `before` that it does not serve in `after`: the CRDs of
    `before` do not match the later controller. False where one of the two is not known."""
    old, new = (crd_set(one, table=table) if one else None for one in (before, after))
    coming = {crd.name: crd.served for crd in new.crds} if new else {}
    return any(set(crd.served) - set(coming.get(crd.name, crd.served)) for crd in (old.crds if old else ()))


def conversion_begins(before: Release, after: Release, *, table: Table = RELEASES) -> bool:
    """Whether the CRDs of `after` ask a conversion webhook and those of `before` ask none: only the later controller
    serves it. False where one of the two is not known."""
    old, new = crd_set(before, table=table), crd_set(after, table=table)
    return old is not None and new is not None and new.crd_chart_converts and not old.crd_chart_converts


def serves(running: Release, generation: str, *, table: Table = RELEASES) -> bool | None:
    """Whether the controller acts on objects of that generation ("alpha", "beta", "v1"); None if unknown.

    1.0 acts on v1 only; v1beta1 objects reach it through the conversion webhook.
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
    """The known releases that one can roll back to, newest first, without those known to be bad."""
    row = find(running, table=table)
    if row is None:
        return ()
    releases = {
        patch
        for target in row.rollback_to
        if (older := find(target.minor, table=table)) is not None
        for patch in older.good_releases
        if target.accepts(patch)
    }
    return tuple(sorted(releases, reverse=True))


def as_tag(release: Release) -> str:
    """The release as charts and image tags spell it: `v0.32.10`, `1.0.14`."""
    row = find(release)
    return f"{row.tag_prefix if row else ''}{release}"


class GateFate(NamedTuple):
    """`value` is its name below settings.featureGates; `fate` says what became of a gate that no longer exists.

    `felt_by`: its new default only affects what another check covers.
    """

    name: str
    value: str
    fate: str = ""
    felt_by: str = ""


GATE_FATES: tuple[GateFate, ...] = (
    GateFate("Drift", "drift", "always on from 1.0 on"),
    GateFate("SpotToSpotConsolidation", "spotToSpotConsolidation"),
    GateFate("NodeRepair", "nodeRepair"),
    GateFate("ReservedCapacity", "reservedCapacity", felt_by="open_reservations_selected"),
    GateFate("NodeOverlay", "nodeOverlay"),
    GateFate("StaticCapacity", "staticCapacity"),
    GateFate("CapacityBuffer", "capacityBuffer"),
)


def first_known(gate: str, *, table: Table = RELEASES) -> str:
    """The oldest minor that has the gate; empty if none has."""
    known = [row.minor for row in table if row.gate_default(gate) is not None]
    return min(known, key=minor_order, default="")


def changed_gates(running: MinorRelease, coming: MinorRelease) -> list[tuple[GateFate, bool, bool]]:
    """The gates that both minors have with different defaults, and both defaults. Gates with `felt_by` are left out:
    another check covers their effect.
    """
    changes: list[tuple[GateFate, bool, bool]] = []
    for fate in GATE_FATES:
        before, after = running.gate_default(fate.name), coming.gate_default(fate.name)
        if not fate.felt_by and before is not None and after is not None and before != after:
            changes.append((fate, before, after))
    return changes


_VERSION_AGE = ("v1alpha1", "v1alpha5", "v1beta1", "v1")


def version_gone(api_version: str, running: Release) -> str:
    """The group and version in which the release stores objects of an older version that its CRDs no longer serve;
    empty for a served or newer version, and for versions of other groups."""
    group, _, version = api_version.partition("/")
    shipped = crd_set(running)
    group_crds = [crd for crd in shipped.crds if crd.kind.group == group] if shipped else []
    served = {row.name for crd in group_crds for row in crd.versions if row.served}
    stored = [
        stored_version for stored_version in _VERSION_AGE if any(crd.storage == stored_version for crd in group_crds)
    ]
    if version not in _VERSION_AGE or version in served or not stored:
        return ""
    newest = stored[-1]
    return f"{group}/{newest}" if _VERSION_AGE.index(version) < _VERSION_AGE.index(newest) else ""
