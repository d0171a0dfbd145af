"""Finds the admission webhooks that an upgrade leaves behind, and writes how they are deleted right after it."""

from typing import Final

from msgspec import UNSET

from migrations_app.checks.base import Remedy
from migrations_app.checks.changes import ChangeTarget, ObjectDelete, group
from migrations_app.checks.remedies.commands import FIRST
from migrations_app.checks.render import argocd, kubectl
from migrations_app.checks.render.charts import applied_by
from migrations_app.checks.render.lines import rollout_line
from migrations_app.checks.shell import note
from migrations_app.inventory.facts.controller import service_of
from migrations_app.inventory.facts.managers import Managed
from migrations_app.karpenter.release_facts import ADMISSION_WEBHOOKS, AdmissionRow
from migrations_app.karpenter.versions import Release, parse
from migrations_app.readiness.report import InstallationFacts

GROUP: Final = "admissionregistration.k8s.io"
REMOVE_WEBHOOKS: Final = "remove_stale_webhooks"
"""The action of karpdash that deletes admission webhooks which the running release does not answer."""
_DELETING_TOOLS: Final = ("helm", "flux", "terraform", "eksctl")
"""Tools that apply the chart with Helm, for reports from before `chart_deletes` was stored."""
_WHY: Final = "does not answer these: until they are deleted, every write that they cover is refused"


def orphaned_webhooks(
    target: Release, installed: InstallationFacts | None, *, start: str, applied_before: bool
) -> tuple[AdmissionRow, ...]:
    """The admission webhooks that stay in the cluster though the chart of `target` does not ship them any more; none if
    the tool of the controller deletes them. `start` is the release before the upgrade, empty if not known.

    All that the chart of `start` ships are named if the configurations were not read, or if the plan applies that
    chart itself before (`applied_before`), which may make them.
    """
    if installed is None:
        return ()
    running = parse(start) if start else None
    ended = [
        row
        for row in ADMISSION_WEBHOOKS
        if row.last and not row.shipped_by(target) and (running is None or row.shipped_by(running))
    ]
    deletes, kept = installed.chart_deletes, installed.kept_webhooks
    if deletes is UNSET:
        deletes = installed.kept_by in _DELETING_TOOLS
    if not deletes and (applied_before or kept is UNSET):
        return tuple(ended)
    return tuple(row for row in ended if kept is not UNSET and row.name in kept)


def remedies_without_webhooks(
    rows: tuple[AdmissionRow, ...], manager: Managed, *, installed: InstallationFacts, to: Release, first: Remedy
) -> tuple[Remedy, ...]:
    """How the tool of the controller applies its source, and how these webhooks are deleted then: by a sync of Argo CD
    that prunes only them, otherwise by kubectl. `first` is the first command of the upgrade: a reader sees only the
    remedies of its tool."""
    applied = applied_by(manager, release=installed.release)
    if not rows:
        return applied
    if manager.by == "argocd" and applied:
        pruned = [(GROUP, row.kind, row.name) for row in rows]
        return (Remedy(how="argocd", text=argocd.pruned_text(manager, pruned, why=f"{to} {_WHY}")),)
    how = FIRST[manager.by] if applied else first.how
    return (*applied, Remedy(how=how, text=_deletion_lines(rows, installed, to=to)))


def removal_action(rows: tuple[AdmissionRow, ...], *, to: Release) -> tuple[Remedy, ...]:
    """The action of karpdash that deletes these webhooks once that release runs."""
    text = f"Action {REMOVE_WEBHOOKS} of karpdash, once {to} runs"
    return (Remedy(how="action", text=text, action=REMOVE_WEBHOOKS),) if rows else ()


def _deletion_lines(rows: tuple[AdmissionRow, ...], installed: InstallationFacts, *, to: Release) -> str:
    steps = [ObjectDelete(target=ChangeTarget(row.kind, row.name, resource=f"{row.kind.lower()}s")) for row in rows]
    lines = kubectl.text(group(*steps)).splitlines()
    rolled_out = rollout_line(deployment_name(installed), namespace=installed.namespace)
    deleted = [f"{line} --ignore-not-found" for line in lines]
    return "\n".join((note(f"{to} {_WHY}"), f"{rolled_out} &&", " &&\n".join(deleted)))


def deployment_name(installed: InstallationFacts) -> str:
    """The name of the controller's Deployment; the one that the chart gives if it is not stored."""
    return installed.controller or service_of(installed.release)
