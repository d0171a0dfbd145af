"""Walks the hops of a plan in order: what an earlier hop has done by then is not asked again at a later one.

A later hop is judged today by what is there today, so it repeats every failure that the hops before it clear. The walk
takes those out, and tells by which hop they are cleared.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from migrations_app.checks.base import Evidence, Finding, Severity
from migrations_app.karpenter.hops import CONVERTED
from migrations_app.readiness.plan.work_order import LANDS

WAITS: Final = "hop_start_runs"
"""Fails at every hop whose turn has not come, and says nothing of the hop itself."""
OF_TODAY: Final = frozenset(
    {WAITS, "controller_off_bad_patches", "known_fixes_running", "running_release_fits_kubernetes"}
)
"""Checks of the release that runs today: a later hop begins with another one, which its own findings judge."""
_WEIGHT: Mapping[Severity, int] = {"info": 0, "warning": 1, "blocker": 2}
STORED: Final = "stored_versions_clean"
BY_LANDING: Final[Mapping[str, str]] = {STORED: CONVERTED}
"""Checks that a landing settles by itself, after a while: 1.0.6 and later rewrite every object, then trim the list of
stored versions. kubernetes-sigs/karpenter@v1.0.9:pkg/controllers/migration/crd/controller.go."""
Settled = Mapping[tuple[str, str], str]
"""Hop and id of a finding to the earlier hop that clears it."""


def settled_earlier(hops: Sequence[str], findings: Iterable[Finding]) -> Settled:
    """The findings of later hops that the work of an earlier one clears; `hops` are in the order of the path.

    A finding is cleared when an earlier hop asks for the same: the same check, the same evidence, no less severe, and
    with a way to fix it. What is not known stays unknown at every hop, and the CRDs of a release come with each hop.
    """
    by_hop: dict[str, dict[str, Finding]] = {hop: {} for hop in hops}
    for finding in findings:
        if finding.hop in by_hop:
            by_hop[finding.hop][finding.id] = finding
    settled: dict[tuple[str, str], str] = {}
    done: dict[str, list[Finding]] = {}
    for at, hop in enumerate(hops):
        for finding in by_hop[hop].values():
            if at and finding.id in OF_TODAY and finding.status == "fail":
                settled[hop, finding.id] = hops[at - 1]
            elif finding.status == "fail" and BY_LANDING.get(finding.id) in hops[:at]:
                settled[hop, finding.id] = BY_LANDING[finding.id]
            elif earlier := next((one for one in done.get(finding.id, ()) if _clears(one, finding)), None):
                settled[hop, finding.id] = earlier.hop
            elif finding.status in ("fail", "manual") and finding.remedies and finding.id != LANDS:
                done.setdefault(finding.id, []).append(finding)
    return settled


def own(hop: str, findings: Iterable[Finding], *, settled: Settled) -> tuple[Finding, ...]:
    """The findings of that hop that no earlier hop clears."""
    return tuple(one for one in findings if one.hop == hop and (hop, one.id) not in settled)


def _clears(earlier: Finding, later: Finding) -> bool:
    if earlier.status != later.status or _WEIGHT[earlier.severity] < _WEIGHT[later.severity]:
        return False
    if later.status == "manual":
        return (earlier.summary, earlier.remedies) == (later.summary, later.remedies)
    # Of a list that was cut short only its length tells whether there is more.
    return later.evidence_total <= earlier.evidence_total and _causes(later) <= _causes(earlier)


def _causes(finding: Finding) -> frozenset[tuple[str, ...]]:
    return frozenset(map(_cause, finding.evidence))


def _cause(row: Evidence) -> tuple[str, ...]:
    return (row.kind, row.namespace, row.name, row.path, row.wanted)
