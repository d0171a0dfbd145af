"""Annotations of CRDs that keep Argo CD from deleting them, and settings that keep deliveries from changing CRDs."""

from collections.abc import Iterable, Mapping, Sequence

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.checks.changes import Change, ChangeTarget, ObjectPatch, group, with_seen
from migrations_app.checks.remedies.commands import in_cluster, kubectl
from migrations_app.checks.remedies.object_marks import change_annotations
from migrations_app.checks.shell import note
from migrations_app.inventory.facts.delivery_sources import below
from migrations_app.inventory.facts.managers import Manager, managed
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import CRD, GitOpsDelivery
from migrations_app.manifests import JsonMap
from migrations_app.manifests.patches import merge_patch_at

PRUNE = "argocd.argoproj.io/sync-options"
"""Argo CD also reads this annotation, a list, from the live object, and does not delete an object with Prune=false."""
KEPT = "Prune=false"
FLUX_PRUNE = "kustomize.toolkit.fluxcd.io/prune"
ALL_CRDS = "$(kubectl get crd -o name | grep -E '[.]karpenter[.](sh|k8s[.]aws)$')"
_BEFORE = "Before a chart leaves them out: with automated prune every NodePool and node goes with its CRD"
_IN_GIT = f"Write {KEPT} in Git too: a sync takes it away where Git has another list, or replaces the CRDs"
_NOTES: Mapping[Manager, str] = {
    "argocd": _IN_GIT,
    "flux": f"Write {FLUX_PRUNE}=disabled in Git too: Flux takes away what kubectl wrote into its objects",
}
"""For each tool that applies CRDs from Git, the note of a mark that is written in the cluster."""
_OPTIONS = "{.metadata.annotations.argocd\\.argoproj\\.io/sync-options}"


def crd_target(name: str) -> ChangeTarget:
    return ChangeTarget("CustomResourceDefinition", name, resource="crd")


def annotate_crds(crds: Iterable[CRD], given: Mapping[str, str], *, notes: Sequence[str] = ()) -> Change:
    """Sets the annotations on each of these CRDs, with their undo. Sync options of Argo CD are added to their list."""
    steps = (
        change_annotations(crd_target(crd.name), crd.metadata.annotations, given=_beside(crd, given)) for crd in crds
    )
    return group(*steps, notes=tuple(notes))


def _beside(crd: CRD, given: Mapping[str, str]) -> Mapping[str, str]:
    """The annotations for that CRD: its sync options stay, but for another value of the same one."""
    if PRUNE not in given:
        return given
    name = given[PRUNE].partition("=")[0]
    options = [option.strip() for option in (crd.metadata.annotation(PRUNE) or "").split(",")]
    others = [option for option in options if option and option.partition("=")[0].strip() != name]
    return {**given, PRUNE: ",".join((*others, given[PRUNE]))}


def git_notes(crds: Iterable[CRD]) -> tuple[str, ...]:
    """A note for each tool that applies some of these CRDs from Git: the marks belong there, too."""
    managers = [managed(crd.metadata) for crd in crds]
    tools = {manager.by for manager in managers if not manager.through_helm}
    return tuple(text for tool, text in _NOTES.items() if tool in tools)


def keep_crds(crds: Sequence[CRD]) -> Remedy:
    """Annotates these CRDs so that Argo CD does not delete them when a chart no longer contains them."""
    return in_cluster(annotate_crds(crds, {PRUNE: KEPT}, notes=(_BEFORE, _IN_GIT)))


def skip_crds(inventory: Inventory, row: Evidence) -> ObjectPatch:
    """Makes the delivery of the main chart skip CRDs. The change belongs in the source of the delivery; the patch
    changes the object in the cluster."""
    by_name = {(delivery.kind, delivery.namespace, delivery.name): delivery for delivery in inventory.deliveries.items}
    target, done = ChangeTarget(row.kind, row.name, row.namespace), f"{row.path} is {row.wanted}"
    delivery = by_name.get((row.kind, row.namespace, row.name))
    if "[" in row.path:
        return _skip_in_list(row, delivery, target=target, done=done)
    body = merge_patch_at(row.path, True if row.kind == "Application" else "Skip")
    patch = ObjectPatch(target=target, body=body, done=done)
    if delivery is None:
        return patch
    return with_seen(patch, {"spec": delivery.spec or {}})


def _skip_in_list(row: Evidence, delivery: GitOpsDelivery | None, *, target: ChangeTarget, done: str) -> ObjectPatch:
    """One of several sources of an Application: a JSON patch of its Helm settings, as a whole. It is refused if another
    source is at that place, or has other settings, since the scan."""
    at = row.path.replace("[", ".").replace("]", "").split(".")[:-1]
    former = below(delivery.spec or {}, tuple(at[1:])) if delivery else None
    path = "/" + "/".join(at)
    settings = (former if isinstance(former, dict) else {}) | {"skipCrds": True}
    source = below(delivery.spec or {}, tuple(at[1:-1])) if delivery else None
    chart: JsonMap = {
        "op": "test",
        "path": f"{path.rpartition('/')[0]}/chart",
        "value": source.get("chart") if isinstance(source, dict) else None,
    }
    undo: JsonMap = (
        {"op": "remove", "path": path} if former is None else {"op": "replace", "path": path, "value": former}
    )
    return ObjectPatch(
        target=target,
        body=(chart, {"op": "test", "path": path, "value": former}, {"op": "add", "path": path, "value": settings}),
        done=done,
        undo=ObjectPatch(target=target, body=(chart, {"op": "test", "path": path, "value": settings}, undo)),
    )


def keep_all_crds() -> Remedy:
    """Annotates all CRDs of Karpenter, for the case that it is unknown which ones exist, and with which options."""
    return kubectl(
        note(_BEFORE),
        note(_IN_GIT),
        f"for crd in {ALL_CRDS}; do",
        f"  options=$(kubectl get \"$crd\" -o jsonpath='{_OPTIONS}') || break",
        "  options=$(printf '%s' \"$options\" | tr -d ' ' | tr ',' '\\n' | sed '/^Prune=/d' | paste -sd, -)",
        f'  kubectl annotate "$crd" "{PRUNE}=${{options:+$options,}}{KEPT}" --overwrite',
        "done",
    )
