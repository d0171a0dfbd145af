"""A stored report with a planned Kubernetes is the one that a scan with that plan gives."""

import pytest

from migrations_app.errors import InvalidInput
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.kubernetes_plan import planned_minor, with_planned
from migrations_app.readiness.report import CollectResult
from tests.builders.clusters import a_cluster, an_empty_cluster
from tests.builders.newest import NEWEST, NEWEST_MINOR

RUNNING = [("0.30.0", "1.26"), ("0.37.8", "1.30"), ("1.0.14", "1.30"), (NEWEST, "1.33"), ("0.31.4", "1.31")]


@pytest.mark.parametrize("planned", ["1.23", "1.29", "1.33", "v1.34.1", "1.99"])
@pytest.mark.parametrize(("version", "kubernetes"), RUNNING)
def test_it_is_the_report_of_a_scan_with_that_plan(version, kubernetes, planned):
    running = a_cluster(version, kubernetes=kubernetes)
    collected = CollectResult(running.build(), ())
    stored = evaluate(collected).report
    assert with_planned(stored, planned) == evaluate(collected, kubernetes=planned).report


def test_nothing_planned_changes_nothing():
    stored = evaluate(CollectResult(a_cluster("1.0.14").build(), ())).report
    assert with_planned(stored, "") is stored


def test_without_karpenter_there_is_nothing_to_plan_for():
    stored = evaluate(CollectResult(an_empty_cluster().build(), ())).report
    assert with_planned(stored, "1.33") == stored


def test_the_last_hop_is_blocked_and_the_one_before_it_is_not():
    stored = evaluate(CollectResult(a_cluster("1.0.14", kubernetes="1.30").build(), ())).report
    before = {line.hop: line for line in stored.hops}
    after = {line.hop: line for line in with_planned(stored, "1.99").hops}
    assert after["1.1+"] == before["1.1+"]
    assert after[NEWEST_MINOR].verdict == "blocked"


@pytest.mark.parametrize("text", ["", "33", "latest", "1", "x" * 50, "1.33; drop"])
def test_what_is_no_version_is_refused(text):
    with pytest.raises(InvalidInput) as caught:
        planned_minor(text)
    assert caught.value.code == "bad_kubernetes"


@pytest.mark.parametrize(("text", "minor"), [("1.33", "1.33"), ("v1.33.2", "1.33"), ("1.33.1-eks-abc", "1.33")])
def test_a_version_names_its_minor(text, minor):
    assert planned_minor(text) == minor
