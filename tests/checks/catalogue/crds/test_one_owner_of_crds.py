import pytest

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.samples.kubernetes_objects import doc, meta
from tests.builders.clusters import a_cluster, asked_hops, reads, remedies, result_of, result_without, without_changes

CHECK = "one_owner_of_crds"
GOOD = ("pass", "Only one source applies the CRDs", ())
ONE = "1 GitOps object applies the CRDs of the controller's chart"
NOBODY = ("not_applicable", "no Flux HelmRelease and no Argo CD Application delivers the chart karpenter", ())


def by_argo(helm: object, chart: object = "karpenter", **spec):
    whole = {"source": {"chart": chart, "helm": helm}} | spec
    return a_cluster().with_docs(
        doc("argoproj.io/v1alpha1", "Application", metadata=meta("karpenter", "argocd"), spec=whole)
    )


def by_flux(upgrade: object):
    spec = {"chart": {"spec": {"chart": "karpenter"}}, "upgrade": upgrade}
    release = doc("helm.toolkit.fluxcd.io/v2", "HelmRelease", metadata=meta("karpenter", "flux-system"), spec=spec)
    return a_cluster().with_docs(release)


def a_row(kind: str, namespace: str, path: str, seen: str, wanted: str) -> tuple[Evidence, ...]:
    return (Evidence(kind=kind, namespace=namespace, name="karpenter", path=path, seen=seen, wanted=wanted),)


def test_argo_leaves_them_out():
    assert result_of(CHECK, "1.0", by_argo({"skipCrds": True})) == GOOD


@pytest.mark.parametrize("helm", [{}, {"skipCrds": False}, None, "odd"])
def test_argo_applies_them(helm):
    rows = a_row("Application", "argocd", "spec.source.helm.skipCrds", "false", "true")
    assert result_of(CHECK, "1.0", by_argo(helm)) == ("fail", ONE, rows)


@pytest.mark.parametrize("upgrade", [None, {}, {"crds": "Skip"}])
def test_flux_leaves_them_alone_by_default(upgrade):
    assert result_of(CHECK, "1.0", by_flux(upgrade)) == GOOD


@pytest.mark.parametrize("policy", ["Create", "CreateReplace"])
def test_flux_was_told_to_apply_them(policy):
    rows = a_row("HelmRelease", "flux-system", "spec.upgrade.crds", policy, "Skip")
    assert result_of(CHECK, "1.0", by_flux({"crds": policy})) == ("fail", ONE, rows)


@pytest.mark.parametrize("chart", ["karpenter-crd", "cert-manager", None, 7])
def test_other_charts_are_not_asked(chart):
    assert result_of(CHECK, "1.0", by_argo({}, chart)) == NOBODY


def test_without_gitops_there_is_nothing_to_ask():
    assert result_of(CHECK, "1.0", a_cluster()) == NOBODY


def test_one_of_several_sources_of_argo():
    path, values = "spec.sources[1].helm.skipCrds", {"ref": "values"}
    found = by_argo({}, None, sources=[values, {"chart": "karpenter", "helm": {"releaseName": "k"}}])
    rows = a_row("Application", "argocd", path, "false", "true")
    assert result_of(CHECK, "1.0", found) == ("fail", ONE, rows)
    skipped = {"chart": "karpenter", "helm": {"skipCrds": True}}
    assert result_of(CHECK, "1.0", by_argo({}, None, sources=[values, skipped])) == GOOD
    change = remedies(CHECK, "1.0", found)[0].change
    at = "/spec/sources/1/helm"
    same = {"op": "test", "path": "/spec/sources/1/chart", "value": "karpenter"}
    given = {"releaseName": "k", "skipCrds": True}
    as_seen = {"op": "test", "path": at, "value": {"releaseName": "k"}}
    assert change.body == (same, as_seen, {"op": "add", "path": at, "value": given})
    back = {"op": "replace", "path": at, "value": {"releaseName": "k"}}
    assert change.undo.body == (same, {"op": "test", "path": at, "value": given}, back)
    bare = remedies(CHECK, "1.0", by_argo({}, None, sources=[{"chart": "karpenter"}]))[0].change
    assert bare.body[1] == {"op": "test", "path": "/spec/sources/0/helm", "value": None}
    assert bare.undo.body[-1] == {"op": "remove", "path": "/spec/sources/0/helm"}


def test_a_chart_from_an_oci_repository_of_flux():
    metadata = meta("karpenter", "flux-system")
    spec = {"chartRef": {"kind": "OCIRepository", "name": "karpenter"}, "upgrade": {"crds": "CreateReplace"}}
    url = {"url": "oci://public.ecr.aws/karpenter/karpenter", "ref": {"tag": "1.0.14"}}
    cluster = a_cluster().with_docs(
        doc("helm.toolkit.fluxcd.io/v2", "HelmRelease", metadata=metadata, spec=spec),
        doc("source.toolkit.fluxcd.io/v1", "OCIRepository", metadata=metadata, spec=url),
    )
    rows = a_row("HelmRelease", "flux-system", "spec.upgrade.crds", "CreateReplace", "Skip")
    assert result_of(CHECK, "1.0", cluster) == ("fail", ONE, rows)


def test_it_is_asked_while_crds_convert():
    assert asked_hops(CHECK) == ("1.0", "1.1+")


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_is_in_the_language_of_the_tool():
    beside = "# The chart karpenter-crd beside it applies them; the static CRDs always call kube-system/karpenter"
    *rest, guard = remedies(CHECK, "1.0", by_argo({}))
    crds = "nodepools.karpenter.sh nodeclaims.karpenter.sh ec2nodeclasses.karpenter.k8s.aws"
    assert guard.text.splitlines()[2] == (
        f"kubectl annotate crd {crds} argocd.argoproj.io/sync-options=Prune=false --overwrite"
    )
    assert without_changes(rest) == (
        Remedy(
            how="argocd",
            text=(
                "# Once each CRD has argocd.argoproj.io/sync-options=Prune=false: "
                "Application argocd/karpenter, spec.source\n"
                f"helm:\n  skipCrds: true\n{beside}"
            ),
        ),
    )
    flux = remedies(CHECK, "1.0", by_flux({"crds": "Create"}))
    assert flux[0].change.body == {"spec": {"upgrade": {"crds": "Skip"}}}
    assert flux[0].change.undo.body == {"spec": {"upgrade": {"crds": "Create"}}}
    assert without_changes(flux) == (
        Remedy(how="flux", text=f"# HelmRelease flux-system/karpenter, spec\nupgrade:\n  crds: Skip\n{beside}"),
    )
