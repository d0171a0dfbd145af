"""The lines for kubectl of planted faults, run as they stand against a real API server: a live scan then passes."""

from pathlib import Path

import pytest

from migrations_app.checks.base import Finding
from migrations_app.readiness.report import Report
from tests.acceptance.clusters import Clean, find, objects
from tests.acceptance.judging import at, judged
from tests.acceptance.planted import FAULTS
from tests.acceptance.planting import Fault, names
from tests.acceptance.proofs import ALONE, by_cluster, is_fixed, lines_of
from tests.acceptance.real_clusters import kubeconfig_of, load, run, scan
from tests.deploy.helm import Helm
from tests.servers.apiserver import ApiServer

PLANTED = dict(by_cluster())
BY_CHART = {"controller_outside_overlay"}
"""Checks whose fix is a value of the chart: tests/acceptance/test_fixes_proven.py shows what it changes."""
BY_VALUES = [fault for fault in FAULTS if fault.check in BY_CHART]
SINGLE = [fault for fault in FAULTS if fault.of in ALONE and fault not in BY_VALUES]


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(Helm(tmp_path_factory.mktemp("helm")).kubectl)


def found(report: Report, fault: Fault, clean: Clean) -> Finding:
    return next(one for one in at(report, fault.hop or clean.hop) if one.id == fault.check)


@pytest.mark.parametrize("name", PLANTED)
def test_the_lines_do_what_their_changes_say(
    name: str, clean_apiserver: ApiServer, kubectl: Path, tmp_path: Path
) -> None:
    assert left_after(PLANTED[name], server=clean_apiserver, kubectl=kubectl, folder=tmp_path) == []


@pytest.mark.parametrize("fault", SINGLE, ids=names(SINGLE))
def test_the_lines_of_one_fault_do_what_its_changes_say(
    fault: Fault, clean_apiserver: ApiServer, kubectl: Path, tmp_path: Path
) -> None:
    assert left_after([fault], server=clean_apiserver, kubectl=kubectl, folder=tmp_path) == []


@pytest.mark.parametrize("fault", BY_VALUES, ids=names(BY_VALUES))
def test_a_fix_by_the_chart_has_no_lines_for_kubectl(fault: Fault) -> None:
    clean, documents = find(fault.on), objects(find(fault.on))
    fault.plant(documents)
    finding = found(judged(clean, documents), fault, clean)
    assert (finding.status, lines_of(finding)) == ("fail", [])


def left_after(faults: list[Fault], *, server: ApiServer, kubectl: Path, folder: Path) -> list[str]:
    """The checks that still fail after the lines of each fault have been run in the same cluster."""
    kubeconfig = kubeconfig_of(server, folder)
    clean, documents = find(faults[0].on), objects(find(faults[0].on))
    for fault in faults:
        fault.plant(documents)
    load(server, documents)
    report = scan(server, clean)
    before = {fault.check: found(report, fault, clean) for fault in faults}
    assert {check for check, finding in before.items() if finding.status != "fail"} == set()
    for finding in before.values():
        for lines in lines_of(finding):
            done = run(lines, kubectl=kubectl, kubeconfig=kubeconfig)
            assert (done.returncode, done.stderr) == (0, ""), lines
    after = scan(server, clean)
    hops = {fault.check: fault.hop or clean.hop for fault in faults}
    return [check for check, finding in before.items() if not is_fixed(finding, at(after, hops[check]))]
