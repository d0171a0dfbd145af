"""Who looks after an object: Helm, Flux, Argo CD, Terraform, eksctl, or a person. Read from its marks, never asked.

The most jealous one is named first: what reverts a direct write (Flux, Argo CD), then what would revert it at its next
run (Terraform, eksctl), then Helm, which only overwrites at the next upgrade.

Every tool that applies an object, told from all its marks: two of them undo each other's work for ever.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import GitOpsDelivery, Metadata
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
"""Who undoes a direct write, and how that is told. Helm overwrites at the next upgrade of its release only."""
AT_ONCE: tuple[Manager, ...] = ("flux", "argocd")
"""These of them do it by themselves, within minutes."""

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
"""How the name of a field manager begins, in lower case, and who that is; the first that fits decides.

Sources: fluxcd/pkg@main:ssa (kustomize-controller, helm-controller), argoproj/argo-cd@master:common,
hashicorp/terraform-provider-kubernetes@main:manifest ("Terraform"; its typed resources write as "HashiCorp"),
helm/helm@main:pkg/kube ("helm"), kubernetes/kubectl@master (kubectl-client-side-apply, kubectl-edit and others).
"""


@dataclass(frozen=True, slots=True)
class Managed:
    """`by` looks after the object; `told_by` is the mark that says so, empty where nothing does; `name` its owner."""

    by: Manager
    told_by: str = ""
    name: str = ""
    namespace: str = ""

    @property
    def reverts(self) -> bool:
        """Whether a direct write would be undone without anybody's doing."""
        return self.by in AT_ONCE


BY_HAND = Managed("hand")


def managed(metadata: Metadata) -> Managed:
    """Who looks after the object with that metadata; a hand where nothing says otherwise."""
    found = {mark.by: mark for mark in reversed(list(_marks(metadata)))}
    return next((found[manager] for manager in MANAGERS if manager in found), BY_HAND)


def delivered(metadata: Metadata, deliveries: Iterable[GitOpsDelivery]) -> Managed:
    """As `managed`, and where the object itself names no GitOps tool, the Flux or Argo CD object that delivers it.

    Argo CD tracks by a label that charts set too, so only its Application tells the two apart.
    """
    own = managed(metadata)
    if own.by in ("helm", "hand"):
        return next((_of(delivery) for delivery in deliveries if _of(delivery) is not BY_HAND), own)
    return own


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
    """The label alone is not enough for Helm: charts rendered by Argo CD or Terraform carry it too."""
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
        name = (field.manager or "").lower()
        by = next((manager for start, manager in WRITERS if name.startswith(start)), None)
        if by is not None:
            yield Managed(by, f"field manager {field.manager}")


TERRAFORM = ("terraform", "hashicorp", "opentofu")
"""How their field managers begin, in lower case; those of the Helm provider are Helm."""
BY_HELM = "terraform-provider-helm"
GITOPS = ("Flux Kustomization", "Flux HelmRelease", "Argo CD")


def appliers(metadata: Metadata, inventory: Inventory) -> tuple[str, ...]:
    """The tools in words, each with the name that its mark gives; persons are none of them."""
    return tuple(dict.fromkeys(_found(metadata, inventory)))


def _found(metadata: Metadata, inventory: Inventory) -> Iterator[str]:
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
    """The release that the marks name, where its record is there: marks outlive a release that is gone."""
    name = metadata.annotation(labels.HELM_RELEASE_NAME)
    space = metadata.annotation(labels.HELM_RELEASE_NAMESPACE)
    known = {(one.name, one.namespace) for one in inventory.helm_releases.items}
    return name if name and (name, space) in known else ""


def _terraform(manager: str) -> bool:
    name = manager.lower()
    return name.startswith(TERRAFORM) and not name.startswith(BY_HELM)


def replaces_whole(metadata: Metadata) -> bool:
    """Whether what applies it takes out what its last manifest held, as Helm does; others merge and leave."""
    marked = metadata.label(labels.FLUX_HELM_NAME) or metadata.annotation(labels.HELM_RELEASE_NAME)
    merged = metadata.label(labels.FLUX_KUSTOMIZE_NAME) or metadata.annotation(labels.ARGO_TRACKING)
    return bool(marked) and not merged
