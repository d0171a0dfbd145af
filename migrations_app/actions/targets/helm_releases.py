"""The Helm release of a chart that may be changed: it is the only one, and no other tool manages it."""

from migrations_app.actions.base import Unavailable
from migrations_app.inventory.facts.controller import CHART, CRD_CHART, installation, records_unread
from migrations_app.inventory.facts.managers import REVERTS
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import HelmRelease
from migrations_app.karpenter.releases import rollback_targets
from migrations_app.karpenter.versions import Release, parse


def one_release(inventory: Inventory, chart: str) -> HelmRelease:
    """The release of that chart. Raises Unavailable with the reason if there is none, or more than one, or if Flux,
    Argo CD or Terraform keeps it and would undo what helm does.
    """
    if reason := records_unread(inventory):
        raise Unavailable(f"Helm's release records could not all be read: {reason}", code="not_seen")
    releases = [helm_release for helm_release in inventory.helm_releases.items if helm_release.chart == chart]
    if not releases:
        raise Unavailable(f"no Helm release of the chart {chart} is installed", code="no_release")
    if len(releases) > 1:
        names = ", ".join(sorted(f"{helm_release.namespace}/{helm_release.name}" for helm_release in releases))
        raise Unavailable(f"{len(releases)} releases of the chart {chart} are installed: {names}", code="two_releases")
    _refuse_kept(inventory)
    return releases[0]


def _refuse_kept(inventory: Inventory) -> None:
    controller = installation(inventory)
    tool = REVERTS.get(controller.managed.by) if controller else None
    if tool:
        raise Unavailable(
            f"{tool} manages the controller and would revert what helm does: change it there", code="kept"
        )


def refuse_without_rollback(running: str, to: str, *, chart: str = CHART) -> None:
    """Raises Unavailable unless, by the tables, the running release can be rolled back to that one."""
    if reason := rollback_problem(parse(running), parse(to)):
        raise Unavailable(f"{chart}: {reason}", code="no_way_back")


def rollback_problem(running: Release | None, to: Release | None) -> str:
    """Why the running release cannot be replaced by that earlier release, as text; empty if it can.

    The rule of the check `way_back_open`: patch releases of one minor read what each other wrote.
    """
    if running is None or to is None:
        return "the release of a revision is not known, so nothing tells whether it can be gone back to"
    if running.minor == to.minor or to in rollback_targets(running):
        return ""
    return f"no rollback from {running} to {to} is known to work"


def repair_of_newest(*, worked_before: bool, chart: str) -> str:
    """What a person does about a newest revision that is pending or failed; `worked_before` if an earlier one ran."""
    if worked_before:
        return "roll the release back first"
    repair = "no earlier revision worked: let whoever installs it finish"
    return f"{repair}; never uninstall it, which deletes the CRDs and every NodePool" if chart == CRD_CHART else repair
