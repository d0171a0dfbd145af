"""The lines for kubectl of planted faults, run as they stand against a real API server: a live scan then passes."""

from pathlib import Path

import pytest

from migrations_app.checks.base import Finding
from migrations_app.readiness.report import Report
from tests.acceptance.clusters import Clean, find, objects
from tests.acceptance.judging import at
from tests.acceptance.planting import Fault
from tests.acceptance.proofs import by_cluster, is_fixed, lines_of
from tests.acceptance.real_clusters import load, run, scan
from tests.deploy.helm import Helm
from tests.servers.apiserver import ApiServer

PLANTED = dict(by_cluster())


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(Helm(tmp_path_factory.mktemp("helm")).kubectl)


def found(report: Report, fault: Fault, clean: Clean) -> Finding:
    return next(one for one in at(report, fault.hop or clean.hop) if one.id == fault.check)


@pytest.mark.parametrize("name", PLANTED)
def test_the_lines_do_what_their_changes_say(
    name: str, clean_apiserver: ApiServer, kubectl: Path, tmp_path: Path
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(clean_apiserver.kubeconfig(clean_apiserver.admin_token))
    kubeconfig.chmod(0o600)
    clean, documents = find(name), objects(find(name))
    for fault in PLANTED[name]:
        fault.plant(documents)
    load(clean_apiserver, documents)
    report = scan(clean_apiserver, clean)
    before = {fault.check: found(report, fault, clean) for fault in PLANTED[name]}
    assert {check for check, finding in before.items() if finding.status != "fail"} == set()
    for finding in before.values():
        for lines in lines_of(finding):
            done = run(lines, kubectl=kubectl, kubeconfig=kubeconfig)
            assert (done.returncode, done.stderr) == (0, ""), lines
    after = scan(clean_apiserver, clean)
    hops = {fault.check: fault.hop or clean.hop for fault in PLANTED[name]}
    left = [check for check, finding in before.items() if not is_fixed(finding, at(after, hops[check]))]
    assert left == []
