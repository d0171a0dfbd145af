import pytest

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.inventory.facts.delivery_sources import PAUSED
from tests.actions.delivered import application, helm_release, kustomization
from tests.builders.clusters import a_cluster, reads, remedies, result_of, result_without, without_changes

CHECK = "deliveries_resumed"


def paused(found, said="null"):
    return found | {"metadata": found["metadata"] | {"annotations": {PAUSED: said}}}


def row(kind, namespace):
    return Evidence(
        kind=kind, namespace=namespace, name="karpenter", path="metadata.annotations", seen=PAUSED,
        wanted="resumed as it was",
    )  # fmt: skip


def test_what_people_suspended_or_nobody_is_no_concern():
    cluster = a_cluster().with_docs(helm_release(suspend=True), kustomization(), application())
    assert result_of(CHECK, "1.0", cluster) == ("pass", "No GitOps delivery is still paused by karpdash", ())


def test_each_that_karpdash_paused_and_nobody_resumed_is_named():  # A39
    cluster = a_cluster().with_docs(paused(helm_release(suspend=True)), paused(application(), "{}"), kustomization())
    rows = (row("HelmRelease", "flux-system"), row("Application", "argocd"))
    assert result_of(CHECK, "1.0", cluster) == ("fail", "2 GitOps deliveries are still paused", rows)


def test_without_gitops_there_is_nothing_to_resume():
    assert result_of(CHECK, "1.0", a_cluster()) == ("not_applicable", "neither Flux nor Argo CD delivers Karpenter", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


@pytest.mark.parametrize(
    ("said", "flags"), [('{"prune":true,"selfHeal":true}', " --auto-prune --self-heal"), ("{}", ""), ("[", "")]
)
def test_the_remedy_resumes_it_as_it_was(said, flags):
    found = without_changes(remedies(CHECK, "1.0", a_cluster().with_docs(paused(application(), said))))
    assert found == (Remedy(how="argocd", text=f"argocd app set argocd/karpenter --sync-policy automated{flags}"),)
