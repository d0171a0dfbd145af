import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.inventory.facts.managers import BY_HAND, MANAGERS, Managed, chart_delivery, delivered, managed
from migrations_app.inventory.objects.karpenter import GitOpsDelivery, ManagedField, Metadata
from migrations_app.inventory.parse import LAST_APPLIED

HELM_MARKS = {"meta.helm.sh/release-name": "karpenter", "meta.helm.sh/release-namespace": "kube-system"}
BY_HELM = Managed("helm", "annotation meta.helm.sh/release-name", "karpenter", "kube-system")


def written_by(*managers: str | None) -> Metadata:
    return Metadata(managed_fields=[ManagedField(manager=manager, operation="Update") for manager in managers])


def test_an_object_without_marks_is_looked_after_by_hand():
    assert managed(Metadata(name="nodepools.karpenter.sh")) == BY_HAND


def test_helm_names_its_release():
    assert managed(Metadata(labels={"app.kubernetes.io/managed-by": "Helm"}, annotations=HELM_MARKS)) == BY_HELM


def test_the_managed_by_label_alone_is_not_helm():
    assert managed(Metadata(labels={"app.kubernetes.io/managed-by": "Helm"})) == BY_HAND


@pytest.mark.parametrize("prefix", ["kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/"])
def test_flux_marks_win_over_the_helm_marks_that_it_writes_too(prefix):
    metadata = Metadata(labels={f"{prefix}name": "infra", f"{prefix}namespace": "flux-system"}, annotations=HELM_MARKS)
    assert managed(metadata) == Managed("flux", f"label {prefix}name", "infra", "flux-system")


def test_argo_tracking_id_names_the_application():
    metadata = Metadata(
        annotations={"argocd.argoproj.io/tracking-id": "karpenter:apps/Deployment:kube-system/karpenter"}
    )
    assert managed(metadata) == Managed("argocd", "annotation argocd.argoproj.io/tracking-id", "karpenter")


def test_argo_instance_label_names_the_application():
    metadata = Metadata(labels={"argocd.argoproj.io/instance": "platform"})
    assert managed(metadata) == Managed("argocd", "label argocd.argoproj.io/instance", "platform")


@pytest.mark.parametrize(
    ("manager", "by"),
    [
        ("kustomize-controller", "flux"),
        ("helm-controller", "flux"),
        ("argocd-controller", "argocd"),
        ("argocd-application-controller", "argocd"),
        ("Terraform", "terraform"),
        ("HashiCorp", "terraform"),
        ("terraform-provider-kubectl_v1.14.0", "terraform"),
        ("terraform-provider-helm_v2.12.1_x5", "terraform"),
        ("eksctl", "eksctl"),
        ("helm", "helm"),
        ("kubectl-client-side-apply", "hand"),
        ("kubectl-edit", "hand"),
    ],
)
def test_field_managers(manager, by):
    assert managed(written_by(manager)) == Managed(by, f"field manager {manager}")


def test_the_controller_itself_manages_nothing():
    assert managed(written_by("karpenter", "kube-apiserver", None)) == BY_HAND


def test_a_terraform_run_helm_release_belongs_to_terraform():
    metadata = Metadata(
        annotations=HELM_MARKS,
        managed_fields=[ManagedField(manager="helm"), ManagedField(manager="terraform-provider-helm_v2.12.1_x5")],
    )
    assert managed(metadata) == Managed("terraform", "field manager terraform-provider-helm_v2.12.1_x5")


def test_eksctl_by_its_label():
    metadata = Metadata(labels={"app.kubernetes.io/managed-by": "eksctl"})
    assert managed(metadata) == Managed("eksctl", "label app.kubernetes.io/managed-by")


def test_last_applied_is_a_hand_with_a_mark():
    assert managed(Metadata(annotations={LAST_APPLIED: ""})) == Managed("hand", f"annotation {LAST_APPLIED}")


@pytest.mark.parametrize(
    ("kind", "by"), [("Application", "argocd"), ("HelmRelease", "flux"), ("Kustomization", "flux")]
)
def test_a_delivery_speaks_for_an_object_that_names_nobody(kind, by):
    delivery = GitOpsDelivery(kind=kind, metadata=Metadata(name="karpenter", namespace="gitops"))
    assert delivered(Metadata(annotations=HELM_MARKS), [delivery], charts=("karpenter",)) == Managed(
        by, f"{kind} karpenter", "karpenter", "gitops"
    )


def test_a_delivery_of_no_known_kind_says_nothing():
    delivery = GitOpsDelivery(metadata=Metadata(name="karpenter"))
    assert delivered(Metadata(annotations=HELM_MARKS), [delivery], charts=("karpenter",)) == BY_HELM


POOLS = {"repoURL": "https://github.com/acme/infra", "path": "karpenter/pools"}
CHARTED = {"repoURL": "public.ecr.aws/karpenter", "chart": "karpenter"}


@pytest.mark.parametrize(
    ("kind", "name", "spec", "by"),
    [
        ("Application", "karpenter-pools", {"source": POOLS}, "helm"),
        ("Kustomization", "karpenter-pools", {"path": "./karpenter/pools"}, "helm"),
        ("Application", "platform", {"source": CHARTED}, "argocd"),
        ("Application", "platform", {"sources": [POOLS, CHARTED]}, "argocd"),
        ("HelmRelease", "platform", {"chart": {"spec": {"chart": "karpenter-crd"}}}, "helm"),
        ("Application", "shop-karpenter", {"source": {"path": "charts/karpenter"}}, "argocd"),
    ],
)
def test_a_delivery_of_other_objects_says_nothing(kind, name, spec, by):
    """Terraform or a pipeline installs the chart, and Argo CD or Flux the node pools."""
    instance = {"app.kubernetes.io/instance": "shop-karpenter"}
    metadata = Metadata(name="karpenter", annotations=HELM_MARKS, labels=instance)
    delivery = GitOpsDelivery(kind=kind, metadata=Metadata(name=name, namespace="gitops"), spec=spec)
    assert delivered(metadata, [delivery], charts=("karpenter",)).by == by


ARGO_POOLS = {"resources": [{"group": "karpenter.sh", "kind": "NodePool", "name": "default"}]}
ARGO_ALL = {"resources": [*ARGO_POOLS["resources"], {"group": "apps", "kind": "Deployment", "name": "karpenter"}]}
FLUX_POOLS = {"inventory": {"entries": [{"id": "_default_karpenter.sh_NodePool", "v": "v1"}]}}
FLUX_ALL = {"inventory": {"entries": [{"id": "kube-system_karpenter_apps_Deployment", "v": "v1"}]}}
OTHER_CHART = {"chart": {"spec": {"chart": "karpenter-pools"}}, "releaseName": "pools"}
UMBRELLA = {"chart": {"spec": {"chart": "platform"}}, "releaseName": HELM_MARKS["meta.helm.sh/release-name"]}


@pytest.mark.parametrize(
    ("kind", "spec", "status", "by"),
    [
        ("Application", {"source": POOLS}, ARGO_POOLS, "helm"),
        ("Application", {"source": POOLS}, ARGO_ALL, "argocd"),
        ("Application", {"source": POOLS}, {}, "argocd"),
        ("Application", {"source": CHARTED}, ARGO_POOLS, "argocd"),
        ("Kustomization", {"path": "./pools"}, FLUX_POOLS, "helm"),
        ("Kustomization", {"path": "./all"}, FLUX_ALL, "flux"),
        ("HelmRelease", OTHER_CHART, {}, "helm"),
        ("HelmRelease", UMBRELLA, {}, "flux"),
    ],
)
def test_a_delivery_named_karpenter_speaks_only_for_what_it_holds(kind, spec, status, by):
    metadata = Metadata(name="karpenter", annotations=HELM_MARKS)
    delivery = GitOpsDelivery(kind=kind, metadata=Metadata(name="karpenter"), spec=spec, status=status)
    assert delivered(metadata, [delivery], charts=("karpenter",)).by == by


def test_the_mark_on_the_object_wins_over_a_delivery():
    delivery = GitOpsDelivery(kind="Application", metadata=Metadata(name="karpenter", namespace="argocd"))
    own = Metadata(labels={"helm.toolkit.fluxcd.io/name": "karpenter"})
    by_flux = Managed("flux", "label helm.toolkit.fluxcd.io/name", "karpenter")
    assert delivered(own, [delivery], charts=("karpenter",)) == by_flux


texts = st.dictionaries(st.text(max_size=20), st.text(max_size=20), max_size=4)


@given(labels=texts, annotations=texts, managers=st.lists(st.none() | st.text(max_size=20), max_size=4))
def test_any_metadata_has_exactly_one_manager_and_a_claim_has_a_mark(labels, annotations, managers):
    fields = [ManagedField(manager=manager) for manager in managers]
    found = managed(Metadata(labels=labels, annotations=annotations, managed_fields=fields))
    assert found.by in MANAGERS
    assert found == BY_HAND or found.told_by


REGISTRY, REPOSITORY = "public.ecr.aws/karpenter", "https://github.com/acme/infra"


@pytest.mark.parametrize(
    ("kind", "spec", "found"),
    [
        ("HelmRelease", {"chart": {"spec": {"chart": "karpenter-crd"}}}, True),
        ("HelmRelease", {"chart": {"spec": {"chart": "karpenter"}}}, False),
        ("Application", {"source": {"repoURL": REGISTRY, "chart": "karpenter-crd"}}, True),
        ("Application", {"source": {"repoURL": "public.ecr.aws", "chart": "karpenter/karpenter-crd"}}, True),
        ("Application", {"source": {"repoURL": f"oci://{REGISTRY}/karpenter-crd", "path": "."}}, True),
        ("Application", {"source": {"repoURL": f"{REPOSITORY}/karpenter-crd", "path": "."}}, False),
        ("Application", {"sources": [{"repoURL": REPOSITORY, "ref": "values"}, {"chart": "karpenter-crd"}]}, True),
        ("Application", {"sources": [{"chart": "karpenter"}, {"repoURL": f"oci://{REGISTRY}/karpenter-crd/"}]}, True),
        ("Application", {"sources": [{"chart": "karpenter"}, "karpenter-crd"], "source": "karpenter-crd"}, False),
        ("Application", {}, False),
    ],
)
def test_the_delivery_of_a_chart(kind, spec, found):
    delivery = GitOpsDelivery(kind=kind, metadata=Metadata(name="crds", namespace="gitops"), spec=spec)
    by = chart_delivery([GitOpsDelivery(kind=kind, metadata=Metadata(name="other")), delivery], "karpenter-crd")
    told = {"HelmRelease": "flux", "Application": "argocd"}[kind]
    assert by == (Managed(told, f"{kind} crds", "crds", "gitops") if found else None)
