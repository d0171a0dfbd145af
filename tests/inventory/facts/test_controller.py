import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.inventory.facts.controller import ABSENT, given_values, helm_release, installation, value_at
from migrations_app.samples.kubernetes_objects import doc, meta
from tests.builders.clusters import a_cluster, an_empty_cluster

VALUES = {"settings": {"clusterName": "shop"}}


def flux(chart: object = "karpenter", **spec):
    whole = {"chart": {"spec": {"chart": chart}}, "values": VALUES} | spec
    return doc("helm.toolkit.fluxcd.io/v2", "HelmRelease", metadata=meta("karpenter", "flux-system"), spec=whole)


def argo(**helm):
    spec = {"source": {"chart": "karpenter", "helm": {"valuesObject": VALUES} | helm}}
    return doc("argoproj.io/v1alpha1", "Application", metadata=meta("platform", "argocd"), spec=spec)


def of_sources(*sources):
    return doc("argoproj.io/v1alpha1", "Application", metadata=meta("platform", "argocd"), spec={"sources": [*sources]})


def test_the_installed_controller():
    found = installation(a_cluster(namespace="karpenter", env={"CLUSTER_NAME": "shop"}).build())
    assert (found.namespace, found.name, found.release_name) == ("karpenter", "karpenter", "karpenter")
    assert found.env == {"CLUSTER_NAME": "shop"}
    assert (found.managed.by, found.managed.name) == ("helm", "karpenter")


def test_a_gitops_object_speaks_for_it():
    assert installation(a_cluster().with_docs(argo()).build()).managed.by == "argocd"


def test_without_helm_marks_the_labels_name_the_release():
    assert installation(a_cluster(helm=False).build()).release_name == "karpenter"


@pytest.mark.parametrize("cluster", [an_empty_cluster(), an_empty_cluster().unseen("controller")])
def test_no_controller(cluster):
    assert installation(cluster.build()) is None


def test_values_of_the_helm_record_come_first():
    cluster = a_cluster().with_values({"replicas": 1}).with_docs(flux())
    found = given_values(cluster.build())
    assert (found.origin, found.tree, found.path) == ("Helm release record", {"replicas": 1}, "config")


@pytest.mark.parametrize(("delivery", "path"), [(flux(), "spec.values"), (argo(), "spec.source.helm.valuesObject")])
def test_values_of_a_gitops_object(delivery, path):
    found = given_values(a_cluster().with_docs(delivery).build())
    assert (found.kind, found.tree, found.path) == (delivery["kind"], VALUES, path)


def test_values_of_one_of_several_sources():
    source = {"chart": "karpenter", "helm": {"valuesObject": VALUES}}
    spec = {"sources": [{"ref": "values"}, source]}
    delivery = doc("argoproj.io/v1alpha1", "Application", metadata=meta("platform", "argocd"), spec=spec)
    found = given_values(a_cluster().with_docs(delivery).build())
    assert (found.tree, found.path) == (VALUES, "spec.sources[1].helm.valuesObject")
    source["helm"]["valueFiles"] = ["$values/karpenter.yaml"]
    assert given_values(a_cluster().with_docs(delivery).build()) is None


def test_values_beside_a_chart_of_an_oci_repository():
    metadata, reference = meta("karpenter", "flux-system"), {"kind": "OCIRepository", "name": "karpenter"}
    release = doc(
        "helm.toolkit.fluxcd.io/v2",
        "HelmRelease",
        metadata=metadata,
        spec={"chartRef": reference, "values": VALUES},
    )
    spec = {"url": "oci://public.ecr.aws/karpenter/karpenter", "ref": {"tag": "1.0.14"}}
    source = doc("source.toolkit.fluxcd.io/v1", "OCIRepository", metadata=metadata, spec=spec)
    found = given_values(a_cluster().with_docs(release, source).build())
    assert (found.tree, found.path) == (VALUES, "spec.values")


@pytest.mark.parametrize(
    ("delivery", "path", "tree"),
    [
        (argo(valuesObject=None, values="settings: {clusterName: shop}"), "spec.source.helm.values", VALUES),
        (argo(values="replicas: 3"), "spec.source.helm.valuesObject", VALUES),
        (argo(valuesObject={}, values="# nothing yet"), "spec.source.helm.values", {}),
        (
            of_sources({"ref": "other"}, {"chart": "karpenter", "helm": {"values": "replicas: 3"}}),
            "spec.sources[1].helm.values",
            {"replicas": 3},
        ),
    ],
)
def test_values_as_text_and_of_one_among_several_sources(delivery, path, tree):
    found = given_values(a_cluster().with_docs(delivery).build())
    assert (found.path, found.tree) == (path, tree)


@pytest.mark.parametrize(
    "delivery",
    [
        flux("karpenter-crd"),
        flux(None),
        flux(valuesFrom=[{"kind": "Secret", "name": "x"}]),
        flux(values="odd"),
        flux(values=[]),
        flux(values=""),
        argo(valuesObject={}, values="- a list"),
        argo(valuesObject={}, values="{not: [yaml"),
        argo(valuesObject={}, values=7),
        argo(valueFiles=["$values/karpenter.yaml"]),
        of_sources({"chart": "karpenter"}, {"chart": "karpenter"}),
        of_sources({"chart": "karpenter", "helm": {"valueFiles": ["$values/prod.yaml"]}}, {"ref": "values"}),
        argo(parameters=[{"name": "a", "value": "b"}]),
        argo(valuesObject=[]),
    ],
)
def test_values_that_are_not_told_in_full(delivery):
    assert given_values(a_cluster().with_docs(delivery).build()) is None


def test_of_several_records_that_of_the_controller_counts():
    """A move from the namespace karpenter to kube-system leaves a record that comes first by name."""
    left, own = (
        a_cluster().with_values({"replicas": 2}, version=version, namespace=home).build().helm_releases.items[0]
        for version, home in (("0.32.10", "karpenter"), ("0.37.8", "kube-system"))
    )
    other = msgspec.structs.replace(own, name="spare")
    crds = [msgspec.structs.replace(one, chart="karpenter-crd", name="karpenter-crd") for one in (left, own)]
    inventory = a_cluster("0.37.8").with_items("helm_releases", left, other, own, *crds).build()
    assert helm_release(inventory) == own
    assert helm_release(inventory, chart="karpenter-crd") == crds[1]
    elsewhere = a_cluster("0.37.8").with_items("helm_releases", left).build()
    assert helm_release(elsewhere) == left


def test_a_helm_release_by_chart():
    inventory = a_cluster().with_values({}).build()
    assert helm_release(inventory).name == "karpenter"
    assert helm_release(inventory, chart="karpenter-crd") is None


@pytest.mark.parametrize(
    ("tree", "key", "wanted"),
    [
        ({"a": {"b": 1}}, "a.b", 1),
        ({"a": {"b": False}}, "a.b", False),
        ({"a": {"b": None}}, "a.b", ABSENT),
        ({"a": 1}, "a.b", ABSENT),
        ({}, "a", ABSENT),
    ],
)
def test_a_value_at_a_key(tree, key, wanted):
    assert value_at(tree, key) is wanted or value_at(tree, key) == wanted


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(tree=st.dictionaries(st.sampled_from("ab"), JSON, max_size=2), key=st.sampled_from(["a", "a.b", "b.a.b"]))
def test_any_tree_has_a_value_or_none(tree, key):
    found = value_at(tree, key)
    assert found is ABSENT or found is not None
