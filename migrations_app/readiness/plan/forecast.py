"""What the rollout of a hop will meet, in numbers that say how sure they are."""

from collections.abc import Iterable
from typing import Literal

import msgspec

from migrations_app.checks.base import Finding

FORECAST: tuple[tuple[str, str], ...] = (
    ("hashes_carry_over", "nodes that drift with the hop"),
    ("claims_not_drifted", "nodes that have drifted already"),
    ("expired_claims_gone", "claims past their expiry"),
    ("legacy_machines_gone", "Machines to be replaced"),
    ("provisioners_hold_no_nodes", "nodes that go with their Provisioners"),
    ("protected_pods_off_rolled_nodes", "protected pods or nodes that hold a rollout up"),
    ("pdbs_allow_disruption", "disruption budgets that let no pod go"),
    ("workloads_keep_a_pod", "workloads that are away while their node is replaced"),
    ("pods_have_controllers", "pods that nobody starts again"),
    ("local_data_left_behind", "pods that leave data on their node"),
    ("grace_period_spares_protected_pods", "pods that a grace period ends"),
    ("zones_of_volumes_served", "pods that may not follow their volumes"),
    ("pools_have_room", "NodePools without room for one node more"),
    ("aws_has_room", "limits of AWS that are too low for the nodes at the peak"),
)
"""Checks that count what a rollout meets, and what it is that they count."""


class ForecastLine(msgspec.Struct, frozen=True, kw_only=True):
    """`count` is None where it is not known; `why` then says what keeps it from being known."""

    what: str
    count: int | None
    certainty: Literal["exact", "at_least", "unknown"]
    check: str
    why: str = ""


def forecast(findings: Iterable[Finding]) -> tuple[ForecastLine, ...]:
    """A line for each check that was asked and applies; nothing found is a number too."""
    asked = {finding.id: finding for finding in findings}
    lines = (_line(asked[name], what) for name, what in FORECAST if name in asked)
    return tuple(line for line in lines if line is not None)


def _line(finding: Finding, what: str) -> ForecastLine | None:
    match finding.status:
        case "pass":
            return ForecastLine(what=what, count=0, certainty="exact", check=finding.id)
        case "fail" | "waived":
            certainty: Literal["exact", "at_least"] = "exact" if finding.evidence_exact else "at_least"
            return ForecastLine(what=what, count=finding.evidence_total, certainty=certainty, check=finding.id)
        case "unknown" | "manual":
            return ForecastLine(what=what, count=None, certainty="unknown", check=finding.id, why=finding.summary)
    return None
