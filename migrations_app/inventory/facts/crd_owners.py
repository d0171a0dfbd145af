"""Who upgrades a CRD: the Helm release whose manifest holds it, the release that its marks name, or a GitOps tool."""

from migrations_app.inventory.facts.controller import CHART, CRD_CHART, records_unread
from migrations_app.inventory.facts.managers import Managed, managed
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import CRD
from migrations_app.karpenter import labels

ReleaseKey = tuple[str, str]
"""Namespace and name."""
BY_FLUX_HELM = (f"label {labels.FLUX_HELM_NAME}", "field manager helm-controller")
"""Marks that the Helm controller of Flux also leaves on CRDs that it installs once and never upgrades."""
OVERWRITES = ("Create", "CreateReplace")
"""fluxcd/helm-controller@main:docs/spec/v2/helmreleases.md: values of spec.upgrade.crds besides Skip, the default."""


def unowned(crd: CRD, inventory: Inventory) -> str:
    """What the marks of the CRD say if no tool upgrades it; empty if a tool does."""
    if any(
        crd.name in helm_release.crds and helm_release.status != "uninstalled"
        for helm_release in inventory.helm_releases.items
    ):
        return ""  # it is in the manifest of a release, and the next `helm upgrade` sets its marks
    by, marked = managed(crd.metadata), crd.metadata.annotation(labels.HELM_RELEASE_NAME)
    if by.by == "flux" and by.told_by in BY_FLUX_HELM:
        if marked is None:
            return "" if _flux_replaces(by, inventory) else f"HelmRelease {by.name} of Flux, which upgrades no CRD"
    elif by.by not in ("hand", "eksctl", "helm"):
        return ""
    if marked is None:
        return "absent"
    return "" if _has_release_marks(crd, inventory) else f"{marked} (no such release, or without its label)"


def _flux_replaces(by: Managed, inventory: Inventory) -> bool:
    """Whether the HelmRelease upgrades the chart's CRDs; by default it does not."""
    releases = (delivery for delivery in inventory.deliveries.items if delivery.kind == "HelmRelease")
    return any(
        release.name == by.name
        and by.namespace in ("", release.namespace)
        and release.get("spec.upgrade.crds") in OVERWRITES
        for release in releases
    )


def _releases(inventory: Inventory) -> frozenset[ReleaseKey] | None:
    """Releases of karpenter-crd; None if no record, or not every record, was seen: that proves nothing.

    Helm refuses a CRD that is marked for the controller's own release just as a CRD without marks.
    """
    releases = _of_chart(inventory, CRD_CHART)
    return releases if releases and not records_unread(inventory) else None


def _of_chart(inventory: Inventory, chart: str) -> frozenset[ReleaseKey]:
    return frozenset(
        (helm_release.namespace, helm_release.name)
        for helm_release in inventory.helm_releases.items
        if helm_release.chart == chart
    )


def _has_release_marks(crd: CRD, inventory: Inventory) -> bool:
    metadata, known = crd.metadata, _releases(inventory)
    owner = (
        metadata.annotation(labels.HELM_RELEASE_NAMESPACE) or "",
        metadata.annotation(labels.HELM_RELEASE_NAME) or "",
    )
    if metadata.label(labels.APP_MANAGED_BY) != "Helm":
        return False
    return owner not in _of_chart(inventory, CHART) if known is None else owner in known
