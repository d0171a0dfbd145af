import pytest

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.samples.kubernetes_objects import doc, meta
from tests.builders.clusters import a_cluster, reads, remedies, result_of, result_without, without_changes

CHECK = "gitops_paused"
GOOD = ("pass", "No GitOps tool reverts or prunes during the upgrade", ())
KINDS = {
    "Application": "argoproj.io/v1alpha1",
    "HelmRelease": "helm.toolkit.fluxcd.io/v2",
    "Kustomization": "kustomize.toolkit.fluxcd.io/v1",
}


def delivered(kind: str, **spec: object):
    return a_cluster().with_docs(doc(KINDS[kind], kind, metadata=meta("karpenter", "ops"), spec=spec))


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("Application", {}),
        ("Application", {"syncPolicy": {"automated": None}}),
        ("Application", {"syncPolicy": {"automated": {"enabled": False, "prune": True}}}),
        ("HelmRelease", {"suspend": True}),
        ("Kustomization", {"suspend": True, "prune": True}),
    ],
)
def test_nothing_acts_by_itself(kind, spec):
    assert result_of(CHECK, "1.0", delivered(kind, **spec)) == GOOD


@pytest.mark.parametrize(
    ("kind", "spec", "path", "seen"),
    [
        ("Application", {"syncPolicy": {"automated": {}}}, "spec.syncPolicy.automated", "syncs by itself"),
        (
            "Application",
            {"syncPolicy": {"automated": {"selfHeal": True, "prune": True}}},
            "spec.syncPolicy.automated",
            "selfHeal, prune",
        ),
        ("HelmRelease", {}, "spec.suspend", "reverts what it installed at its next upgrade"),
        ("Kustomization", {"prune": True}, "spec.prune", "prunes and reverts"),
        ("Kustomization", {}, "spec.prune", "reverts"),
    ],
)
def test_what_acts_by_itself(kind, spec, path, seen):
    wanted = "paused during manual changes, or the upgrade made in its source"
    row = Evidence(kind=kind, namespace="ops", name="karpenter", path=path, seen=seen, wanted=wanted)
    assert result_of(CHECK, "1.0", delivered(kind, **spec)) == (
        "fail",
        "1 GitOps delivery reverts or prunes automatically",
        (row,),
    )


def test_without_gitops_there_is_nothing_to_ask():
    assert result_of(CHECK, "1.0", a_cluster()) == ("not_applicable", "neither Flux nor Argo CD delivers Karpenter", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedies_pause_each_in_its_own_way():
    assert without_changes(remedies(CHECK, "1.0", delivered("Kustomization"))) == (
        Remedy(
            how="flux",
            text="# Stops reconciling; afterwards the same with resume\n"
            "flux suspend kustomization karpenter --namespace ops",
        ),
    )
    assert without_changes(remedies(CHECK, "1.0", delivered("Application", syncPolicy={"automated": {}}))) == (
        Remedy(
            how="argocd",
            text="# Stops syncing by itself until it is switched on again\n"
            "argocd app set ops/karpenter --sync-policy none",
        ),
    )
