"""The changes of values that a hop needs: what its checks ask for, and what the tables know of the charts."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings

from migrations_app.actions.base import PlanningContext, Unavailable
from migrations_app.actions.targets.crds import landing
from migrations_app.actions.targets.deliveries import delivery_target, place_of, the_delivery, values_in
from migrations_app.actions.undo import bare
from migrations_app.conversion.chart_values.convert import convert_values
from migrations_app.conversion.chart_values.trees import laid
from migrations_app.errors import InvalidInput
from migrations_app.inventory.facts.controller import CHART
from migrations_app.inventory.inventory import Inventory
from migrations_app.karpenter.versions import Release
from migrations_app.queries.rollouts.policies import CONTROLLER_UPGRADES_OFF
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.plan.helm_upgrade import HelmWalk
from migrations_app.readiness.report import Collected, Report

ValueEdits = tuple[tuple[str, str], ...]


def typed_changes(
    inventory: Inventory, values: dict[str, Any], *, chart: str, start: Release | None, lands: Release
) -> ValueEdits:
    """Dotted keys with their new value as JSON, empty where the key is removed; none where nothing has to change."""
    if start is None:
        return ()
    report = evaluate(Collected(inventory, ()), target=str(lands)).report if start != lands else None
    return hop_changes(report, values, chart=chart, start=start, lands=lands)


def hop_changes(
    report: Report | None, values: dict[str, Any], *, chart: str, start: Release, lands: Release
) -> ValueEdits:
    """The same by the findings of a report that has the hop; without one, what the tables know alone."""
    edits = _check_edits(report, chart=chart, start=start, lands=lands) if report else ()
    tables = convert_values(laid(values, edits, prune=True), chart=chart, start=start, lands=lands).changes
    by_key = dict(edits) | {table.key: table.text for table in tables}
    after = laid(values, by_key.items(), prune=True)
    return tuple(by_key.items()) if after != values else ()


def _check_edits(report: Report, *, chart: str, start: Release, lands: Release) -> ValueEdits:
    """What the checks of the hop change in that chart with its landing."""
    hop = next((step.hop for step in report.target.path if step.release == str(lands)), "")
    findings = [check for check in report.checks if check.hop == hop]
    upgrade = HelmWalk(report.cluster.installed).next_hop(findings, start=str(start), lands=str(lands))
    return tuple(
        (helm_value.key, helm_value.text) for helm_value in (upgrade.controller if chart == CHART else upgrade.crds)
    )


def words_of(changes: ValueEdits) -> Iterator[str]:
    """Each change as a line."""
    yield from (f"{key} = {text}" if text else f"{key} is removed" for key, text in changes)


def delivery_edits(scene: PlanningContext, parameters: Mapping[str, Any]) -> ValueEdits:
    """What the hop changes in the values that the object gives. Raises InvalidInput `controller_upgrades_off`, and
    Unavailable where the object may not be changed, or its values are not all its own.
    """
    if not settings.ENV.controller_upgrades:
        raise InvalidInput(CONTROLLER_UPGRADES_OFF, code="controller_upgrades_off")
    delivery = the_delivery(scene.inventory, str(parameters.get("chart") or CHART))
    read = scene.objects.get(bare(delivery_target(delivery.delivery)))
    if read is None:
        raise Unavailable(f"{delivery.said} could not be read, or is gone", code="not_seen")
    values = values_in(read, place_of(delivery))
    to = landing(scene.inventory, scene.running, wanted=str(parameters.get("release") or ""))
    return typed_changes(scene.inventory, values, chart=delivery.chart, start=scene.running.release, lands=to)
