import pytest

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.samples.kubernetes_objects import doc, meta
from tests.builders.clusters import a_cluster, reads, remedies, result_of, result_without, without_changes
from tests.builders.newest import NEWEST

CHECK = "deliveries_pin_the_chart"
GOOD = ("pass", "No delivery upgrades Karpenter by itself", ())
NONE = ("not_applicable", "neither Flux nor Argo CD delivers a chart of Karpenter", ())
WANTED = "0.37.8: one version, and the next when it is its turn"
ONE = "1 delivery takes releases beyond the running minor"


def by_flux(chart: str = "karpenter", **version: object):
    spec = {"chart": {"spec": {"chart": chart} | version}}
    metadata = meta("karpenter", "flux-system")
    return a_cluster("0.37.8").with_docs(doc("helm.toolkit.fluxcd.io/v2", "HelmRelease", metadata=metadata, spec=spec))


def by_argo(**source: object):
    spec = {"destination": {"name": "in-cluster"}} | source
    metadata = meta("karpenter", "argocd")
    return a_cluster("0.37.8").with_docs(doc("argoproj.io/v1alpha1", "Application", metadata=metadata, spec=spec))


def a_row(kind: str, path: str, *, seen: str, namespace: str = "argocd"):
    return Evidence(kind=kind, namespace=namespace, name="karpenter", path=path, seen=seen, wanted=WANTED)


@pytest.mark.parametrize("version", ["0.37.8", "v0.37.8", "0.37.x", "~0.37.0", "0.37", ">=0.37.0 <1.0.0", "branch"])
def test_versions_that_stay_within_the_minor(version):
    assert result_of(CHECK, "1.0", by_flux(version=version)) == GOOD


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ({"version": ">=0.37.0"}, f">=0.37.0: takes {NEWEST}"),
        ({"version": "1.0.x"}, "1.0.x: takes 1.0.14"),
        ({"version": "*"}, f"*: takes {NEWEST}"),
        ({}, f"none: takes {NEWEST}"),
    ],
)
def test_a_range_of_flux(given, seen):
    row = a_row("HelmRelease", "spec.chart.spec.version", seen=seen, namespace="flux-system")
    assert result_of(CHECK, "1.0", by_flux(**given)) == ("fail", ONE, (row,))
    assert result_of(CHECK, "1.0", by_flux("karpenter-crd", **given)) == ("fail", ONE, (row,))


def test_a_range_in_an_oci_repository():
    reference = {"kind": "OCIRepository", "name": "karpenter"}
    metadata = meta("karpenter", "flux-system")
    url = "oci://public.ecr.aws/karpenter/karpenter"
    docs = (
        doc("helm.toolkit.fluxcd.io/v2", "HelmRelease", metadata=metadata, spec={"chartRef": reference}),
        doc(
            "source.toolkit.fluxcd.io/v1",
            "OCIRepository",
            metadata=metadata,
            spec={"url": url, "ref": {"semver": "1.x"}},
        ),
    )
    row = a_row("OCIRepository", "spec.ref.semver", seen=f"1.x: takes {NEWEST}", namespace="flux-system")
    assert result_of(CHECK, "1.0", a_cluster("0.37.8").with_docs(*docs)) == ("fail", ONE, (row,))


def test_ranges_of_argo_cd():
    one = by_argo(source={"chart": "karpenter", "targetRevision": "1.*"})
    row = a_row("Application", "spec.source.targetRevision", seen=f"1.*: takes {NEWEST}")
    assert result_of(CHECK, "1.0", one) == ("fail", ONE, (row,))
    several = by_argo(sources=[{"ref": "values"}, {"chart": "karpenter"}])
    row = a_row("Application", "spec.sources[1].targetRevision", seen=f"none: takes {NEWEST}")
    assert result_of(CHECK, "1.0", several) == ("fail", ONE, (row,))
    elsewhere = by_argo(source={"chart": "karpenter", "targetRevision": "*"}, destination={"name": "other"})
    assert result_of(CHECK, "1.0", elsewhere) == NONE


@pytest.mark.parametrize("cluster", [a_cluster(), by_flux("redis", version="*")])
def test_other_charts_are_not_asked(cluster):
    assert result_of(CHECK, "1.0", cluster) == NONE


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_writes_the_running_version():
    found = remedies(CHECK, "1.0", by_flux(version="*"))
    assert found[0].change.body == {"spec": {"chart": {"spec": {"version": "0.37.8"}}}}
    assert found[0].change.undo.body == {"spec": {"chart": {"spec": {"version": "*"}}}}
    text = "# HelmRelease flux-system/karpenter\nspec.chart.spec.version: 0.37.8"
    assert without_changes(found) == (Remedy(how="flux", text=text),)


def test_a_version_that_was_not_there_is_taken_out_again():
    (remedy,) = remedies(CHECK, "1.0", by_argo(sources=[{"chart": "karpenter"}]))
    at = "/spec/sources/0/targetRevision"
    assert remedy.change.body == (
        {"op": "test", "path": at, "value": None},
        {"op": "add", "path": at, "value": "0.37.8"},
    )
    assert remedy.change.undo.body == (
        {"op": "test", "path": at, "value": "0.37.8"},
        {"op": "remove", "path": at},
    )
    (remedy,) = remedies(CHECK, "1.0", by_flux())
    assert remedy.change.undo.body == {"spec": {"chart": {"spec": {"version": None}}}}
