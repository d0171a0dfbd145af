"""Remedies for the protection of pods: loosen budgets, remove annotations, and rename them to the current name."""

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import Change, ChangeTarget, ObjectPatch, PersonTask, seen_patch
from migrations_app.checks.remedies.object_marks import change_annotations
from migrations_app.checks.remedies.placement import workload_target
from migrations_app.checks.shell import word
from migrations_app.inventory.objects.workloads import BudgetSpec
from migrations_app.karpenter import labels
from migrations_app.manifests import JsonMap
from migrations_app.manifests.patches import merge_patch_at

RESTARTS = "It makes the pods anew, the protected ones too: wait until their work may stop"
MARK = f"{labels.DO_NOT_DISRUPT}=true"


def loosen_budget(row: Evidence, spec: BudgetSpec) -> ObjectPatch:
    """Lets the budget allow one disruption; the undo restores its spec."""
    target = ChangeTarget(row.kind, row.name, row.namespace, resource="pdb")
    former = {"minAvailable": spec.min_available, "maxUnavailable": spec.max_unavailable}
    body: JsonMap = {"spec": {"minAvailable": None, "maxUnavailable": 1}}
    done = f"PodDisruptionBudget {row.namespace}/{row.name} lets one pod go"
    return seen_patch(target, body, tree={"spec": former}, done=done, undo_when="after")


def remove_protection(row: Evidence) -> Change:
    """Removes the annotation that the evidence names from a pod or node; a manual task for the pods of a workload."""
    key = row.path.removeprefix("metadata.annotations[").removesuffix("]")
    if row.kind in ("Pod", "Node"):
        return change_annotations(ChangeTarget(row.kind, row.name, row.namespace), {key: "true"}, removed=(key,))
    pods = f"the {row.count} pods" if row.count > 1 else "the pod"
    home = f"kubectl -n {word(row.namespace)}"
    return PersonTask(
        what=f"take {key} off {pods} of {row.kind} {row.name}: {home} annotate pod NAME {key}-",
        why="their owners say when the work is done; pods made anew have it from their template",
        where=f"{home} get pods -o wide",
    )


def renew_protection(row: Evidence) -> Change:
    """Adds the current annotation next to the old one. In a template this restarts the pods; a running pod is annotated
    in place."""
    root, inside, _ = row.path.partition(".template.metadata.annotations")
    if inside:
        target, path = workload_target(row), f"{root}{inside}"
        notes = () if row.kind == "NodePool" else (RESTARTS,)
        undo = ObjectPatch(target=target, body=merge_patch_at(path, {labels.DO_NOT_DISRUPT: None}))
        body = merge_patch_at(path, {labels.DO_NOT_DISRUPT: "true"})
        return ObjectPatch(target=target, body=body, undo=undo, done=f"the template has {MARK}", notes=notes)
    if row.kind in ("Pod", "Node", "NodeClaim"):
        return change_annotations(workload_target(row), {}, given={labels.DO_NOT_DISRUPT: "true"})
    return PersonTask(
        what=f"mark each pod of {row.kind} {row.name} in {row.namespace}: kubectl annotate pod NAME {MARK}",
        why="its template was not seen, and its pods change",
        where=f"kubectl -n {word(row.namespace)} get pods -o wide",
    )
