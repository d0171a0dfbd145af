import pytest

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.inventory.objects.karpenter import ServedResource
from tests.builders.clusters import (
    a_cluster,
    an_empty_cluster,
    reads,
    remedies,
    result_of,
    result_without,
    without_changes,
)

CHECK = "crds_served"
GOOD = ("pass", "The API server serves every version that a CRD declares", ())
PLURALS = (("karpenter.sh", "nodepools"), ("karpenter.sh", "nodeclaims"), ("karpenter.k8s.aws", "ec2nodeclasses"))


def serving(*versions: str):
    found = [
        ServedResource(group=group, version=version, plural=plural, kind="", namespaced=False)
        for group, plural in PLURALS
        for version in versions
    ]
    return a_cluster().with_items("discovery", *found)


def test_all_versions_are_served():
    assert result_of(CHECK, "1.0", serving("v1beta1", "v1")) == GOOD


def test_one_version_is_not():
    found = result_of(CHECK, "1.0", serving("v1beta1"))
    assert found[:2] == ("fail", "3 versions of CRDs are not served")
    assert found[2][0] == Evidence(
        kind="CustomResourceDefinition",
        name="nodepools.karpenter.sh",
        path="spec.versions",
        seen="v1 is not in discovery",
        wanted="karpenter.sh/v1 served",
    )


def test_an_api_group_that_did_not_answer_leaves_it_unknown():
    cluster = serving("v1beta1", "v1").quarantined("discovery", name="metrics.k8s.io/v1beta1")
    why = "1 of discovery could not be read, first metrics.k8s.io/v1beta1 at $.spec"
    assert result_of(CHECK, "1.0", cluster) == ("unknown", why, ())


def test_without_crds_there_is_nothing_to_ask():
    found = result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")
    assert found == ("not_applicable", "no CRD of Karpenter is installed", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_looks_at_the_conditions_of_each_once():
    name = "nodepools.karpenter.sh"
    (remedy,) = remedies(CHECK, "1.0", serving())
    assert without_changes([remedy]) == (Remedy(how="kubectl", text=remedy.text),)
    assert remedy.text.splitlines()[0] == f"kubectl get crd {name} -o 'jsonpath={{.status.conditions}}'"
    assert len(remedy.text.splitlines()) == 3
