"""Judges one check alone, on an inventory with only the parts that it reads: what a person asks for after a fix."""

from dataclasses import dataclass

from migrations_app.checks.base import Check, CheckContext, Finding
from migrations_app.checks.runner import answer
from migrations_app.errors import InvalidInput
from migrations_app.inventory.inventory import PART_NAMES, Inventory
from migrations_app.karpenter.detection import DetectedRelease
from migrations_app.karpenter.upgrade_path import Path, path
from migrations_app.karpenter.versions import kubernetes_minor
from migrations_app.readiness.stage import detect_running_release, stage_of


@dataclass(frozen=True, slots=True, kw_only=True)
class OneCheckAnswer:
    """The answer of one check that was judged alone. `parts` of `parts_total` data sources of the cluster were read."""

    check: str
    hop: str
    status: str
    summary: str
    evidence_total: int
    evidence_exact: bool
    parts: int
    parts_total: int


def stored_answer(finding: Finding, *, parts: int) -> OneCheckAnswer:
    """The answer in the form in which it is stored."""
    return OneCheckAnswer(
        check=finding.id,
        hop=finding.hop,
        status=finding.status,
        summary=finding.summary,
        evidence_total=finding.evidence_total,
        evidence_exact=finding.evidence_exact,
        parts=parts,
        parts_total=len(PART_NAMES),
    )


def judge_one_check(inventory: Inventory, *, check: Check, hop: str, target: str = "") -> Finding | None:
    """Returns the finding of the check for the next hop, in the state in which that hop begins.

    Returns None if the next hop is no longer `hop`, or if the check does not apply to it: then every check has to be
    judged again. If the check needs a part that is Unseen, the caller reads that part and calls again.
    """
    running = detect_running_release(inventory)
    upgrade_path = _path(running, inventory, target=target)
    next_hop = upgrade_path.hops[0] if upgrade_path and upgrade_path.hops else None
    if next_hop is None or next_hop.name != hop or not check.applies(hop):
        return None
    stage = stage_of(inventory, running)
    return answer(check, CheckContext(inventory, next_hop, running, stage, inventory.taken_at)).finding


def _path(running: DetectedRelease, inventory: Inventory, *, target: str) -> Path | None:
    version = next(iter(inventory.version.items), None)
    kubernetes = kubernetes_minor(version.git_version or None) if version else None
    for release_or_hop in dict.fromkeys((target or None, None)):  # without the target if the cluster is past it
        try:
            return path(running, target=release_or_hop, kubernetes=kubernetes)
        except InvalidInput:
            continue
    return None
