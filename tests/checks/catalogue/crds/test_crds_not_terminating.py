import pytest

from migrations_app.checks.base import Evidence
from tests.builders.clusters import a_cluster, an_empty_cluster, helm_crds, reads, remedies, result_of, result_without

CHECK = "crds_not_terminating"
NAME = "nodepools.karpenter.sh"
TIME = '"$(date -u +%Y%m%dT%H%M%SZ)"'


def a_dying(**metadata):
    first, *rest = helm_crds("0.37.8")
    first["metadata"] |= metadata
    return a_cluster().without("crds").with_docs(first, *rest), first


def row(seen: str) -> tuple[str, str, tuple[Evidence, ...]]:
    path = "metadata.deletionTimestamp"
    evidence = Evidence(kind="CustomResourceDefinition", name=NAME, path=path, seen=seen, wanted="absent")
    return "fail", "1 CRD is being deleted", (evidence,)


def test_nothing_is_being_deleted():
    assert result_of(CHECK, "1.0", a_cluster()) == ("pass", "No CRD is being deleted", ())


def test_a_deletion_timestamp():
    assert result_of(CHECK, "1.0", a_dying(deletionTimestamp="2026-10-01T10:00:00Z")[0]) == row("2026-10-01T10:00:00Z")


@pytest.mark.parametrize(("status", "wanted"), [("True", "fail"), ("False", "pass")])
def test_the_condition_terminating(status, wanted):
    first, *rest = helm_crds("0.37.8")
    first["status"]["conditions"].append({"type": "Terminating", "status": status})
    assert result_of(CHECK, "1.0", a_cluster().without("crds").with_docs(first, *rest))[0] == wanted


def test_a_crd_without_status_is_not_terminating():
    first, *rest = helm_crds("0.37.8")
    del first["status"]
    assert result_of(CHECK, "1.0", a_cluster().without("crds").with_docs(first, *rest))[0] == "pass"


def test_without_crds_there_is_nothing_to_ask():
    found = result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")
    assert found == ("not_applicable", "no CRD of Karpenter is installed", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_saves_first():
    (remedy,) = remedies(CHECK, "1.0", a_dying(deletionTimestamp="2026-10-01T10:00:00Z")[0])
    assert remedy.text.splitlines()[1] == f"kubectl get {NAME} -o yaml > karpenter-objects-{TIME}.yaml"
    task, reason = remedy.text.splitlines()[3:5]
    assert task.endswith("install the CRDs anew, then create the saved pools and classes")
    assert reason.endswith("a claim that is created again launches an instance of its own")
