"""Marks of CRDs: who owns them, and who leaves them where they are."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.checks.changes import Change, ChangeTarget, ObjectPatch, group, merge_undone
from migrations_app.checks.remedies.commands import in_cluster, kubectl
from migrations_app.checks.remedies.object_marks import annotated
from migrations_app.checks.remedies.placement import nested
from migrations_app.checks.shell import note
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import CRD

PRUNE = "argocd.argoproj.io/sync-options"
"""Argo CD reads it from the object in the cluster as well, and leaves one with Prune=false where it is."""
ALL_CRDS = "$(kubectl get crd -o name | grep -E '[.]karpenter[.](sh|k8s[.]aws)$')"
_BEFORE = "Before a chart leaves them out: with automated prune every NodePool and node goes with its CRD"


def crd_target(name: str) -> ChangeTarget:
    return ChangeTarget("CustomResourceDefinition", name, resource="crd")


def crds_annotated(crds: Iterable[CRD], given: Mapping[str, str], *, notes: Sequence[str] = ()) -> Change:
    """The annotations on each of these CRDs, with the way back."""
    steps = (annotated(crd_target(crd.name), crd.metadata.annotations, given=given) for crd in crds)
    return group(*steps, notes=tuple(notes))


def crds_kept(crds: Sequence[CRD]) -> Remedy:
    """Marks these CRDs so that Argo CD does not delete them where they leave a chart."""
    return in_cluster(crds_annotated(crds, {PRUNE: "Prune=false"}, notes=(_BEFORE,)))


def crds_left_alone(inventory: Inventory, row: Evidence) -> ObjectPatch:
    """The delivery of the main chart says that it leaves the CRDs alone, in the cluster or rather in its source."""
    by_name = {(delivery.kind, delivery.namespace, delivery.name): delivery for delivery in inventory.deliveries.items}
    body = nested(row.path, True if row.kind == "Application" else "Skip")
    target = ChangeTarget(row.kind, row.name, row.namespace)
    patch = ObjectPatch(target=target, body=body, done=f"{row.path} is {row.wanted}")
    delivery = by_name.get((row.kind, row.namespace, row.name))
    if delivery is None:
        return patch
    return replace(patch, undo=replace(patch, body=merge_undone(body, {"spec": delivery.spec or {}}), done=""))


def every_crd_kept() -> Remedy:
    """The same for all CRDs of Karpenter, if it is not known which ones exist."""
    return kubectl(note(_BEFORE), f"kubectl annotate {ALL_CRDS} {PRUNE}=Prune=false --overwrite")
