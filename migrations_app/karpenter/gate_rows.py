"""What became of feature gates, beside the release rows, which hold the gates of each minor with their defaults.

Sources: pkg/operator/options/options.go of kubernetes-sigs/karpenter at every minor; charts/karpenter/values.yaml of
aws/karpenter-provider-aws for the names of the values.
"""

from typing import NamedTuple

from migrations_app.karpenter.release_shape import MinorRelease
from migrations_app.karpenter.releases import RELEASES, Table
from migrations_app.karpenter.versions import minor_order


class GateFate(NamedTuple):
    """`value` is its name below settings.featureGates; `fate` says what became of one that is none any more.

    `felt_by`: its new default changes nothing but what another check asks about.
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
    """The oldest minor that knows the gate; empty when none does."""
    known = [row.minor for row in table if row.gate_default(gate) is not None]
    return min(known, key=minor_order, default="")


def flips(running: MinorRelease, coming: MinorRelease) -> list[tuple[GateFate, bool, bool]]:
    """The gates that both minors know and that are off by default in the one and on in the other."""
    found: list[tuple[GateFate, bool, bool]] = []
    for fate in GATE_FATES:
        before, after = running.gate_default(fate.name), coming.gate_default(fate.name)
        if before is not None and after is not None and before != after:
            found.append((fate, before, after))
    return found


def felt_flips(running: MinorRelease, coming: MinorRelease) -> list[tuple[GateFate, bool, bool]]:
    """The same, without those that no cluster feels but by what another check asks about."""
    return [flip for flip in flips(running, coming) if not flip[0].felt_by]
