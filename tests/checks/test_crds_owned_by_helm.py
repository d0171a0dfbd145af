import msgspec
import pytest

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.inventory.objects.karpenter import HelmRelease
from migrations_app.samples.installation import HELM_LABEL, Crds, crds, helm_marks
from tests.builders import a_cluster, an_empty_cluster, blind, helm_crds, reads, remedies, told

CHECK = "crds_owned_by_helm"
GOOD = ("pass", "The CRDs belong to the karpenter-crd release or to a tool", ())
NAMES = ("nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws")


def a_release(name: str) -> HelmRelease:
    return HelmRelease(
        name=name,
        namespace="kube-system",
        revision=1,
        status="deployed",
        chart="karpenter-crd",
        chart_version="0.37.8",
        app_version="0.37.8",
        config={},
        defaults={},
        crds=list(NAMES),
    )


def with_marks(labels, annotations):
    return a_cluster().without("crds").with_docs(*crds(Crds(version="0.37.8", labels=labels, annotations=annotations)))


def not_owned(seen: str) -> tuple[str, str, tuple[Evidence, ...]]:
    path = "metadata.annotations[meta.helm.sh/release-name]"
    rows = (
        Evidence(kind="CustomResourceDefinition", name=name, path=path, seen=seen, wanted="karpenter-crd")
        for name in NAMES
    )
    return "fail", "3 CRDs are owned by no release and no tool", tuple(rows)


def test_helm_owns_them_and_its_record_was_seen():
    assert told(CHECK, "1.0", a_cluster().with_items("helm_releases", a_release("karpenter-crd"))) == GOOD


def test_helm_owns_them_and_no_record_was_seen():
    assert told(CHECK, "1.0", a_cluster()) == GOOD
    assert told(CHECK, "1.0", a_cluster().unseen("helm_releases")) == GOOD


@pytest.mark.parametrize(
    "labels",
    [
        {"kustomize.toolkit.fluxcd.io/name": "infra"},
        {"helm.toolkit.fluxcd.io/name": "karpenter-crd"},
        {"argocd.argoproj.io/instance": "karpenter"},
    ],
)
def test_gitops_owns_them(labels):
    assert told(CHECK, "1.0", with_marks(labels, {})) == GOOD


def test_nobody_owns_them():
    assert told(CHECK, "1.0", with_marks({}, {})) == not_owned("absent")


def test_the_annotations_alone_are_not_enough_for_helm():
    found = told(CHECK, "1.0", with_marks({}, helm_marks("karpenter-crd", "kube-system")))
    assert found == not_owned("karpenter-crd (no such release, or without its label)")


def test_a_release_that_is_not_there_owns_nothing():
    cluster = with_marks(HELM_LABEL, helm_marks("gone", "kube-system"))
    found = told(CHECK, "1.0", cluster.with_items("helm_releases", a_release("karpenter-crd")))
    assert found == not_owned("gone (no such release, or without its label)")


def test_without_crds_there_is_nothing_to_own():
    found = told(CHECK, "1.0", an_empty_cluster(), start="0.37.8")
    assert found == ("not_applicable", "no CRD of Karpenter is installed", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert blind(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_marks_and_never_deletes():
    every = " ".join(NAMES)
    assert remedies(CHECK, "1.0", with_marks({}, {})) == (
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
    for doc in docs:
        doc["metadata"]["annotations"]["meta.helm.sh/release-name"] = "karpenter"
    cluster = a_cluster().without("crds").with_values({}).with_docs(*docs)
    (main,) = cluster.build().helm_releases.items
    own = msgspec.structs.replace(main, name="karpenter-crd", chart="karpenter-crd")
    status, summary, _ = told(CHECK, "1.0", cluster.with_items("helm_releases", own))
    assert (status, summary) == ("fail", "3 CRDs are owned by no release and no tool")
