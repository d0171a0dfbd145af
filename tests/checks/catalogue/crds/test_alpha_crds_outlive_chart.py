import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.karpenter_objects import ON_DEMAND, provisioner
from tests.builders.clusters import a_cluster, asked_hops, helm_crds, reads, remedies, result_of, result_without

CHECK = "alpha_crds_outlive_chart"
GOOD = ("pass", "No chart upgrade deletes the alpha CRDs", ())
ONE = "1 alpha CRD and its objects would be lost"


def owned(*, labels: dict | None = None, annotations: dict | None = None, left: int = 2):
    docs = helm_crds("0.32.10")
    for doc in docs:
        if labels is not None:
            doc["metadata"]["labels"] = labels
        if annotations is not None:
            doc["metadata"]["annotations"] = annotations
    made = [provisioner(f"p{place}", ON_DEMAND, template="default") for place in range(left)]
    return a_cluster("0.32.10", kubernetes="1.28").without("crds").with_docs(*docs, *made)


def a_row(owner: str) -> tuple[Evidence, ...]:
    return (
        Evidence(
            kind="CustomResourceDefinition",
            name="provisioners.karpenter.sh",
            path="metadata",
            seen=f"{owner} would delete it with 2 objects",
            wanted="no object left, or helm.sh/resource-policy: keep",
        ),
    )


def test_helm_would_delete_them():
    assert result_of(CHECK, "0.33+", owned()) == ("fail", ONE, a_row("the Helm release karpenter-crd"))


@pytest.mark.parametrize(
    ("labels", "annotations", "owner"),
    [
        ({"kustomize.toolkit.fluxcd.io/name": "platform"}, {}, "Flux, where it prunes,"),
        ({}, {"argocd.argoproj.io/tracking-id": "karpenter:x"}, "Argo CD, where it prunes,"),
        (
            {"helm.toolkit.fluxcd.io/name": "crds"},
            {"meta.helm.sh/release-name": "crds"},
            "the Helm release crds",
        ),
    ],
)
def test_gitops_would_prune_them(labels, annotations, owner):
    assert result_of(CHECK, "0.33+", owned(labels=labels, annotations=annotations)) == ("fail", ONE, a_row(owner))


@pytest.mark.parametrize(
    ("labels", "annotations"),
    [
        ({}, {}),
        ({}, {"meta.helm.sh/release-name": "karpenter-crd", "helm.sh/resource-policy": "keep"}),
        ({}, {"argocd.argoproj.io/tracking-id": "a:b", "argocd.argoproj.io/sync-options": "A=b,Prune=false"}),
        ({"kustomize.toolkit.fluxcd.io/name": "p"}, {"kustomize.toolkit.fluxcd.io/prune": "disabled"}),
    ],
)
def test_nobody_deletes_them(labels, annotations):
    assert result_of(CHECK, "0.33+", owned(labels=labels, annotations=annotations)) == GOOD


def test_without_objects_nothing_is_lost():
    assert result_of(CHECK, "0.33+", owned(left=0)) == ("not_applicable", "no alpha object is left", ())


def test_records_that_could_not_be_read_leave_it_open():
    why = "whether karpenter-crd owns the CRDs is not known: Helm's records are unseen (forbidden)"
    found = result_of(CHECK, "0.33+", owned(labels={}, annotations={}).unseen("helm_releases"))
    assert found == ("unknown", why, ())


def test_it_is_asked_where_alpha_ends():
    assert asked_hops(CHECK) == ("0.33+",)


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    found = result_without(CHECK, "0.33+", a_cluster("0.32.10", kubernetes="1.28"), part=part)
    assert found == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_marks_them():
    assert (
        remedies(CHECK, "0.33+", owned())[0]
        .text.splitlines()[1]
        .startswith("kubectl annotate crd provisioners.karpenter.sh helm.sh/resource-policy=keep ")
    )


def test_the_remedy_keeps_other_sync_options():
    marks = {"argocd.argoproj.io/tracking-id": "a:b", "argocd.argoproj.io/sync-options": "A=b"}
    given = remedies(CHECK, "0.33+", owned(labels={}, annotations=marks))[0].text
    assert "argocd.argoproj.io/sync-options=A=b,Prune=false" in given


FLUX, ARGO = "kustomize.toolkit.fluxcd.io/", "argocd.argoproj.io/"


@pytest.mark.parametrize(
    ("labels", "annotations", "notes"),
    [
        ({FLUX + "name": "platform"}, {}, [f"# Write {FLUX}prune=disabled in Git too"]),
        ({}, {ARGO + "tracking-id": "karpenter:x"}, ["# Write Prune=false in Git too"]),
        ({"helm.toolkit.fluxcd.io/name": "crds"}, {"meta.helm.sh/release-name": "crds"}, []),
        ({}, {"meta.helm.sh/release-name": "karpenter-crd"}, []),
    ],
)
def test_where_git_has_the_crds_the_marks_belong_there_too(labels, annotations, notes):
    (remedy,) = remedies(CHECK, "0.33+", owned(labels=labels, annotations=annotations))
    comments = [line.partition(":")[0] for line in remedy.text.splitlines() if "in Git too" in line]
    assert comments == notes
