"""Compares what a plan's new nodes need at the peak with the free capacity, as texts for the plan's page."""

from collections.abc import Mapping
from dataclasses import dataclass

from migrations_app.actions.plan import Plan
from migrations_app.inventory.aws_facts.capacity_room import CapacityKind, Standing

LIMITS: Mapping[CapacityKind, str] = {
    "pool": "CPU limit of {}",
    "vcpus": "vCPU quota {}",
    "addresses": "Addresses in {}",
    "reserved": "Reserved {}",
    "offered": "Offered {}",
}
STANDINGS: Mapping[Standing, tuple[str, str]] = {
    "enough": ("enough", "pass"),
    "short": ("too little", "warning"),
    "unknown": ("not known", "unknown"),
}
"""Word and tone of each standing."""
NOT_TOLD = "not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityRow:
    """One limit as texts."""

    limit: str
    need: str
    free: str
    standing: str
    tone: str
    why: str


def capacity_rows(plan: Plan | None) -> tuple[CapacityRow, ...]:
    """Returns a row for each limit; none for a plan that replaces no node."""
    lines = (plan.forecast.capacity or ()) if plan else ()
    return tuple(
        CapacityRow(
            limit=LIMITS[line.what].format(line.name or "a zone that is not told"),
            need=_count(line.need),
            free=_count(line.free),
            standing=STANDINGS[line.standing][0],
            tone=STANDINGS[line.standing][1],
            why=line.why,
        )
        for line in lines
    )


def _count(number: int | None) -> str:
    return NOT_TOLD if number is None else f"{number:,}"
