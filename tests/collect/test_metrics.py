"""Rules and dashboards are read when present; refused or broken ones spoil nothing else."""

import io
import json
from typing import Any

import msgspec
import pytest

from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.clients.bundle.redaction import redacted_object
from migrations_app.clients.bundle.writer import Recording
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


OLD_QUERY = "sum(karpenter_nodes_created)"


def scaled(kind: str, name: str, query: str) -> dict[str, Any]:
    triggers = [
        {"type": "cpu", "metadata": {"value": "50"}},
        {"type": "prometheus", "metadata": {"serverAddress": "http://metrics", "query": query}},
    ]
    return doc("keda.sh/v1alpha1", kind, name, namespace="shop", spec={"triggers": triggers})


def vm_rule() -> dict[str, Any]:
    groups = [{"name": "g", "rules": [{"alert": "X", "expr": OLD_QUERY}]}]
    return doc("operator.victoriametrics.com/v1beta1", "VMRule", "rules", namespace="shop", spec={"groups": groups})


OTHERS = (vm_rule(), scaled("ScaledObject", "web", OLD_QUERY), scaled("ScaledObject", "other", "sum(up)"),
          scaled("ScaledJob", "batch", OLD_QUERY))  # fmt: skip


def test_rules_of_victoria_metrics_and_scalers_of_keda() -> None:
    found = read(FakeCluster(node(), *OTHERS)).other_queries
    assert [(user.kind, user.name, [query.path for query in user.queries]) for user in found.items] == [
        ("VMRule", "rules", ["spec.groups[g].rules[X].expr"]),
        ("ScaledObject", "web", ["spec.triggers[1].metadata.query"]),
        ("ScaledJob", "batch", ["spec.triggers[1].metadata.query"]),
    ]
    assert found.count == 4


def test_where_keda_is_not_installed_there_are_none_and_a_refusal_is_unknown() -> None:
    without = FakeCluster(node(), without=["vmrules", "scaledobjects", "scaledjobs"])
    assert read(without).other_queries == Seen((), None, total=0)
    refused = FakeCluster(node(), *OTHERS)
    refused.refuse("scaledobjects", Forbidden("may not list scaledobjects"))
    assert read(refused).other_queries == Unseen("forbidden", "may not list scaledobjects")


def test_a_bundle_carries_their_queries_and_no_other_value_of_a_trigger() -> None:
    api, packed = FakeCluster(node(), *OTHERS), io.BytesIO()
    recording = Recording(api)
    live = collect(recording, cluster="c").inventory
    recording.write(packed, made_at=live.taken_at, made_by="tests")
    assert (
        collect(open_bundle(packed.getvalue()), cluster="c").inventory.other_queries.items == live.other_queries.items
    )
    kept = redacted_object(msgspec.Raw(msgspec.json.encode(OTHERS[1])), group="keda.sh", plural="scaledobjects")
    assert kept is not None
    assert kept["spec"] == {"triggers": [{}, {"type": "prometheus", "metadata": {"query": OLD_QUERY}}]}


def test_a_list_that_was_forgotten_is_begun_anew() -> None:
    cluster = FakeCluster(rule())
    cluster.refuse("prometheusrules", Expired("gone"), None)
    assert kept(read(cluster).prometheus_rules) == (["karpenter"], 1)


def test_a_group_whose_discovery_failed_is_not_absent() -> None:
    cluster = FakeCluster(rule())
    cluster.failed = {"monitoring.coreos.com/v1": "server_failed"}
    assert isinstance(read(cluster).prometheus_rules, Unseen)
