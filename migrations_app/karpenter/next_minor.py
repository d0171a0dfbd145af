"""A minor release as it differs from the one before it, so that a row states only what changed."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import accumulate
from typing import Any, TypeVar

from migrations_app.karpenter.table_types import (
    UNGUIDED,
    Api,
    BadPatch,
    DriftMode,
    FeatureGate,
    MinorRelease,
    Patch,
    ReleaseGeneration,
    RollbackTarget,
    Since,
    SupportedKubernetes,
    Webhooks,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class NextMinor:
    """One minor; the fields are those of MinorRelease, and None means the default.

    The default is the value of the newest patch of the minor before. What belongs to patches of one minor is not
    carried over: `bad`, `hook_job_patch`, `leave_from`, `crd_chart_drops_v1_from`, `upgrade_note`, `upgrade_needs`. By
    default one upgrades from every minor from which the one before could be reached, and from that one itself, and
    can roll back to that one, which no guide describes. `gates` are the feature gates that are new or have a new
    default, `gates_gone` the names of those that were removed.
    """

    minor: str
    patches: tuple[Patch, ...]
    generation: ReleaseGeneration | None = None
    kubernetes: tuple[Since[SupportedKubernetes], ...] | None = None
    crds: tuple[Since[str], ...] | None = None
    apis: tuple[Api, ...] | None = None
    drift: DriftMode | None = None
    drift_switch: str | None = None
    gates: tuple[FeatureGate, ...] = ()
    gates_gone: tuple[str, ...] = ()
    nodepool_hash: tuple[Since[str], ...] | None = None
    nodeclass_hash: tuple[Since[str], ...] | None = None
    webhooks: Webhooks | None = None
    metrics_port: int | None = None
    upgrade_from: tuple[str, str] | None = None
    upgrade_note: str = ""
    upgrade_needs: tuple[str, ...] = ()
    rollback_to: tuple[RollbackTarget, ...] | None = None
    rollback_caveats: tuple[str, ...] = (UNGUIDED,)
    bad: tuple[BadPatch, ...] = ()
    hook_job_patch: str = ""
    leave_from: str = ""
    crd_chart_drops_v1_from: str = ""
    tag_prefix: str | None = None
    sources: tuple[str, ...] | None = None

    def after(self, before: MinorRelease) -> MinorRelease:
        """The whole row, where `before` is the row of the minor before this one."""
        first = self.patches[0].version
        oldest = before.upgrade_from[0] if before.upgrade_from else before.minor
        defaults = replace(
            before,
            kubernetes=_from(before.kubernetes, first),
            crds=_from(before.crds, first),
            nodepool_hash=_from(before.nodepool_hash, first),
            nodeclass_hash=_from(before.nodeclass_hash, first),
            upgrade_from=(oldest, before.minor),
            rollback_to=(RollbackTarget(before.minor),),
        )
        return replace(defaults, **dict(self._stated()), gates=self._gates(before.gates))

    def _stated(self) -> Iterator[tuple[str, Any]]:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and field.name not in {"gates", "gates_gone"}:
                yield field.name, value

    def _gates(self, before: tuple[FeatureGate, ...]) -> tuple[FeatureGate, ...]:
        defaults = {gate.name: gate for gate in (*before, *self.gates)}
        return tuple(gate for name, gate in defaults.items() if name not in self.gates_gone)


def _from(rows: tuple[Since[T], ...], patch: str) -> tuple[Since[T], ...]:
    """The last of the values, from that patch on; empty if there is none."""
    return tuple(Since(patch, row.value) for row in rows[-1:])


def following(before: MinorRelease, *minors: NextMinor) -> tuple[MinorRelease, ...]:
    """The rows of the minors that come after that one, oldest first."""
    return tuple(accumulate(minors, lambda row, minor: minor.after(row), initial=before))[1:]
