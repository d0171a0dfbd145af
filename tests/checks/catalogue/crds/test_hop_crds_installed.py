import pytest

from migrations_app.checks.base import Evidence
from tests.builders.clusters import a_cluster, helm_crds, reads, remedies, result_of, result_without
from tests.builders.newest import NEWEST_MINOR, NEWEST_RELEASE

CHECK = "hop_crds_installed"
GOOD = ("pass", "The CRDs of the target version are installed", ())


def missing(name: str, seen: str, wanted: str) -> Evidence:
    return Evidence(kind="CustomResourceDefinition", name=name, path="spec.versions", seen=seen, wanted=wanted)


def test_crds_go_first():
    assert result_of(CHECK, "1.0", a_cluster().without("crds").with_docs(*helm_crds("1.0.14"))) == GOOD


def test_what_the_hop_still_has_to_install():
    found = result_of(CHECK, "0.32", a_cluster("0.31.4", kubernetes="1.26"))
    assert found[:2] == ("fail", "3 CRDs must be upgraded before the controller")
    assert found[2] == (
        missing("nodepools.karpenter.sh", "absent", "v1beta1; stored v1beta1"),
        missing("nodeclaims.karpenter.sh", "absent", "v1beta1; stored v1beta1"),
        missing("ec2nodeclasses.karpenter.k8s.aws", "absent", "v1beta1; stored v1beta1"),
    )


def test_another_stored_version_counts():
    found = result_of(CHECK, "1.0", a_cluster())
    assert found[2][0] == missing("nodepools.karpenter.sh", "v1, v1beta1; stored v1beta1", "v1, v1beta1; stored v1")


def test_later_minors_bring_kinds_of_their_own_and_change_the_fields_of_the_others():
    found = result_of(CHECK, NEWEST_MINOR, a_cluster("1.3.3"))
    assert found[1] == "5 CRDs must be upgraded before the controller"
    pools, claims, classes, overlays, buffers = found[2]
    assert [pools.name, claims.name, classes.name] == [
        "nodepools.karpenter.sh",
        "nodeclaims.karpenter.sh",
        "ec2nodeclasses.karpenter.k8s.aws",
    ]
    assert claims.seen == "v1; stored v1; without spec.requirements[].operator=Gte"
    assert (overlays, buffers) == (
        missing("nodeoverlays.karpenter.sh", "absent", "v1alpha1; stored v1alpha1"),
        missing("capacitybuffers.autoscaling.x-k8s.io", "absent", "v1beta1; stored v1beta1"),
    )


def test_the_same_versions_without_a_field_of_the_hops_release():
    cluster = a_cluster("1.9.0", kubernetes="1.33")
    assert result_of(CHECK, NEWEST_MINOR, cluster)[0] == "fail"
    landed = cluster.without("crds").with_docs(*helm_crds(str(NEWEST_RELEASE)))
    assert result_of(CHECK, NEWEST_MINOR, landed) == GOOD


def test_a_schema_that_was_not_seen_leaves_it_open():
    docs = helm_crds("1.0.14")
    for one in docs:
        for version in one["spec"]["versions"]:
            version.pop("schema")
    assert result_of(CHECK, "1.0", a_cluster().without("crds").with_docs(*docs))[0] == "unknown"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_names_the_release_of_the_hop():
    assert "--version 1.0.14 --namespace karpenter" in remedies(CHECK, "1.0", a_cluster(namespace="karpenter"))[0].text
