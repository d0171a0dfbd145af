"""What to change where a tool reads an object: the words that stand first when a direct write would be undone."""

from typing import Final

from migrations_app.checks.changes import (
    Change,
    ChangeGroup,
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
from migrations_app.checks.shell import note
from migrations_app.inventory.facts.managers import Managed, Manager

OF_OBJECTS: Final = (
    ObjectPatch, ObjectApply, ObjectDelete, ObjectLabels, ObjectAnnotations, NodeTaint, QueryRename,
)  # fmt: skip
"""Changes of objects of Kubernetes."""


def source_text(change: Change, by: Managed, *, tool: Manager) -> str:
    """The change in words for the source of that tool; empty where it keeps no object of the change."""
    own = by.by == tool and any(map(_of_object, leaves(change)))
    return source_note(by, _said(change)) if own else ""


def _of_object(change: Change) -> bool:
    return isinstance(change, OF_OBJECTS) or (isinstance(change, PersonTask) and change.target is not None)


def _said(change: Change) -> str:
    if change.what:
        return change.what
    if isinstance(change, ChangeGroup):
        return "; ".join(dict.fromkeys(_said(one) for one in change.steps if one.target is not None))
    target = change.target
    return f"change {target.kind} {target.name}" if target else ""


def source_note(by: Managed, what: str) -> str:
    """A comment that names the source and what to do there; empty for objects kept by hand or by eksctl."""
    owner = f" ({by.namespace + '/' if by.namespace else ''}{by.name})" if by.name else ""
    where = {
        "flux": f"In the repository that Flux applies{owner}",
        "argocd": f"In the source of the Argo CD Application{owner}",
        "terraform": "In the Terraform code that holds it",
        "helm": f"In the chart of the Helm release{owner}",
    }
    return note(f"{where[by.by]}: {what}") if by.by in where else ""
