"""Which tool manages an object (Helm, Flux, Argo CD, Terraform, eksctl, or none), from its labels, annotations and
field managers.

If several tools left marks, the one that reverts direct writes soonest is named first: Flux and Argo CD, then
Terraform and eksctl (at their next run), then Helm, which only overwrites at the next upgrade. `appliers` lists all
tools that apply an object: two of them keep undoing each other's changes.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import GitOpsDelivery, ManagedField, Metadata
from migrations_app.inventory.parse import LAST_APPLIED
from migrations_app.karpenter import labels

Manager = Literal["flux", "argocd", "terraform", "eksctl", "helm", "hand"]
MANAGERS: tuple[Manager, ...] = get_args(Manager)
REVERTS: dict[Manager, str] = {
    "flux": "Flux",
    "argocd": "Argo CD",
    "terraform": "Terraform (at its next run)",
    "eksctl": "eksctl (at its next run)",
}
"""Tools that undo a direct write, with their display text. Helm only overwrites at the next upgrade of its release."""
IMMEDIATE_WRITERS: tuple[Manager, ...] = ("flux", "argocd")
"""The tools among them that do so by themselves, within minutes."""

UPGRADES_AT: dict[Manager, tuple[str, ...]] = {
    "helm": ("failed",),
    "flux": ("failed", "pending-install", "pending-upgrade", "pending-rollback"),
    "argocd": ("failed", "pending-install", "pending-upgrade", "pending-rollback", "uninstalling"),
}
"""The statuses of the newest revision at which the tool upgrades a Helm release.

Sources: helm/helm@v3.19.0:pkg/action/upgrade.go. Flux makes a pending revision a failed one
(fluxcd/helm-controller@v0.37.0:internal/reconcile/unlock.go); Argo CD renders the chart and uses no records of Helm.
"""
FLUX_WITHOUT_UNLOCK = ("helm.toolkit.fluxcd.io/v2beta1",)
"""The API versions of a HelmRelease whose controller may be older than 0.37 and leaves a pending revision as it is:
0.37 brought v2beta2 (fluxcd/helm-controller@v0.37.0:CHANGELOG.md)."""

FLUX_NAMES = (
    (labels.FLUX_KUSTOMIZE_NAME, labels.FLUX_KUSTOMIZE_NAMESPACE),
    (labels.FLUX_HELM_NAME, labels.FLUX_HELM_NAMESPACE),
)
DELIVERERS: dict[str, Manager] = {"Application": "argocd", "HelmRelease": "flux", "Kustomization": "flux"}
ARGO_INSTANCE = "argocd.argoproj.io/instance"

WRITERS: tuple[tuple[str, Manager], ...] = (
    ("kustomize-controller", "flux"),
    ("helm-controller", "flux"),
    ("argocd", "argocd"),
    ("terraform", "terraform"),
    ("hashicorp", "terraform"),
    ("opentofu", "terraform"),
    ("eksctl", "eksctl"),
    ("helm", "helm"),
    ("kubectl", "hand"),
)
"""Prefixes of field manager names in lower case, and the tool they stand for; the first match counts.
Sources: fluxcd/pkg@main:ssa (kustomize-controller, helm-controller), argoproj/argo-cd@master:common,
hashicorp/terraform-provider-kubernetes@main:manifest ("Terraform"; its typed resources write as "HashiCorp"),
gavinbunney/terraform-provider-kubectl@master ("HashiCorp" by its user agent; server-side "kubectl", as alekc's fork:
see `may_be_terraform`),
helm/helm@main:pkg/kube ("helm"), kubernetes/kubectl@master (kubectl-client-side-apply, kubectl-edit and others).
"""


@dataclass(frozen=True, slots=True)
class Managed:
    """`by` is the managing tool; `told_by` is the mark that shows it, empty if there is none; `name` is the owning
    release or application.
    """

    by: Manager
    told_by: str = ""
    name: str = ""
    namespace: str = ""

    @property
    def through_helm(self) -> bool:
        """Whether Flux applies the object through a Helm release, which deletes it by the rules of Helm."""
        return self.by == "flux" and "helm" in self.told_by


BY_HAND = Managed("hand")


def upgrades_at(delivery: GitOpsDelivery) -> tuple[str, ...]:
    """The statuses of the newest revision at which that Flux or Argo CD object upgrades its Helm release."""
    return UPGRADES_AT["helm" if delivery.api_version in FLUX_WITHOUT_UNLOCK else DELIVERERS[delivery.kind]]


def managed(metadata: Metadata) -> Managed:
    """The tool that manages the object with that metadata; BY_HAND if no mark shows one."""
    marks = {mark.by: mark for mark in reversed(list(_marks(metadata)))}
    return next((marks[manager] for manager in MANAGERS if manager in marks), BY_HAND)


def delivered(metadata: Metadata, deliveries: Iterable[GitOpsDelivery], *, charts: Collection[str]) -> Managed:
    """Same as `managed`; if the object itself names no GitOps tool, the Flux or Argo CD object that delivers it: one
    that names a chart of `charts`, or bears the name of the object, of its Helm release or of such a chart.

    Argo CD tracks by a label that charts set too, so only its Application object distinguishes the two. One that
    delivers other objects of Karpenter, such as its node pools, says nothing about this object, whatever its name.
    """
    own = managed(metadata)
    if own.by not in ("helm", "hand"):
        return own
    names = {metadata.name, metadata.label(labels.APP_INSTANCE), metadata.annotation(labels.HELM_RELEASE_NAME), *charts}
    found = (
        _of(delivery)
        for delivery in deliveries
        if _charts(delivery) & set(charts) or (delivery.name in names and _may_hold(delivery, metadata))
    )
    return next((by for by in found if by is not BY_HAND), own)


def _may_hold(delivery: GitOpsDelivery, metadata: Metadata) -> bool:
    """Whether a delivery that names none of the charts may hold the object all the same: False if it lists its objects
    and this one is not among them, or if all it brings is another chart, as another Helm release."""
    listed = _listed_names(delivery)
    if listed is not None:
        return metadata.name in listed
    release = metadata.annotation(labels.HELM_RELEASE_NAME)
    return not delivery.get("spec.chart") or release in (None, *_release_names(delivery))


def _release_names(delivery: GitOpsDelivery) -> tuple[str, ...]:
    """The names that the Helm release of a HelmRelease may have."""
    own, target = delivery.get("spec.releaseName"), delivery.get("spec.targetNamespace")
    return (str(own),) if own else (delivery.name, f"{target}-{delivery.name}")


def _listed_names(delivery: GitOpsDelivery) -> frozenset[str] | None:
    """The names of the objects that the status of an Application or Kustomization lists; None if it lists none, as
    before its first sync and in a manifest.

    Sources: argoproj/argo-cd@v3.1.0:pkg/apis/application/v1alpha1/types.go (ResourceStatus),
    fluxcd/kustomize-controller@v1.6.0:api/v1/inventory_types.go (an id is namespace_name_group_kind).
    """
    resources, entries = delivery.get("status.resources"), delivery.get("status.inventory.entries")
    if isinstance(resources, list) and resources:
        return frozenset(str(row.get("name")) for row in resources if isinstance(row, dict))
    if isinstance(entries, list) and entries:
        ids = (str(row.get("id")).split("_") for row in entries if isinstance(row, dict))
        return frozenset(parts[1] for parts in ids if len(parts) == 4)
    return None


def chart_delivery(deliveries: Iterable[GitOpsDelivery], chart: str) -> Managed | None:
    """The Flux HelmRelease or Argo CD Application that delivers that chart; None where none of them names it."""
    return next((_of(delivery) for delivery in deliveries if chart in _charts(delivery)), None)


def _charts(delivery: GitOpsDelivery) -> set[str]:
    """The charts that the object names, each without its path in a registry; an Application may have many sources."""
    several = delivery.get("spec.sources")
    sources = [delivery.get("spec.source"), *(several if isinstance(several, list) else ())]
    named = [delivery.get("spec.chart.spec.chart")]
    for source in sources:
        if isinstance(source, dict):
            address = str(source.get("repoURL") or "")
            named.append(source.get("chart") or (address if address.startswith("oci://") else None))
    return {name.rstrip("/").rpartition("/")[2] for name in named if isinstance(name, str)}


def _of(delivery: GitOpsDelivery) -> Managed:
    by = DELIVERERS.get(delivery.kind)
    return Managed(by, f"{delivery.kind} {delivery.name}", delivery.name, delivery.namespace) if by else BY_HAND


def _marks(metadata: Metadata) -> Iterator[Managed]:
    yield from _flux(metadata)
    yield from _argo(metadata)
    yield from _labels(metadata)
    yield from _writers(metadata)
    if metadata.annotation(LAST_APPLIED) is not None:
        yield Managed("hand", f"annotation {LAST_APPLIED}")


def _flux(metadata: Metadata) -> Iterator[Managed]:
    for name_label, namespace_label in FLUX_NAMES:
        name = metadata.label(name_label)
        if name is not None:
            yield Managed("flux", f"label {name_label}", name, metadata.label(namespace_label) or "")


def _argo(metadata: Metadata) -> Iterator[Managed]:
    tracking = metadata.annotation(labels.ARGO_TRACKING)
    if tracking is not None:
        yield Managed("argocd", f"annotation {labels.ARGO_TRACKING}", tracking.partition(":")[0])
    instance = metadata.label(ARGO_INSTANCE)
    if instance is not None:
        yield Managed("argocd", f"label {ARGO_INSTANCE}", instance)


def _labels(metadata: Metadata) -> Iterator[Managed]:
    """Marks in Helm's annotations. The managed-by label alone is not sufficient: charts rendered by Argo CD or
    Terraform carry it too.
    """
    release, says = metadata.annotation(labels.HELM_RELEASE_NAME), (metadata.label(labels.APP_MANAGED_BY) or "").lower()
    if release is not None:
        yield Managed(
            "helm",
            f"annotation {labels.HELM_RELEASE_NAME}",
            release,
            metadata.annotation(labels.HELM_RELEASE_NAMESPACE) or "",
        )
    if says in ("terraform", "eksctl"):
        yield Managed("terraform" if says == "terraform" else "eksctl", f"label {labels.APP_MANAGED_BY}")


def _writers(metadata: Metadata) -> Iterator[Managed]:
    for field in metadata.managed_fields or ():
        by = _writer(field)
        if by is not None:
            yield Managed(by, f"field manager {field.manager}")


def _writer(field: ManagedField) -> Manager | None:
    name = (field.manager or "").lower()
    return next((manager for start, manager in WRITERS if name.startswith(start)), None)


CONTROLLERS = ("karpenter", "karpdash", "controller", "kube-controller-manager", "kube-apiserver")
"""Field managers that keep no manifest: controllers, and our own rollouts, which write once."""


def keeps_version(field: ManagedField, version: str) -> bool:
    """Whether the field manager keeps a manifest whose apiVersion ends in that version."""
    return (field.api_version or "").endswith(version) and not (field.manager or "").lower().startswith(CONTROLLERS)


def applies_at_once(field: ManagedField) -> bool:
    """Whether the tool behind that field manager applies again by itself."""
    return _writer(field) in IMMEDIATE_WRITERS


def may_be_terraform(metadata: Metadata) -> bool:
    """Whether the object was applied server-side as "kubectl": by kubectl itself, or by Terraform's provider kubectl,
    whose resources use the same name. False where another mark names the tool.
    """
    applied = any((field.manager, field.operation) == ("kubectl", "Apply") for field in metadata.managed_fields or ())
    return applied and managed(metadata).by == "hand"


TERRAFORM = ("terraform", "hashicorp", "opentofu")
"""Prefixes of Terraform's field managers, in lower case; those of its Helm provider count as Helm."""
BY_HELM = "terraform-provider-helm"


def appliers(metadata: Metadata, inventory: Inventory) -> tuple[str, ...]:
    """The tools that apply the object, as text with the name that the mark gives; manual changes are left out."""
    return tuple(dict.fromkeys(_deliverer_texts(metadata, inventory)))


def _deliverer_texts(metadata: Metadata, inventory: Inventory) -> Iterator[str]:
    if name := metadata.label(labels.FLUX_KUSTOMIZE_NAME):
        yield f"Flux Kustomization {name}"
    by_flux = metadata.label(labels.FLUX_HELM_NAME)
    if by_flux:
        yield f"Flux HelmRelease {by_flux}"
    tracking = metadata.annotation(labels.ARGO_TRACKING)
    if tracking or metadata.label(ARGO_INSTANCE):
        yield f"Argo CD {(tracking or '').partition(':')[0] or metadata.label(ARGO_INSTANCE)}"
    if not by_flux and (release := _release(metadata, inventory)):
        yield f"Helm release {release}"
    if any(_terraform(field.manager or "") for field in metadata.managed_fields or ()):
        yield "Terraform"


def _release(metadata: Metadata, inventory: Inventory) -> str:
    """The Helm release that the marks name, if its record exists: the marks outlive a deleted release."""
    name = metadata.annotation(labels.HELM_RELEASE_NAME)
    space = metadata.annotation(labels.HELM_RELEASE_NAMESPACE)
    known = {(helm_release.name, helm_release.namespace) for helm_release in inventory.helm_releases.items}
    return name if name and (name, space) in known else ""


def _terraform(manager: str) -> bool:
    name = manager.lower()
    return name.startswith(TERRAFORM) and not name.startswith(BY_HELM)


def replaces_whole(metadata: Metadata) -> bool:
    """Whether the tool removes fields that are no longer in its manifest, as Helm does; others merge and leave them."""
    marked = metadata.label(labels.FLUX_HELM_NAME) or metadata.annotation(labels.HELM_RELEASE_NAME)
    merged = metadata.label(labels.FLUX_KUSTOMIZE_NAME) or metadata.annotation(labels.ARGO_TRACKING)
    return bool(marked) and not merged
