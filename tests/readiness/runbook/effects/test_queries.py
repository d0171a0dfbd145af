"""The queries of an object after its metrics were renamed, beside what sed makes of the same text."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from migrations_app.checks.changes import ChangeTarget, QueryRename
from migrations_app.checks.render.kubectl import text
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.metric_queries import MetricUser, Query
from migrations_app.inventory.objects.base import Metadata
from migrations_app.inventory.parts import Seen, Unseen
from migrations_app.readiness.runbook.effects.effect import effect
from migrations_app.readiness.runbook.effects.unknown_effect import NotShown

RULE = ChangeTarget("PrometheusRule", "alerts", "monitoring", resource="prometheusrules.monitoring.coreos.com")
NAMES = st.sampled_from(["karpenter_a", "karpenter_a_total", "karpenter_b", "b:karpenter_a", "karpenter_"])
QUERIES = st.lists(NAMES | st.sampled_from(["rate(", ")", "[5m]", " ", "_", "+", "9"])).map("".join)


def ruled(query: str) -> Inventory:
    metadata = Metadata(name="alerts", namespace="monitoring")
    user = MetricUser(kind="PrometheusRule", metadata=metadata, queries=[Query(path="a", text=query)])
    return Inventory(cluster="c", taken_at="2026-10-01T06:00:00Z", prometheus_rules=Seen((user,)))


@settings(max_examples=40)
@given(QUERIES, st.dictionaries(NAMES, NAMES, min_size=1, max_size=3))
def test_the_effect_is_what_the_printed_line_does(query: str, names: dict[str, str]) -> None:
    change = QueryRename(target=RULE, names=names)
    script = text(change).partition("sed -E ")[2].partition(" | kubectl")[0]
    done = subprocess.run(["sh", "-c", f"sed -E {script}"], input=query, capture_output=True, text=True, check=True)
    after = effect(ruled(query), change)
    assert isinstance(after, Inventory)
    assert [one.text for user in after.prometheus_rules.items for one in user.queries] == [done.stdout]


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (ChangeTarget("PrometheusRule", "other", "monitoring"), "target_gone"),
        (ChangeTarget("ConfigMap", "alerts", "monitoring"), "part_not_read"),
        (ChangeTarget("Deployment", "alerts", "monitoring"), "kind_not_read"),
    ],
)
def test_why_there_is_no_effect(target: ChangeTarget, reason: str) -> None:
    found = effect(ruled("karpenter_a"), QueryRename(target=target, names={"karpenter_a": "karpenter_b"}))
    assert isinstance(found, NotShown)
    assert found.why == reason


def test_a_part_that_was_not_read_stays_so() -> None:
    assert isinstance(ruled("").dashboards, Unseen)
