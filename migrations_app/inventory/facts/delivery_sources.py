"""Where a delivery of Flux or Argo CD comes from: the repository that it names, and at which branch or version."""

from collections.abc import Iterator

from migrations_app.inventory.facts.node_pools import text
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.cluster import GitOpsSource
from migrations_app.inventory.objects.karpenter import GitOpsDelivery

REFERENCES = ("spec.sourceRef", "spec.chartRef", "spec.chart.spec.sourceRef")
"""Where a Kustomization and a HelmRelease of Flux name their source."""
SourceName = tuple[str, str, str]
"""Kind, namespace and name."""


def source_names(delivery: GitOpsDelivery) -> Iterator[SourceName]:
    """The sources that a delivery of Flux names."""
    for path in REFERENCES:
        found = delivery.get(path)
        if isinstance(found, dict):
            yield str(found.get("kind")), str(found.get("namespace") or delivery.namespace), str(found.get("name"))


def source_of(inventory: Inventory, delivery: GitOpsDelivery) -> GitOpsSource | None:
    """The source of a delivery of Flux; None if it was not seen, or the delivery names none."""
    wanted = set(source_names(delivery))
    return next((one for one in inventory.sources.items if (one.kind, one.namespace, one.name) in wanted), None)


def comes_from(inventory: Inventory, delivery: GitOpsDelivery) -> str:
    """The repository behind a delivery, with its branch or version; empty if it is not known."""
    if delivery.kind == "Application":
        at = text(delivery, "spec.source.targetRevision")
        return f"{text(delivery, 'spec.source.repoURL')} {at}".strip()
    found = source_of(inventory, delivery)
    return f"{found.kind} {found.namespace}/{found.name}, {found.where}".strip(", ") if found else ""
