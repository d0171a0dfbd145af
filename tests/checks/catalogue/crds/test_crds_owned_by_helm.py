import msgspec
import pytest

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.inventory.objects.karpenter import HelmRelease
from migrations_app.manifests import JsonMap
from migrations_app.samples.installation import HELM_LABEL, Crds, crds, helm_marks
from migrations_app.samples.kubernetes_objects import doc, meta
from tests.builders.clusters import (
    a_cluster,
    an_empty_cluster,
    helm_crds,
    reads,
    remedies,
    result_of,
    result_without,
    without_changes,
)

CHECK = "crds_owned_by_helm"
GOOD = ("pass", "Every CRD is managed by the karpenter-crd chart or another tool", ())
NAMES = ("nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws")


def a_release(name: str, *, holds: tuple[str, ...] = NAMES, chart: str = "karpenter-crd") -> HelmRelease:
    return HelmRelease(
        name=name,
        namespace="kube-system",
        revision=1,
        status="deployed",
        chart=chart,
        chart_version="0.37.8",
        app_version="0.37.8",
        config={},
        defaults={},
        crds=list(holds),
    )


def with_marks(labels, annotations):
    return a_cluster().without("crds").with_docs(*crds(Crds(version="0.37.8", labels=labels, annotations=annotations)))


def not_owned(seen: str) -> tuple[str, str, tuple[Evidence, ...]]:
    path = "metadata.annotations[meta.helm.sh/release-name]"
    rows = (
        Evidence(kind="CustomResourceDefinition", name=name, path=path, seen=seen, wanted="karpenter-crd")
        for name in NAMES
    )
    return "fail", "3 CRDs are unmanaged", tuple(rows)


def test_helm_owns_them_and_its_record_was_seen():
    assert result_of(CHECK, "1.0", a_cluster().with_items("helm_releases", a_release("karpenter-crd"))) == GOOD


def test_helm_owns_them_and_no_record_was_seen():
    assert result_of(CHECK, "1.0", a_cluster()) == GOOD
    assert result_of(CHECK, "1.0", a_cluster().unseen("helm_releases")) == GOOD


@pytest.mark.parametrize(
    "labels",
    [
        {"kustomize.toolkit.fluxcd.io/name": "infra"},
        {"argocd.argoproj.io/instance": "karpenter"},
    ],
)
def test_gitops_owns_them(labels):
    assert result_of(CHECK, "1.0", with_marks(labels, {})) == GOOD


def test_nobody_owns_them():
    assert result_of(CHECK, "1.0", with_marks({}, {})) == not_owned("absent")


def test_the_annotations_alone_are_not_enough_for_helm():
    found = result_of(CHECK, "1.0", with_marks({}, helm_marks("karpenter-crd", "kube-system")))
    assert found == not_owned("karpenter-crd (no such release, or without its label)")


def test_a_release_that_is_not_there_owns_nothing():
    cluster = with_marks(HELM_LABEL, helm_marks("gone", "kube-system"))
    found = result_of(CHECK, "1.0", cluster.with_items("helm_releases", a_release("karpenter-crd", holds=())))
    assert found == not_owned("gone (no such release, or without its label)")


def test_a_crd_inside_its_own_release_is_marked_anew_by_the_next_upgrade():
    for labels, annotations in (({}, {}), (HELM_LABEL, helm_marks("gone", "kube-system"))):
        cluster = with_marks(labels, annotations).with_items("helm_releases", a_release("crds"))
        assert result_of(CHECK, "1.0", cluster) == GOOD


def test_marks_of_the_controllers_release_are_no_owner_without_a_release_of_the_crds():
    cluster = with_marks(HELM_LABEL, helm_marks("karpenter", "kube-system"))
    main = a_release("karpenter", holds=(), chart="karpenter")
    assert result_of(CHECK, "1.0", cluster.with_items("helm_releases", main))[0] == "fail"


FLUX = {"helm.toolkit.fluxcd.io/name": "karpenter", "helm.toolkit.fluxcd.io/namespace": "flux-system"}


def by_flux(**spec: object) -> JsonMap:
    return doc("helm.toolkit.fluxcd.io/v2", "HelmRelease", metadata=meta("karpenter", "flux-system"), spec=spec)


@pytest.mark.parametrize("upgrade", [None, {}, {"crds": "Skip"}])
def test_flux_labels_crds_that_it_never_upgrades(upgrade):
    chart = {"spec": {"chart": "karpenter"}}
    cluster = with_marks(FLUX, {}).with_docs(by_flux(chart=chart, **({} if upgrade is None else {"upgrade": upgrade})))
    assert result_of(CHECK, "1.0", cluster) == not_owned("HelmRelease karpenter of Flux, which upgrades no CRD")
    assert result_of(CHECK, "1.0", with_marks(FLUX, {}))[0] == "fail"


def test_flux_upgrades_crds_where_it_is_told_to_or_installs_their_chart():
    cluster = with_marks(FLUX, {}).with_docs(by_flux(upgrade={"crds": "CreateReplace"}))
    assert result_of(CHECK, "1.0", cluster) == GOOD
    marked = with_marks(FLUX | HELM_LABEL, helm_marks("karpenter-crd", "kube-system"))
    assert result_of(CHECK, "1.0", marked) == GOOD


@pytest.mark.parametrize(("hop", "asked"), [("0.33+", False), ("0.32", True)])
def test_alpha_crds_are_adopted_only_while_the_release_ships_them(hop, asked):
    """What is left over is deleted: alpha_crds_gone says so."""
    cluster = a_cluster("0.31.4", kubernetes="1.26").without("crds").with_docs(*crds(Crds(version="0.31.4")))
    assert (result_of(CHECK, hop, cluster)[0] == "fail") is asked


def test_without_crds_there_is_nothing_to_own():
    found = result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")
    assert found == ("not_applicable", "no CRD of Karpenter is installed", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_marks_and_never_deletes():
    every = " ".join(NAMES)
    assert without_changes(remedies(CHECK, "1.0", with_marks({}, {}))) == (
        Remedy(
            how="kubectl",
            text="# Marks only; never delete a CRD, its objects and their nodes go with it\n"
            f"kubectl label crd {every} app.kubernetes.io/managed-by=Helm --overwrite\n"
            f"kubectl annotate crd {every} meta.helm.sh/release-name=karpenter-crd "
            "meta.helm.sh/release-namespace=kube-system --overwrite",
        ),
    )


def test_the_release_of_the_controller_is_none_that_owns_crds():
    docs = helm_crds("0.37.8")
    for one in docs:
        one["metadata"]["annotations"]["meta.helm.sh/release-name"] = "karpenter"
    cluster = a_cluster().without("crds").with_values({}).with_docs(*docs)
    (main,) = cluster.build().helm_releases.items
    own = msgspec.structs.replace(main, name="karpenter-crd", chart="karpenter-crd")
    status, summary, _ = result_of(CHECK, "1.0", cluster.with_items("helm_releases", own))
    assert (status, summary) == ("fail", "3 CRDs are unmanaged")
