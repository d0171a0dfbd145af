"""Admission webhook configurations that stay in the cluster after a chart without them was applied, and whether a Helm
release has the controller.

Helm, also inside Flux and Terraform, deletes what the new chart leaves out, and so does a Flux Kustomization that
prunes. A sync of Argo CD deletes only if it prunes, and its automated sync is off during an upgrade; `kubectl apply`
deletes nothing.
"""

from migrations_app.inventory.facts.controller import CHART, helm_release, installation, records_unread
from migrations_app.inventory.facts.managers import managed
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import Metadata
from migrations_app.inventory.parts import is_whole
from migrations_app.karpenter import labels
from migrations_app.karpenter.release_facts import admission_row


def kept_webhooks(inventory: Inventory) -> tuple[str, ...] | None:
    """The names of the configurations of Karpenter's charts that no tool deletes once a chart leaves them out; None if
    not all configurations were read."""
    if not is_whole(inventory.webhooks):
        return None
    ours = [webhook for webhook in inventory.webhooks.items if admission_row(webhook.name) is not None]
    return tuple(webhook.name for webhook in ours if not _deleted_by_tool(webhook.metadata, inventory))


def chart_deletes(inventory: Inventory) -> bool:
    """Whether Helm or Flux applies the controller's chart, and so deletes what a new chart leaves out."""
    controller = installation(inventory)
    if controller is None or controller.managed.by == "argocd":
        return False
    by_tool = controller.managed.by in ("helm", "flux")
    return by_tool or _has_record(inventory) or _owned_by_helm(controller.workload.metadata, inventory)


def without_release(inventory: Inventory) -> bool | None:
    """Whether no Helm release has the controller: Helm's records have none of its chart, and no mark of its Deployment
    names one, which may be that of a chart around it. None if not all records were read."""
    controller = installation(inventory)
    if controller is None or _has_record(inventory) or controller.managed.by == "flux":
        return False
    metadata = controller.workload.metadata
    if managed(metadata).by == "helm" or metadata.annotation(labels.HELM_RELEASE_NAME) is not None:
        return False
    return None if records_unread(inventory) else True


def _has_record(inventory: Inventory) -> bool:
    return helm_release(inventory, chart=CHART) is not None


def _deleted_by_tool(metadata: Metadata, inventory: Inventory) -> bool:
    """Whether a tool deletes the object once its chart leaves it out; by the controller's tool if it has no mark."""
    if metadata.label(labels.FLUX_HELM_NAME) is not None:
        return True
    kustomization = metadata.label(labels.FLUX_KUSTOMIZE_NAME)
    if kustomization is not None:
        return _prunes(inventory, name=kustomization, namespace=metadata.label(labels.FLUX_KUSTOMIZE_NAMESPACE) or "")
    controller = installation(inventory)
    if managed(metadata).by == "argocd" or (controller is not None and controller.managed.by == "argocd"):
        return False
    if metadata.annotation(labels.HELM_RELEASE_NAME) is not None:
        return _owned_by_helm(metadata, inventory)
    return chart_deletes(inventory)


def _owned_by_helm(metadata: Metadata, inventory: Inventory) -> bool:
    """Whether the Helm release that the marks name exists: marks outlive a deleted release. Where records were not
    read, and for a release of a chart around Karpenter's, whose record is not read, the mark counts."""
    name = metadata.annotation(labels.HELM_RELEASE_NAME)
    if name is None:
        return False
    home = metadata.annotation(labels.HELM_RELEASE_NAMESPACE) or ""
    recorded = {(record.name, record.namespace) for record in inventory.helm_releases.items}
    return (name, home) in recorded or bool(records_unread(inventory)) or not _has_record(inventory)


def _prunes(inventory: Inventory, *, name: str, namespace: str) -> bool:
    """Whether that Flux Kustomization was read and prunes."""
    return any(
        delivery.kind == "Kustomization"
        and (delivery.name, delivery.namespace) == (name, namespace)
        and delivery.get("spec.prune") is True
        for delivery in inventory.deliveries.items
    )
