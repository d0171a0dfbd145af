import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import PersonTask
from tests.builders.clusters import a_cluster, an_empty_cluster, helm_crds, reads, remedies, result_of, result_without
from tests.builders.newest import NEWEST, NEWEST_MINOR

CHECK = "optional_crds_installed"
GOOD = ("pass", "The CRDs of optional features are installed", ())
BUFFERS = "capacitybuffers.autoscaling.x-k8s.io"


def newest(running: str = "1.13.1", **marks: str):
    docs = helm_crds(NEWEST)
    for doc in docs:
        if doc["metadata"]["name"] == BUFFERS and marks:
            doc["metadata"]["annotations"] = {"meta.helm.sh/release-name": marks["release"]}
    return a_cluster(running, kubernetes="1.34").without("crds").with_docs(*docs)


def a_row(name: str, seen: str, wanted: str, path: str = "spec.versions") -> tuple[Evidence, ...]:
    return (Evidence(kind="CustomResourceDefinition", name=name, path=path, seen=seen, wanted=wanted),)


def test_they_are_there():
    assert result_of(CHECK, NEWEST_MINOR, a_cluster("1.13.1", kubernetes="1.34")) == GOOD
    assert result_of(CHECK, NEWEST_MINOR, newest()) == GOOD


def test_one_is_missing():
    cluster = a_cluster("1.13.1", kubernetes="1.34").without("crds").with_docs(*helm_crds("1.6.5"))
    rows = a_row("nodeoverlays.karpenter.sh", "absent", "v1alpha1")
    assert result_of(CHECK, NEWEST_MINOR, cluster) == (
        "fail",
        "1 CRD of an optional feature is missing or not Karpenter's",
        rows,
    )
    assert "--version 1.13.1 --namespace kube-system \\\n" in remedies(CHECK, NEWEST_MINOR, cluster)[0].text


def test_it_belongs_to_somebody_else():
    cluster = newest(release="cluster-autoscaler", running="1.14.0")
    wanted = "karpenter-crd, or upgraded with care"
    rows = a_row(BUFFERS, "belongs to cluster-autoscaler", wanted, path="metadata")
    assert result_of(CHECK, NEWEST_MINOR, cluster) == (
        "fail",
        "1 CRD of an optional feature is missing or not Karpenter's",
        rows,
    )
    (remedy,) = remedies(CHECK, NEWEST_MINOR, cluster)
    assert isinstance(remedy.change, PersonTask)
    assert "helm upgrade" not in remedy.text  # Helm would refuse the chart


def test_before_1_7_there_is_none():
    found = result_of(CHECK, "1.0", a_cluster())
    assert found == ("not_applicable", "0.37.8 ships no CRD of an optional feature", ())


def test_without_a_controller_it_is_open():
    assert result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")[0] == "unknown"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")
