"""Says what to change in the source of an object, if a tool would revert a direct change in the cluster."""

from typing import Final

from migrations_app.checks.changes import (
    Change,
    ChangeGroup,
    ChangeTarget,
    NodeTaint,
    ObjectAnnotations,
    ObjectApply,
    ObjectDelete,
    ObjectLabels,
    ObjectPatch,
    PersonTask,
    QueryRename,
    leaves,
)
from migrations_app.checks.shell import note, word, words
from migrations_app.inventory.facts.managers import Managed, Manager
from migrations_app.karpenter import labels

OF_OBJECTS: Final = (
    ObjectPatch, ObjectApply, ObjectDelete, ObjectLabels, ObjectAnnotations, NodeTaint, QueryRename,
)  # fmt: skip
"""Changes of objects of Kubernetes."""


def source_text(change: Change, by: Managed, *, tool: Manager) -> str:
    """What to change in the source of that tool; empty if the tool manages no object of the change."""
    is_managed = by.by == tool and any(map(_of_object, leaves(change)))
    deleted_targets = tuple(dict.fromkeys(leave.target for leave in leaves(change) if isinstance(leave, ObjectDelete)))
    return source_note(by, _change_text(change), gone=deleted_targets) if is_managed else ""


def _of_object(change: Change) -> bool:
    return isinstance(change, OF_OBJECTS) or (isinstance(change, PersonTask) and change.target is not None)


def _change_text(change: Change) -> str:
    if change.what:
        return change.what
    if isinstance(change, ChangeGroup):
        return "; ".join(dict.fromkeys(_change_text(step) for step in change.steps if step.target is not None))
    target = change.target
    return f"change {target.kind} {target.name}" if target else ""


def source_note(by: Managed, what: str, *, gone: tuple[ChangeTarget, ...] = ()) -> str:
    """Comments: the source, what to do there, and how to apply it; empty for objects managed by hand or by eksctl.
    `gone` are objects that the source no longer contains."""
    owner = f" ({by.namespace + '/' if by.namespace else ''}{by.name})" if by.name else ""
    where = {
        "flux": f"In the repository that Flux applies{owner}",
        "argocd": f"In the source of the Argo CD Application{owner}",
        "terraform": "In the Terraform code that holds it",
        "helm": f"In the chart of the Helm release{owner}",
    }
    if by.by not in where:
        return ""
    return "\n".join(map(note, filter(None, (f"{where[by.by]}: {what}", _applied(by, gone)))))


PLAN: Final = "karpenter.tfplan"
TERRAFORM: Final = f"Then terraform plan -out={PLAN}, see that nothing else changes, and terraform apply {PLAN}"


def _applied(by: Managed, gone: tuple[ChangeTarget, ...]) -> str:
    """How the tool applies its source; empty if the name of the delivery object is unknown."""
    if by.by == "terraform":
        return TERRAFORM
    if by.by == "argocd" and by.name:
        name = words([f"{by.namespace}/{by.name}" if by.namespace else by.name])
        only = [f"--resource {word(f'{_group_of(target)}:{target.kind}:{target.name}')}" for target in gone]
        return f"Then argocd app sync {' '.join((name, '--prune' * bool(only), *only)).strip()}".replace("  ", " ")
    if by.by == "flux" and by.name and by.told_by in _FLUX:
        home = f" --namespace {word(by.namespace)}" if by.namespace else ""
        delivery = f"{_FLUX[by.told_by]} {word(by.name)}{home}"
        return f"Then flux resume {delivery} && flux reconcile {delivery} --with-source"
    return ""


_FLUX: Final = {
    f"label {labels.FLUX_KUSTOMIZE_NAME}": "kustomization",
    f"label {labels.FLUX_HELM_NAME}": "helmrelease",
}


def _group_of(target: ChangeTarget) -> str:
    """The API group in the name of the resource; empty if it has none."""
    return target.resource.partition(".")[2]
