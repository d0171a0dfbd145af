"""Rules and dashboards are read when present; refused or broken ones spoil nothing else."""

import json
from typing import Any

import pytest

from migrations_app.collect.collect import collect
from migrations_app.errors import Expired, Forbidden
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.parts import Seen, Unseen
from tests.clients.bundle.objects import Doc, doc, node
from tests.fakes.cluster_api import FakeCluster

EXPR = "karpenter_nodes_created > 1"


def rule(name: str = "karpenter", expr: str = EXPR) -> Doc:
    groups = [{"name": "capacity", "rules": [{"alert": "Many", "expr": expr}]}]
    return doc("monitoring.coreos.com/v1", "PrometheusRule", name, namespace="monitoring", spec={"groups": groups})


def board(name: str, **labels: str) -> Doc:
    data = {"a.json": json.dumps({"title": "Nodes", "expr": EXPR})}
    return doc("v1", "ConfigMap", name, namespace="monitoring", labels=labels, data=data)


def read(cluster: FakeCluster) -> Inventory:
    return collect(cluster, cluster="c").inventory


def kept(part: Any) -> tuple[list[str], int]:
    return [one.name for one in part.items], part.count


def test_what_names_a_metric_is_kept_and_the_rest_is_counted() -> None:
    cluster = FakeCluster(rule(), rule("others", "up"), board("boards", grafana_dashboard="1"), board("settings"))
    found = read(cluster)
    assert kept(found.prometheus_rules) == (["karpenter"], 2)
    assert kept(found.dashboards) == (["boards"], 1)


def test_a_cluster_without_the_operator_has_no_rules() -> None:
    assert read(FakeCluster(node(), without=["prometheusrules"])).prometheus_rules == Seen((), None)


@pytest.mark.parametrize(("plural", "part"), [("configmaps", "dashboards"), ("prometheusrules", "prometheus_rules")])
def test_a_refused_list_spoils_nothing_else(plural: str, part: str) -> None:
    cluster = FakeCluster(node(), rule(), board("boards", grafana_dashboard="1"))
    cluster.refuse(plural, Forbidden(f"may not list {plural}"))
    found = read(cluster)
    other = {"dashboards": "prometheus_rules", "prometheus_rules": "dashboards"}[part]
    assert found.part(part) == Unseen("forbidden", f"may not list {plural}")
    assert (found.nodes.count, found.part(other).count) == (1, 1)


def test_a_list_that_was_forgotten_is_begun_anew() -> None:
    cluster = FakeCluster(rule())
    cluster.refuse("prometheusrules", Expired("gone"), None)
    assert kept(read(cluster).prometheus_rules) == (["karpenter"], 1)


def test_a_group_whose_discovery_failed_is_not_absent() -> None:
    cluster = FakeCluster(rule())
    cluster.failed = {"monitoring.coreos.com/v1": "server_failed"}
    assert isinstance(read(cluster).prometheus_rules, Unseen)
