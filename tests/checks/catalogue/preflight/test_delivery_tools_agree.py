import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.karpenter_objects import ON_DEMAND, pool
from tests.builders.clusters import a_cluster, an_empty_cluster, reads, remedies, result_of, result_without

CHECK = "delivery_tools_agree"
GOOD = ("pass", "One tool applies each object", ())
FLUX = {"kustomize.toolkit.fluxcd.io/name": "platform"}
FLUX_HELM = {"helm.toolkit.fluxcd.io/name": "karpenter"}
ARGO = {"argocd.argoproj.io/tracking-id": "pools:karpenter.sh/NodePool:x/general"}
HELM = {"meta.helm.sh/release-name": "karpenter", "meta.helm.sh/release-namespace": "kube-system"}


def marked(*, labels: dict | None = None, annotations: dict | None = None, managers: tuple[str, ...] = ()):
    found = pool("general", ON_DEMAND, node_class="default", version="v1")
    found["metadata"] |= {"labels": labels or {}, "annotations": annotations or {}}
    found["metadata"]["managedFields"] = [{"manager": name, "operation": "Apply"} for name in managers]
    return a_cluster().with_values({}).with_docs(found)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"labels": FLUX, "managers": ("kustomize-controller", "kubectl-edit")},
        {"labels": FLUX_HELM, "annotations": HELM},
        {"annotations": HELM, "managers": ("terraform-provider-helm_v2.15.0_x5",)},
        {"annotations": ARGO | {"meta.helm.sh/release-name": "gone"}},
        {"managers": ("Terraform", "karpenter")},
    ],
)
def test_one_tool_or_none(given):
    assert result_of(CHECK, "1.0", marked(**given)) == GOOD


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ({"labels": FLUX, "annotations": ARGO}, "Flux Kustomization platform and Argo CD pools"),
        ({"annotations": ARGO | HELM}, "Argo CD pools and Helm release karpenter"),
        ({"labels": FLUX, "managers": ("HashiCorp",)}, "Flux Kustomization platform and Terraform"),
        (
            {"labels": {"argocd.argoproj.io/instance": "apps"} | FLUX_HELM},
            "Flux HelmRelease karpenter and Argo CD apps",
        ),
        (
            {"labels": FLUX, "annotations": ARGO | HELM, "managers": ("Terraform",)},
            "Flux Kustomization platform and Argo CD pools and Helm release karpenter and Terraform",
        ),
    ],
)
def test_two_tools_and_more(given, seen):
    row = Evidence(kind="NodePool", name="general", path="metadata", seen=seen, wanted="one of them")
    assert result_of(CHECK, "1.0", marked(**given)) == ("fail", "1 object is applied by more than one tool", (row,))


def test_without_karpenter_there_is_nothing_to_ask():
    found = result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")
    assert found == ("not_applicable", "nothing of Karpenter is installed", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_shows_who_wrote_what():
    text = remedies(CHECK, "1.0", marked(labels=FLUX, annotations=ARGO))[0].text
    assert text.splitlines()[3:] == ["kubectl get nodepool general -o yaml --show-managed-fields"]
