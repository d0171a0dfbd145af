import pytest

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.samples.kubernetes_objects import doc, meta
from tests.builders.clusters import a_cluster, reads, remedies, result_of, result_without, without_changes

CHECK = "deliveries_name_the_chart"
GOOD = ("pass", "Every chart version that GitOps requests exists", ())
NONE = ("not_applicable", "no Flux HelmRelease and no Argo CD Application names a chart of Karpenter", ())


def by_flux(version: object, chart: object = "karpenter"):
    spec = {"chart": {"spec": {"chart": chart, "version": version}}}
    return a_cluster().with_docs(
        doc("helm.toolkit.fluxcd.io/v2", "HelmRelease", metadata=meta("karpenter", "flux-system"), spec=spec)
    )


def by_argo(version: object, chart: str = "karpenter-crd"):
    spec = {"source": {"chart": chart, "targetRevision": version}}
    return a_cluster().with_docs(
        doc("argoproj.io/v1alpha1", "Application", metadata=meta("karpenter", "argocd"), spec=spec)
    )


@pytest.mark.parametrize("version", ["0.37.8", "v0.34.13", "1.0.14", "1.x", ">=1.0.0", "", "9.9.9"])
def test_versions_that_exist_or_are_ranges(version):
    assert result_of(CHECK, "1.0", by_flux(version)) == GOOD


@pytest.mark.parametrize(("given", "wanted"), [("v0.37.8", "0.37.8"), ("0.34.13", "v0.34.13"), ("v1.0.14", "1.0.14")])
def test_the_other_spelling(given, wanted):
    what = {"kind": "HelmRelease", "namespace": "flux-system", "name": "karpenter"}
    row = Evidence(**what, path="spec.chart.spec.version", seen=given, wanted=wanted)
    assert result_of(CHECK, "1.0", by_flux(given)) == ("fail", "1 requested chart version does not exist", (row,))
    what = {"kind": "Application", "namespace": "argocd", "name": "karpenter"}
    row = Evidence(**what, path="spec.source.targetRevision", seen=given, wanted=wanted)
    assert result_of(CHECK, "1.0", by_argo(given)) == ("fail", "1 requested chart version does not exist", (row,))


@pytest.mark.parametrize("cluster", [a_cluster(), by_flux("v0.37.8", "redis"), by_flux("v0.37.8", None)])
def test_other_charts_are_not_asked(cluster):
    assert result_of(CHECK, "1.0", cluster) == NONE


def by_oci(tag: str, url: str = "oci://public.ecr.aws/karpenter/karpenter"):
    ref = {"kind": "OCIRepository", "name": "karpenter"}
    release = doc(
        "helm.toolkit.fluxcd.io/v2", "HelmRelease", metadata=meta("karpenter", "flux-system"), spec={"chartRef": ref}
    )
    spec = {"url": url, "ref": {"tag": tag}}
    version = "source.toolkit.fluxcd.io/v1"
    source = doc(version, "OCIRepository", metadata=meta("karpenter", "flux-system"), spec=spec)
    return a_cluster().with_docs(release, source)


def test_the_tag_of_an_oci_repository_is_a_version_too():
    what = {"kind": "OCIRepository", "namespace": "flux-system", "name": "karpenter"}
    row = Evidence(**what, path="spec.ref.tag", seen="v1.0.14", wanted="1.0.14")
    assert result_of(CHECK, "1.0", by_oci("v1.0.14")) == ("fail", "1 requested chart version does not exist", (row,))
    assert result_of(CHECK, "1.0", by_oci("1.0.14")) == GOOD
    assert result_of(CHECK, "1.0", by_oci("v1.0.14", "oci://public.ecr.aws/other/redis")) == NONE


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_spells_it():
    found = remedies(CHECK, "1.0", by_flux("v0.37.8"))
    assert found[0].change.body == {"spec": {"chart": {"spec": {"version": "0.37.8"}}}}
    assert found[0].change.undo.body == {"spec": {"chart": {"spec": {"version": "v0.37.8"}}}}
    assert without_changes(found) == (
        Remedy(how="flux", text="# HelmRelease flux-system/karpenter\nspec.chart.spec.version: 0.37.8"),
    )


def by_several_sources(version: str, **first: object):
    values = {"repoURL": "https://git.example/values.git", "targetRevision": "main", "ref": "values"}
    spec = {"sources": [values, {"chart": "karpenter", "targetRevision": version} | first]}
    return a_cluster().with_docs(
        doc("argoproj.io/v1alpha1", "Application", metadata=meta("karpenter", "argocd"), spec=spec)
    )


@pytest.mark.parametrize("first", [{}, {"chart": None, "repoURL": "oci://public.ecr.aws/karpenter/karpenter"}])
def test_one_of_several_sources_names_the_version(first):
    what = {"kind": "Application", "namespace": "argocd", "name": "karpenter"}
    row = Evidence(**what, path="spec.sources[1].targetRevision", seen="v1.0.14", wanted="1.0.14")
    found = by_several_sources("v1.0.14", **first)
    assert result_of(CHECK, "1.0", found) == ("fail", "1 requested chart version does not exist", (row,))
    assert result_of(CHECK, "1.0", by_several_sources("1.0.14", **first)) == GOOD
    (remedy,) = remedies(CHECK, "1.0", found)
    at = "/spec/sources/1/targetRevision"
    assert remedy.change.body == (
        {"op": "test", "path": at, "value": "v1.0.14"},
        {"op": "replace", "path": at, "value": "1.0.14"},
    )
    assert remedy.change.undo.body == (
        {"op": "test", "path": at, "value": "1.0.14"},
        {"op": "replace", "path": at, "value": "v1.0.14"},
    )
