"""Counts what the upgrade of a hop affects, such as nodes and pods, and says how certain each number is."""

from collections.abc import Iterable
from typing import Literal

import msgspec

from migrations_app.checks.base import Finding

FORECAST: tuple[tuple[str, str], ...] = (
    ("hashes_carry_over", "nodes that drift with the upgrade"),
    ("claims_not_drifted", "nodes that have drifted already"),
    ("expired_claims_gone", "claims past their expiry"),
    ("legacy_machines_gone", "Machines to be replaced"),
    ("provisioners_hold_no_nodes", "nodes deleted with their Provisioner"),
    ("protected_pods_off_rolled_nodes", "protected pods or nodes that delay a rollout"),
    ("pdbs_allow_disruption", "PDBs that allow 0 disruptions"),
    ("workloads_keep_a_pod", "single-replica workloads (downtime while their node is replaced)"),
    ("pods_have_controllers", "unmanaged pods (not recreated)"),
    ("local_data_left_behind", "pods that lose data on their node"),
    ("grace_period_spares_protected_pods", "pods ended by a grace period"),
    ("zones_of_volumes_served", "pods pinned to a zone by a volume"),
    ("pools_have_room", "NodePools at their limit"),
    ("aws_has_room", "AWS quotas too low for the peak of nodes"),
)
"""Checks that count what an upgrade affects, each with the subject that it counts."""


class ForecastLine(msgspec.Struct, frozen=True, kw_only=True):
    """`count` is None where it is not known; `why` then says what keeps it from being known."""

    what: str
    count: int | None
    certainty: Literal["exact", "at_least", "unknown"]
    check: str
    why: str = ""


def forecast(findings: Iterable[Finding]) -> tuple[ForecastLine, ...]:
    """Returns a line for each of these checks that applies to the hop; a check that passes counts 0."""
    by_check = {finding.id: finding for finding in findings}
    lines = (_line(by_check[name], subject) for name, subject in FORECAST if name in by_check)
    return tuple(line for line in lines if line is not None)


def _line(finding: Finding, subject: str) -> ForecastLine | None:
    match finding.status:
        case "pass":
            return ForecastLine(what=subject, count=0, certainty="exact", check=finding.id)
        case "fail" | "waived":
            certainty: Literal["exact", "at_least"] = "exact" if finding.evidence_exact else "at_least"
            return ForecastLine(what=subject, count=finding.evidence_total, certainty=certainty, check=finding.id)
        case "unknown" | "manual":
            return ForecastLine(what=subject, count=None, certainty="unknown", check=finding.id, why=finding.summary)
    return None
