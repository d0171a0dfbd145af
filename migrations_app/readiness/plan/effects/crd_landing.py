"""The CRDs after the chart of the CRDs was brought to a release, as the tables say."""

from collections.abc import Iterable
from dataclasses import replace as with_fields
from typing import Final

from msgspec.structs import replace

from migrations_app.inventory.facts.controller import CRD_CHART
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import karpenter as o
from migrations_app.inventory.parts import Part, Seen, Unseen
from migrations_app.karpenter import kinds, labels
from migrations_app.karpenter.crds import Crd, marks_of
from migrations_app.karpenter.releases import crd_set
from migrations_app.karpenter.versions import Release
from migrations_app.readiness.plan.effects.not_shown import NotShown
from migrations_app.readiness.plan.effects.places import with_items

KEEP: Final = "helm.sh/resource-policy"
PARTS: Final = {
    kinds.PROVISIONER: "provisioners",
    kinds.AWS_NODE_TEMPLATE: "awsnodetemplates",
    kinds.MACHINE: "machines",
}
"""The kinds that later charts hold no more, with the parts of their objects."""


def landed_crds(inventory: Inventory, to: Release) -> Inventory | NotShown:
    """With the CRDs that the release ships; others stay, and so does what was stored. A version that is not served any
    more, but still stored, is refused by the server."""
    part, shipped = inventory.crds, crd_set(to)
    if isinstance(part, Unseen) or shipped is None:
        return NotShown("part_not_read", "crds") if isinstance(part, Unseen) else NotShown("release_not_known", str(to))
    by_name = {installed_crd.name: installed_crd for installed_crd in part.items}
    for crd in shipped.crds:
        old = by_name.get(crd.name)
        left = set(old.stored if old else ()) - {version.name for version in crd.versions}
        if left:
            return NotShown("refused", f"{crd.name} {', '.join(sorted(left))} is stored")
        by_name[crd.name] = _brought(old, crd, to=to, converts=shipped.crd_chart_converts)
    every = tuple(by_name.values())
    return with_fields(inventory, crds=with_items(part, every), discovery=_served(inventory.discovery, every))


def brought_crds(inventory: Inventory, to: Release, *, service: o.ServiceReference | None) -> Inventory:
    """The same for a hop that lands: what its own checks ask for is done by then, so nothing of an older version is
    stored. CRDs that convert call that service. As it was where CRDs were not read."""
    part, shipped = inventory.crds, crd_set(to)
    if isinstance(part, Unseen) or shipped is None:
        return inventory
    by_name = {installed_crd.name: installed_crd for installed_crd in part.items}
    for crd in shipped.crds:
        updated = _brought(by_name.get(crd.name), crd, to=to, converts=shipped.crd_chart_converts)
        by_name[crd.name] = _landed(updated, crd, service=service)
    shipped_names = {crd.name for crd in shipped.crds}
    every = tuple(crd for name, crd in by_name.items() if name in shipped_names or not _goes(inventory, crd))
    return with_fields(inventory, crds=with_items(part, every), discovery=_served(inventory.discovery, every))


def _goes(inventory: Inventory, crd: o.CRD) -> bool:
    """Whether the Helm release of the CRDs deletes it because its chart holds it no more; one of which objects are left
    stays, since that is asked for first."""
    part = next((PARTS[kind] for kind in PARTS if kind.crd_name == crd.name), None)
    left = inventory.part(part) if part else None
    listed = any(
        helm_release.chart == CRD_CHART and crd.name in helm_release.crds
        for helm_release in inventory.helm_releases.items
    )
    return listed and isinstance(left, Seen) and not left.items and crd.metadata.annotation(KEEP) != "keep"


def _landed(installed_crd: o.CRD, crd: Crd, *, service: o.ServiceReference | None) -> o.CRD:
    known = {version.name for version in crd.versions}
    status = replace(
        installed_crd.status or o.CRDStatus(),
        stored_versions=[stored_version for stored_version in installed_crd.stored if stored_version in known],
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


def _served(part: Part[o.ServedResource], crds: Iterable[o.CRD]) -> Part[o.ServedResource]:
    """The resources that the server tells once the CRDs are established: those of other groups stay as they are."""
    if isinstance(part, Unseen):
        return part
    groups = {crd.spec.group for crd in crds}
    ours = tuple(
        o.ServedResource(
            group=crd.spec.group, version=version, plural=crd.spec.names.plural, kind=crd.spec.names.kind,
            namespaced=False,
        )
        for crd in crds
        for version in crd.served
    )  # fmt: skip
    return with_items(part, (*(resource for resource in part.items if resource.group not in groups), *ours))


def _brought(old: o.CRD | None, crd: Crd, *, to: Release, converts: bool) -> o.CRD:
    versions = [
        o.CRDVersion(
            name=version.name, served=version.served, storage=version.storage,
            fields=[mark.path for mark in marks_of(crd.name, version.name, running=to)],
        )
        for version in crd.versions
    ]  # fmt: skip
    names = o.CRDNames(kind=crd.kind.kind, plural=crd.kind.plural)
    conversion = (old.spec.conversion if old else None) if converts else o.CrdConversion(strategy="None")
    spec = o.CRDSpec(group=crd.kind.group, names=names, versions=versions, conversion=conversion)
    before = old or o.CRD(metadata=o.Metadata(name=crd.name))
    stored = list(dict.fromkeys((*before.stored, crd.storage)))
    status = replace(before.status or o.CRDStatus(), stored_versions=stored)
    return replace(before, spec=spec, status=status)
