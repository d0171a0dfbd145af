"""What leaves in a bundle of rules and dashboards: queries over Karpenter's metrics, and nothing else."""

import io
import json
from typing import Any

import msgspec
import pytest

from migrations_app.clients.bundle.bundle import Bundle, open_bundle
from migrations_app.clients.bundle.redaction import redacted_object
from migrations_app.clients.kubernetes.api import Resource
from migrations_app.inventory.metric_queries import dashboards_collector
from tests.clients.bundle.objects import Doc, doc
from tests.clients.recorded_bundle import write_bundle
from tests.fakes.cluster_api import FakeCluster

CANARY = "canary-77aa"
BOARDS = Resource("", "v1", "configmaps", label_selector="grafana_dashboard")
RULES = Resource("monitoring.coreos.com", "v1", "prometheusrules")
EXPR = "karpenter_nodes_created > 1"


def board(name: str, **data: Any) -> Doc:
    return doc("v1", "ConfigMap", name, labels={"grafana_dashboard": "1"}, data=data)


def written(api: Any, resource: Resource) -> Bundle:
    out = io.BytesIO()
    write_bundle(api, [resource], out=out, made_at="2026-01-02T03:04:05Z", made_by="karpdash tests")
    return open_bundle(out.getvalue())


def test_of_a_dashboard_only_the_queries_leave_and_they_read_the_same() -> None:
    panel = {"title": "Nodes", "password": CANARY, "targets": [{"expr": EXPR}]}
    cluster = FakeCluster(board("boards", **{"a.json": json.dumps({"title": "Capacity", "panels": [panel]})}))
    api = written(cluster, BOARDS)
    (live,), (kept,) = (read_dashboards(each).items for each in (cluster, api))
    assert (kept.queries, kept.name) == (live.queries, live.name)
    assert CANARY not in str(next(iter(api.pages(BOARDS))).items)


def read_dashboards(api: Any) -> Any:
    fold = dashboards_collector()
    for page in api.pages(BOARDS):
        fold.add(page.items)
    return fold.seen("v1")


def test_of_rules_only_those_on_karpenter_leave() -> None:
    rules = [{"alert": "Many", "expr": EXPR, "annotations": {"hook": CANARY}}, {"record": "x", "expr": CANARY}]
    whole = {"groups": [{"name": "capacity", "rules": rules}, "odd"]}
    found = redacted(doc("monitoring.coreos.com/v1", "PrometheusRule", "one", spec=whole), RULES)
    assert found["spec"] == {"groups": [{"name": "capacity", "rules": [{"alert": "Many", "expr": EXPR}]}]}
    assert redacted(doc("monitoring.coreos.com/v1", "PrometheusRule", "one", spec={"groups": 1}), RULES) is None


@pytest.mark.parametrize("data", [{}, {"a": 1}, {"a": "{}"}])
def test_dashboards_of_others_stay_behind(data: Doc) -> None:
    assert redacted(board("boards", **data), BOARDS) is None


def redacted(given: Doc, resource: Resource) -> Any:
    return redacted_object(msgspec.Raw(json.dumps(given).encode()), group=resource.group, plural=resource.plural)
