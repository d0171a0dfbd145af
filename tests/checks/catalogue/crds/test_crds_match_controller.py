import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import HelmChange
from migrations_app.samples.installation import Crds, crds
from tests.builders.clusters import a_cluster, an_empty_cluster, helm_crds, reads, remedies, result_of, result_without
from tests.builders.newest import NEWEST_MINOR

CHECK = "crds_match_controller"
GOOD = ("pass", "The CRDs match the running version", ())
THREE = ("ec2nodeclasses.karpenter.k8s.aws", "nodeclaims.karpenter.sh", "nodepools.karpenter.sh")


def wrong(name: str, seen: str, wanted: str) -> Evidence:
    return Evidence(kind="CustomResourceDefinition", name=name, path="spec.versions", seen=seen, wanted=wanted)


@pytest.mark.parametrize(
    ("version", "hop"),
    [("0.30.0", "0.31"), ("0.32.10", "0.33+"), ("0.37.8", "1.0"), ("1.0.14", "1.1+"), ("1.3.3", NEWEST_MINOR)],
)
def test_the_crds_of_the_release(version, hop):
    assert result_of(CHECK, hop, a_cluster(version, kubernetes="1.28")) == GOOD


def test_the_crds_of_the_hop_may_be_there_already():
    cluster = a_cluster().without("crds").with_docs(*helm_crds("1.0.14"))
    assert result_of(CHECK, "1.0", cluster) == GOOD


def test_between_crds_and_controller_the_kinds_that_the_hop_ends_may_be_gone():
    """The chart karpenter-crd of 0.33 and later deletes the alpha CRDs: going on is right, not bringing 0.32 back."""
    half_way = a_cluster("0.32.10", kubernetes="1.28").without("crds").with_docs(*helm_crds("0.37.8"))
    assert result_of(CHECK, "0.33+", half_way) == GOOD
    lost = [crd for crd in helm_crds("0.32.10") if crd["metadata"]["name"] in THREE]
    status, _, rows = result_of(CHECK, "0.33+", half_way.without("crds").with_docs(*lost))
    assert (status, {row.seen for row in rows}) == ("fail", {"absent"})


OVERLAYS, BUFFERS = "nodeoverlays.karpenter.sh", "capacitybuffers.autoscaling.x-k8s.io"


def without_overlays(gates: str):
    kept = [crd for crd in helm_crds("1.8.8") if crd["metadata"]["name"] != OVERLAYS]
    cluster = a_cluster("1.8.8", kubernetes="1.33", env={"FEATURE_GATES": gates})
    return cluster.without("crds").with_docs(*kept)


def test_an_optional_crd_is_needed_where_its_gate_is_on():
    """The controller watches the kind then, and ends where nothing serves it."""
    found = result_of(CHECK, "1.9", without_overlays("ReservedCapacity=true,NodeOverlay=true"))
    row = wrong(OVERLAYS, "absent", "v1alpha1 (stored)")
    assert found == ("fail", "1 CRD does not match the running version", (row,))
    assert result_of(CHECK, "1.9", without_overlays("NodeOverlay=false")) == GOOD


def test_capacity_buffers_of_another_project_may_have_more_versions():
    docs = helm_crds("1.14.1")
    (buffers,) = (crd for crd in docs if crd["metadata"]["name"] == BUFFERS)
    buffers["spec"]["versions"].append({"name": "v1alpha1", "served": True, "storage": False})
    on = a_cluster("1.14.0", kubernetes="1.34", env={"FEATURE_GATES": "CapacityBuffer=true"})
    assert result_of(CHECK, NEWEST_MINOR, on.without("crds").with_docs(*docs), start="1.14.0") == GOOD
    buffers["spec"]["versions"][0]["served"] = False
    found = result_of(CHECK, NEWEST_MINOR, on.without("crds").with_docs(*docs), start="1.14.0")
    assert [(row.name, row.wanted) for row in found[2]] == [(BUFFERS, "v1beta1 (stored)")]


def test_crds_of_an_older_release():
    found = result_of(CHECK, "1.1+", a_cluster("1.0.14").without("crds").with_docs(*helm_crds("0.37.8")))
    assert found[:2] == ("fail", "3 CRDs do not match the running version")
    assert sorted(found[2], key=lambda row: row.name) == [
        wrong(name, "v1, v1beta1 (stored)", "v1 (stored), v1beta1") for name in THREE
    ]


def test_a_crd_that_is_missing():
    shipped = [crd for crd in helm_crds("0.37.8") if crd["metadata"]["name"] != "nodeclaims.karpenter.sh"]
    found = result_of(CHECK, "1.0", a_cluster().without("crds").with_docs(*shipped))
    row = wrong("nodeclaims.karpenter.sh", "absent", "v1, v1beta1 (stored)")
    assert found == ("fail", "1 CRD does not match the running version", (row,))


def test_alpha_crds_left_behind_do_not_matter():
    assert result_of(CHECK, "1.0", a_cluster().with_docs(*crds(Crds(version="0.30.0")))) == GOOD


def test_a_feature_of_later_minors_is_not_missed():
    assert result_of(CHECK, NEWEST_MINOR, a_cluster("1.8.8").without("crds").with_docs(*helm_crds("1.3.3"))) == GOOD


def test_a_crd_without_versions_serves_nothing():
    odd = helm_crds("0.37.8")
    odd[0]["spec"]["versions"] = None
    found = result_of(CHECK, "1.0", a_cluster().without("crds").with_docs(*odd))
    assert [row.seen for row in found[2]] == ["nothing served"]


def test_an_unknown_release_is_unknown():
    found = result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")
    why = "the CRDs of the running release are not known: there is no Karpenter Deployment"
    assert found == ("unknown", why, ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_spells_the_chart_version_of_the_time():
    first = remedies(CHECK, "0.33+", a_cluster("0.32.10", kubernetes="1.28").without("crds"))[0]
    upgrade = "helm upgrade --install karpenter-crd oci://public.ecr.aws/karpenter/karpenter-crd --version v0.32.10 "
    assert f"{upgrade}--namespace kube-system" in first.text
    assert isinstance(first.change, HelmChange)
    assert (first.change.chart, first.change.version, first.change.when) == ("karpenter-crd", "0.32.10", "before")


def test_after_a_rollback_too_far_the_crds_of_the_target_are_brought():
    """The API server refuses the CRDs of 0.33.0, which lack the stored v1; those of the latest patch serve it."""
    left = crds(Crds(version="1.0.14", stored=("v1beta1", "v1")))
    first = remedies(CHECK, "0.33+", a_cluster("0.33.0", kubernetes="1.28").without("crds").with_docs(*left))[0]
    assert isinstance(first.change, HelmChange)
    assert (first.change.version, first.change.when, first.change.needs) == ("0.33.12", "landing", ())
