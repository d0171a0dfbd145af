"""The changes of Helm values that a hop needs, by its checks and by the tables of the charts."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from migrations_app.actions.base import PlanningContext, Unavailable
from migrations_app.actions.targets.crds import planned_release
from migrations_app.actions.targets.deliveries import delivery_target, place_of, the_delivery, values_in
from migrations_app.actions.undo import without_uid
from migrations_app.conversion.chart_values.convert import convert_values
from migrations_app.conversion.chart_values.trees import laid
from migrations_app.errors import InvalidInput
from migrations_app.inventory.facts.controller import CHART
from migrations_app.inventory.inventory import Inventory
from migrations_app.karpenter.versions import Release
from migrations_app.queries.rollouts.policies import CONTROLLER_UPGRADES_OFF
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.report import CollectResult, Report
from migrations_app.readiness.runbook.helm_upgrade import HelmWalk

ValueEdits = tuple[tuple[str, str], ...]


def typed_changes(
    inventory: Inventory, values: dict[str, Any], *, chart: str, start: Release | None, target_release: Release
) -> ValueEdits:
    """Dotted keys with their new value as JSON, or empty text if the key is removed; empty if nothing has to change."""
    if start is None:
        return ()
    report = (
        evaluate(CollectResult(inventory, ()), target=str(target_release)).report if start != target_release else None
    )
    return hop_changes(report, values, chart=chart, start=start, target_release=target_release)


def hop_changes(
    report: Report | None, values: dict[str, Any], *, chart: str, start: Release, target_release: Release
) -> ValueEdits:
    """The changes as in `typed_changes`, by the findings of a report that has the hop; by the tables alone without a
    report.
    """
    edits = _check_edits(report, chart=chart, start=start, target_release=target_release) if report else ()
    tables = convert_values(
        laid(values, edits, prune=True), chart=chart, start=start, target_release=target_release
    ).changes
    by_key = dict(edits) | {table.key: table.text for table in tables}
    after = laid(values, by_key.items(), prune=True)
    return tuple(by_key.items()) if after != values else ()


def _check_edits(report: Report, *, chart: str, start: Release, target_release: Release) -> ValueEdits:
    """The changes of that chart's values that the checks of the hop require together with the upgrade."""
    hop = next((hop.name for hop in report.target.path if hop.release == str(target_release)), "")
    findings = [check for check in report.checks if check.hop == hop]
    upgrade = HelmWalk(report.cluster.installed).next_hop(
        findings, start=str(start), target_release=str(target_release)
    )
    return tuple(
        (helm_value.key, helm_value.text) for helm_value in (upgrade.controller if chart == CHART else upgrade.crds)
    )


def delivery_edits(context: PlanningContext, parameters: Mapping[str, Any]) -> ValueEdits:
    """The changes that the hop needs in the values of the delivery object. Raises InvalidInput
    `controller_upgrades_off`, and Unavailable if the object may not be changed, or takes values from other objects.
    """
    if not settings.ENV.controller_upgrades:
        raise InvalidInput(CONTROLLER_UPGRADES_OFF, code="controller_upgrades_off")
    delivery = the_delivery(context.inventory, str(parameters.get("chart") or CHART))
    read = context.objects.get(without_uid(delivery_target(delivery.delivery)))
    if read is None:
        raise Unavailable(f"{delivery.display_name} could not be read, or is gone", code="not_seen")
    values = values_in(read, place_of(delivery))
    to = planned_release(context.inventory, context.running, wanted=str(parameters.get("release") or ""))
    return typed_changes(
        context.inventory, values, chart=delivery.chart, start=context.running.release, target_release=to
    )
