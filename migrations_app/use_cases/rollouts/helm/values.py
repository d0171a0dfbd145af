"""The changes of values that a hop needs: what its checks ask for, and what the tables know of the charts."""

from collections.abc import Iterator
from typing import Any

from migrations_app.conversion.chart_values.convert import convert_values
from migrations_app.conversion.chart_values.trees import laid
from migrations_app.inventory.facts.controller import CHART
from migrations_app.inventory.inventory import Inventory
from migrations_app.karpenter.versions import Release
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.plan.helm_upgrade import HelmWalk
from migrations_app.readiness.report import Collected, Report

ValueEdits = tuple[tuple[str, str], ...]


def typed_changes(
    inventory: Inventory, given: dict[str, Any], *, chart: str, start: Release | None, lands: Release
) -> ValueEdits:
    """Dotted keys with their new value as JSON, empty where the key is removed; none where nothing has to change."""
    if start is None:
        return ()
    report = evaluate(Collected(inventory, ()), target=str(lands)).report if start != lands else None
    return hop_changes(report, given, chart=chart, start=start, lands=lands)


def hop_changes(
    report: Report | None, given: dict[str, Any], *, chart: str, start: Release, lands: Release
) -> ValueEdits:
    """The same by the findings of a report that has the hop; without one, what the tables know alone."""
    asked = _asked(report, chart=chart, start=start, lands=lands) if report else ()
    tables = convert_values(laid(given, asked, prune=True), chart=chart, start=start, lands=lands).changes
    found = dict(asked) | {table.key: table.text for table in tables}
    after = laid(given, found.items(), prune=True)
    return tuple(found.items()) if after != given else ()


def _asked(report: Report, *, chart: str, start: Release, lands: Release) -> ValueEdits:
    """What the checks of the hop change in that chart with its landing."""
    hop = next((step.hop for step in report.target.path if step.release == str(lands)), "")
    findings = [check for check in report.checks if check.hop == hop]
    taken = HelmWalk(report.cluster.installed).take(findings, start=str(start), lands=str(lands))
    return tuple(
        (helm_value.key, helm_value.text) for helm_value in (taken.controller if chart == CHART else taken.crds)
    )


def words_of(changes: ValueEdits) -> Iterator[str]:
    """Each change as a line."""
    yield from (f"{key} = {text}" if text else f"{key} is removed" for key, text in changes)
