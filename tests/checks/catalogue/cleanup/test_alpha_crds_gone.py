import pytest

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.samples.installation import Crds, crds
from migrations_app.samples.karpenter_objects import ON_DEMAND, provisioner
from tests.builders.clusters import (
    a_cluster,
    an_empty_cluster,
    asked_hops,
    finding_of,
    reads,
    remedies,
    result_of,
    result_without,
    without_changes,
)

CHECK = "alpha_crds_gone"
GOOD = ("pass", "No alpha CRD is left", ())
NAMES = ("provisioners.karpenter.sh", "machines.karpenter.sh", "awsnodetemplates.karpenter.k8s.aws")


def with_alpha_crds():
    return a_cluster().with_docs(*crds(Crds(version="0.30.0")))


def left(name: str, seen: str) -> Evidence:
    return Evidence(kind="CustomResourceDefinition", name=name, path="metadata.name", seen=seen, wanted="absent")


def test_none_is_left():
    assert result_of(CHECK, "1.0", a_cluster()) == GOOD
    assert result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8") == GOOD


def test_the_three_of_alpha():
    rows = tuple(left(name, "v1alpha1" if "templates" in name else "v1alpha5") for name in NAMES)
    assert result_of(CHECK, "1.0", with_alpha_crds()) == ("fail", "3 alpha CRDs still exist", rows)


def test_one_that_serves_nothing():
    docs = crds(Crds(version="0.30.0"))[:1]
    docs[0]["spec"]["versions"] = []
    found = result_of(CHECK, "1.0", a_cluster().with_docs(*docs))
    assert found == ("fail", "1 alpha CRD still exists", (left(NAMES[0], "not served"),))


def test_it_is_tidying_up_and_asked_from_1_0_on():
    assert finding_of(CHECK, "1.0", with_alpha_crds()).severity == "info"
    assert asked_hops(CHECK)[0] == "1.0"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_deletes_them_while_they_are_empty():
    first = "# Only while no object of these kinds is left; each line looks first"
    empty = "kubectl get {0} -o 'jsonpath={{.kind}}{{.items[*].metadata.name}}' | grep -qx List"
    told = "echo 'not deleted: crd {0}; look first at: kubectl get {0}' >&2; false"
    line = f"if {empty}; then kubectl delete crd {{0}}; else {told}; fi"
    text = "\n".join((first, *(line.format(name) for name in NAMES)))
    assert without_changes(remedies(CHECK, "1.0", with_alpha_crds())) == (Remedy(how="kubectl", text=text),)


CHART_MARKS = {"meta.helm.sh/release-name": "karpenter-crd", "meta.helm.sh/release-namespace": "kube-system"}
TRACKED = {"argocd.argoproj.io/tracking-id": "karpenter-crd:apiextensions.k8s.io/CustomResourceDefinition:/x"}


@pytest.mark.parametrize(
    ("marks", "first"),
    [
        (CHART_MARKS, "kubectl"),
        (TRACKED, "kubectl"),
        ({"argocd.argoproj.io/tracking-id": "platform:apiextensions.k8s.io/CustomResourceDefinition:/x"}, "argocd"),
    ],
)
def test_what_a_chart_has_left_behind_is_not_looked_for_in_the_chart(marks, first):
    """From 0.33 on no chart holds them; what Git holds is taken out there."""
    cluster = a_cluster().with_docs(*crds(Crds(version="0.30.0", annotations=marks)))
    assert remedies(CHECK, "1.0", cluster)[0].how == first


def test_while_an_object_is_left_nothing_is_offered():
    cluster = with_alpha_crds().with_docs(provisioner("web", ON_DEMAND, template="default"))
    assert remedies(CHECK, "1.0", cluster) == ()
