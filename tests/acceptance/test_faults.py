"""Each known fault, planted alone into a clean cluster, is found, named at its place, and nothing beside it."""

from functools import cache

import pytest

from migrations_app.checks.base import Finding
from migrations_app.checks.registry import all_checks
from tests.acceptance.clusters import find, objects
from tests.acceptance.judged_faults import ONE_WORKER, judged_fault
from tests.acceptance.judging import at, crashes, judged, loud, open_questions
from tests.acceptance.planted import FAULTS
from tests.acceptance.planting import Fault, names

pytestmark = ONE_WORKER


@cache
def before(cluster: str) -> dict[str, set[str]]:
    """What is said of the clean cluster, by hop: faults found, and questions left open."""
    clean = find(cluster)
    report = judged(clean, objects(clean))
    hops = {one.hop for one in report.checks}
    told = {hop: loud(at(report, hop)) for hop in hops}
    return told | {f"?{hop}": set(open_questions(at(report, hop))) for hop in hops}


def said_of(fault: Fault) -> tuple[Finding, ...]:
    """The findings with the fault planted, at the hop it is looked for."""
    known = judged_fault(fault)
    assert crashes(known.report) == []
    return known.findings


@pytest.fixture(params=FAULTS, ids=names(FAULTS))
def fault(request: pytest.FixtureRequest) -> Fault:
    found: Fault = request.param
    return found


def test_it_is_found_at_its_place_and_nothing_beside_it(fault: Fault) -> None:
    findings = said_of(fault)
    hop = fault.hop or find(fault.on).hop
    (finding,) = [one for one in findings if one.id == fault.check]
    assert finding.status == fault.status
    if fault.status == "manual":
        assert f"{fault.kind} {fault.object}" in finding.summary
    else:
        places = {(row.kind, row.namespace, row.name, row.path) for row in finding.evidence}
        assert (fault.kind, fault.namespace, fault.object, fault.path) in places
    known = before(fault.on)
    assert loud(findings) - known.get(hop, set()) - {fault.check} == set(fault.beside)
    assert set(open_questions(findings)) - known.get(f"?{hop}", set()) == set(fault.open)


def test_there_are_faults_of_every_area() -> None:
    checks = {one.id: one for one in all_checks()}
    areas = {checks[fault.check].phase for fault in FAULTS}
    assert areas == {"preflight", "iam", "crds", "controller", "resources", "workloads", "rollout", "cleanup"}
    assert len({(fault.of, fault.on) for fault in FAULTS}) == len(FAULTS) >= 100
    assert len({fault.check for fault in FAULTS}) >= 70
