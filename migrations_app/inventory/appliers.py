"""Every tool that applies an object, told from all its marks: two of them undo each other's work for ever."""

from collections.abc import Iterator

from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.managers import ARGO_INSTANCE
from migrations_app.inventory.objects import Metadata
from migrations_app.karpenter import labels

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
