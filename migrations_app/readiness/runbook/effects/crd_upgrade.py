"""Computes the CRDs after their chart was upgraded to a release, as the release tables describe them."""

from collections.abc import Iterable
from dataclasses import replace as with_fields
from typing import Final

from msgspec.structs import replace

from migrations_app.inventory.facts.controller import CRD_CHART
from migrations_app.inventory.facts.conversion_webhook import CONVERTED, WebhookAddress, chart_webhook
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import karpenter as o
from migrations_app.inventory.parts import Part, Seen, Unseen
from migrations_app.karpenter import kinds, labels
from migrations_app.karpenter.crds import Crd, marks_of
from migrations_app.karpenter.releases import crd_set
from migrations_app.karpenter.versions import Release
from migrations_app.readiness.runbook.effects.object_lookup import with_items
from migrations_app.readiness.runbook.effects.unknown_effect import NotShown

KEEP_ANNOTATION: Final = "helm.sh/resource-policy"
ALPHA_PARTS: Final = {
    kinds.PROVISIONER: "provisioners",
    kinds.AWS_NODE_TEMPLATE: "awsnodetemplates",
    kinds.MACHINE: "machines",
}
"""The kinds that later charts no longer have, with the parts of their objects."""


def with_crds_of_release(inventory: Inventory, to: Release) -> Inventory | NotShown:
    """The inventory with the CRDs that the release ships and the conversion that the values of their chart make; other
    CRDs stay. Stored versions stay too; NotShown `refused` if a new CRD lacks a stored version, since the API server
    refuses this.
    """
    part, shipped = inventory.crds, crd_set(to)
    if isinstance(part, Unseen) or shipped is None:
        return NotShown("part_not_read", "crds") if isinstance(part, Unseen) else NotShown("release_not_known", str(to))
    by_name = {installed_crd.name: installed_crd for installed_crd in part.items}
    for crd in shipped.crds:
        installed = by_name.get(crd.name)
        lost = set(installed.stored if installed else ()) - {version.name for version in crd.versions}
        if lost:
            return NotShown("refused", f"{crd.name} {', '.join(sorted(lost))} is stored")
        by_name[crd.name] = _updated_crd(installed, crd, to=to, converts=shipped.crd_chart_converts)
    address = chart_webhook(inventory, to)
    crds = tuple(_with_chart_conversion(crd, address) if address else crd for crd in by_name.values())
    return with_fields(inventory, crds=with_items(part, crds), discovery=_served_resources(inventory.discovery, crds))


def _with_chart_conversion(crd: o.CRD, address: WebhookAddress) -> o.CRD:
    """The CRD with the conversion of its chart, if it converts; unchanged if the namespace is not known."""
    if crd.name not in CONVERTED or len(crd.served) < 2 or not address.namespace:
        return crd
    service = o.ServiceReference(name=address.name, namespace=address.namespace, port=address.port)
    webhook = o.ConversionWebhook(client_config=o.WebhookTarget(service=service)) if address.converts else None
    conversion = o.CrdConversion(strategy="Webhook" if webhook else "None", webhook=webhook)
    return replace(crd, spec=replace(crd.spec, conversion=conversion))


def with_crds_after_upgrade(inventory: Inventory, to: Release, *, service: o.ServiceReference | None) -> Inventory:
    """The inventory with the CRDs that the release ships, after the upgrade of a hop: its checks were fixed before, so
    no older version is stored. CRDs that convert call `service`. Unchanged if CRDs were not read.
    """
    part, shipped = inventory.crds, crd_set(to)
    if isinstance(part, Unseen) or shipped is None:
        return inventory
    by_name = {installed_crd.name: installed_crd for installed_crd in part.items}
    for crd in shipped.crds:
        updated = _updated_crd(by_name.get(crd.name), crd, to=to, converts=shipped.crd_chart_converts)
        by_name[crd.name] = _with_webhook_and_owner(updated, crd, service=service)
    shipped_names = {crd.name for crd in shipped.crds}
    crds = tuple(crd for name, crd in by_name.items() if name in shipped_names or not _is_deleted(inventory, crd))
    return with_fields(inventory, crds=with_items(part, crds), discovery=_served_resources(inventory.discovery, crds))


def _is_deleted(inventory: Inventory, crd: o.CRD) -> bool:
    """Whether the Helm release of the CRDs deletes the CRD, which its chart no longer has. A CRD with objects stays: a
    check asks to delete these first."""
    part = next((ALPHA_PARTS[kind] for kind in ALPHA_PARTS if kind.crd_name == crd.name), None)
    objects = inventory.part(part) if part else None
    listed = any(
        helm_release.chart == CRD_CHART and crd.name in helm_release.crds
        for helm_release in inventory.helm_releases.items
    )
    return (
        listed
        and isinstance(objects, Seen)
        and not objects.items
        and crd.metadata.annotation(KEEP_ANNOTATION) != "keep"
    )


def _with_webhook_and_owner(installed_crd: o.CRD, crd: Crd, *, service: o.ServiceReference | None) -> o.CRD:
    """The CRD with only shipped versions stored, with the conversion webhook, and a new CRD with the marks of Helm."""
    shipped = {version.name for version in crd.versions}
    status = replace(
        installed_crd.status or o.CRDStatus(),
        stored_versions=[stored_version for stored_version in installed_crd.stored if stored_version in shipped],
    )
    spec = installed_crd.spec
    if len(installed_crd.served) > 1 and service is not None:
        webhook = o.ConversionWebhook(client_config=o.WebhookTarget(service=service))
        spec = replace(spec, conversion=o.CrdConversion(strategy="Webhook", webhook=webhook))
    metadata = installed_crd.metadata
    if not metadata.labels and not metadata.annotations:
        marks = {labels.HELM_RELEASE_NAME: CRD_CHART}
        if service is not None:
            marks[labels.HELM_RELEASE_NAMESPACE] = service.namespace
        metadata = replace(metadata, labels={labels.APP_MANAGED_BY: "Helm"}, annotations=marks)
    return replace(installed_crd, metadata=metadata, spec=spec, status=status)


def _served_resources(part: Part[o.ServedResource], crds: Iterable[o.CRD]) -> Part[o.ServedResource]:
    """The resources that the API server serves with these CRDs; resources of other groups stay as they are."""
    if isinstance(part, Unseen):
        return part
    groups = {crd.spec.group for crd in crds}
    resources = tuple(
        o.ServedResource(
            group=crd.spec.group, version=version, plural=crd.spec.names.plural, kind=crd.spec.names.kind,
            namespaced=False,
        )
        for crd in crds
        for version in crd.served
    )  # fmt: skip
    return with_items(part, (*(resource for resource in part.items if resource.group not in groups), *resources))


def _updated_crd(installed: o.CRD | None, crd: Crd, *, to: Release, converts: bool) -> o.CRD:
    """The installed CRD, or a new one, with the versions of the shipped `crd`; stored versions are kept."""
    versions = [
        o.CRDVersion(
            name=version.name, served=version.served, storage=version.storage,
            fields=[mark.path for mark in marks_of(crd.name, version.name, running=to)],
        )
        for version in crd.versions
    ]  # fmt: skip
    names = o.CRDNames(kind=crd.kind.kind, plural=crd.kind.plural)
    conversion = (installed.spec.conversion if installed else None) if converts else o.CrdConversion(strategy="None")
    spec = o.CRDSpec(group=crd.kind.group, names=names, versions=versions, conversion=conversion)
    base = installed or o.CRD(metadata=o.Metadata(name=crd.name))
    stored = list(dict.fromkeys((*base.stored, crd.storage)))
    status = replace(base.status or o.CRDStatus(), stored_versions=stored)
    return replace(base, spec=spec, status=status)
