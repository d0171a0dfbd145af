from dataclasses import replace

import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.catalogue.preflight.karpenter_lists_answer import LISTS, check
from migrations_app.inventory.parts import NOT_CONVERTED, OtherVersion, Seen, Unseen
from tests.builders.clusters import a_cluster, case_at, finding_of, reads, remedies, result_of, result_without
from tests.builders.newest import NEWEST_MINOR

CHECK = "karpenter_lists_answer"
GOOD = ("pass", "The API server lists Karpenter's objects, nodes and pods", ())


def failing(part: str, why: str = "server_failed"):
    return result_of(CHECK, "1.0", a_cluster().unseen(part, why=why), start="0.37.8")


def test_every_list_answers():
    assert result_of(CHECK, "1.0", a_cluster()) == GOOD


def test_a_list_behind_a_broken_conversion_is_a_finding_of_its_own():  # R16
    row = Evidence(
        kind="NodeClaim", name="nodeclaims.karpenter.sh", path="list", seen="conversion_failed", wanted="a list"
    )
    assert failing("nodeclaims", "conversion_failed") == ("fail", "Listing nodeclaims.karpenter.sh fails", (row,))


def test_the_evidence_tells_what_the_server_said():
    case = case_at("1.0", a_cluster())
    inventory = replace(case.inventory, nodes=Unseen("timeout", "nodes: HTTP 504"))
    assert [row.seen for row in check.ask(replace(case, inventory=inventory))] == ["timeout: nodes: HTTP 504"]


def in_another_version(why: str):
    case = case_at("1.0", a_cluster())
    read = Seen((), "karpenter.sh/v1beta1", other_version=OtherVersion("karpenter.sh/v1", why, "webhook failed"))
    return check.ask(replace(case, inventory=replace(case.inventory, nodepools=read)))


def test_a_list_that_answers_in_another_version_only_fails_all_the_same():  # D5
    seen = "karpenter.sh/v1 conversion_failed, read as karpenter.sh/v1beta1: webhook failed"
    (row,) = in_another_version("conversion_failed")
    assert (row.name, row.seen) == ("nodepools.karpenter.sh", seen)


def test_a_list_that_converts_nothing_answers():
    assert in_another_version(NOT_CONVERTED) == ()


@pytest.mark.parametrize("part", LISTS)
def test_each_list_counts(part):
    status, headline, rows = failing(part)
    assert (status, headline) == ("fail", f"Listing {rows[0].name} fails")


@pytest.mark.parametrize("why", ["timeout", "unreachable", "cut", "garbled", "endless_list", "expired", "throttled"])
def test_every_failure_of_the_server_counts(why):
    assert failing("pods", why)[:2] == ("fail", "Listing pods fails")


@pytest.mark.parametrize("why", ["forbidden", "unauthorized", "not_asked", "too_large", "scan_too_large"])
def test_a_list_not_tried_to_its_end_leaves_it_unknown(why):  # R15
    expected = f"cannot tell whether these lists answer: nodeclaims.karpenter.sh ({why})"
    assert failing("nodeclaims", why) == ("unknown", expected, ())


def test_a_failure_is_certain_beside_what_is_forbidden():
    cluster = a_cluster().unseen("machines").unseen("nodes", why="timeout")
    assert result_of(CHECK, "1.0", cluster)[:2] == ("fail", "Listing nodes fails; there may be more")


@pytest.mark.parametrize("part", ["deployments", "helm_releases", "webhooks", "pdbs"])
def test_other_lists_are_not_asked_about(part):
    assert failing(part) == GOOD


@pytest.mark.parametrize("hop", ["0.33+", "1.0", "1.1+", NEWEST_MINOR])
def test_it_blocks_every_hop(hop):
    cluster = a_cluster("0.32.10").unseen("nodeclaims", why="conversion_failed")
    found = finding_of(CHECK, hop, cluster)
    assert (found.status, found.severity) == ("fail", "blocker")


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_asks_the_server_the_same():
    (remedy,) = remedies(CHECK, "1.0", a_cluster().unseen("nodes", why="timeout"))
    assert remedy.text.splitlines()[1:] == ["kubectl get nodes -A -o name"]


def test_a_broken_conversion_is_followed_to_its_service():
    cluster = a_cluster().unseen("nodes", why="timeout").unseen("nodeclaims", why="conversion_failed")
    first, second = remedies(CHECK, "1.0", cluster)
    assert "kubectl get nodeclaims.karpenter.sh -A -o name" in first.text.splitlines()
    assert second.text.splitlines()[1:] == [
        "kubectl get crd nodeclaims.karpenter.sh -o 'jsonpath={.spec.conversion}'",
        "kubectl get services,endpoints -A -l app.kubernetes.io/name=karpenter",
    ]


def test_objects_of_a_version_that_is_gone_need_it_again():  # CRD-10
    lost = a_cluster("1.1.9", kubernetes="1.31").unseen("nodeclaims", why="stored_version_gone")
    _, second = remedies(CHECK, NEWEST_MINOR, lost)
    columns = "custom-columns=NAME:.metadata.name,VERSIONS:.spec.versions[*].name,STORED:.status.storedVersions"
    assert second.text.splitlines() == [
        "# Objects are stored in a version that the CRD lacks: until it is back, garbage collection waits everywhere",
        f"kubectl get crd nodeclaims.karpenter.sh -o '{columns}'",
        "# For a person: install the CRDs and the controller of 1.0.14 again: it reads these objects and rewrites them",
        "# the API server neither reads nor deletes what it cannot convert",
        "# Look at: stored_versions_clean, once they are rewritten, and then this upgrade again",
    ]
