"""Queries over Karpenter's metrics are found wherever they lie, and nothing else is kept."""

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.inventory import metric_queries
from migrations_app.inventory.metric_queries import MetricUser, Query, dashboards_collector, rules_collector, short
from migrations_app.inventory.objects.base import Metadata
from migrations_app.inventory.parts import Seen, UnparsableObject

Doc = dict[str, Any]
EXPR = "karpenter_nodes_created > 1"


def rule(*groups: Any, name: str = "karpenter") -> Doc:
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": name, "namespace": "monitoring"},
        "spec": {"groups": list(groups)},
    }


def board(**files: Any) -> Doc:
    data = {name: text if isinstance(text, str) else json.dumps(text) for name, text in files.items()}
    metadata = {"name": "boards", "namespace": "monitoring", "labels": {"grafana_dashboard": "1"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def seen(fold: metric_queries.MetricQueryCollector, *docs: Any) -> Seen[MetricUser]:
    fold.add(msgspec.Raw(json.dumps(doc).encode()) for doc in docs)
    return fold.seen("v1")


def queries(*docs: Any) -> list[tuple[str, str]]:
    return [(query.path, query.text) for item in seen(dashboards_collector(), *docs).items for query in item.queries]


def test_rules_that_name_a_metric_are_kept_and_all_are_counted() -> None:
    group = {"name": "capacity", "rules": [{"alert": "Many", "expr": EXPR}, {"record": "up", "expr": "up == 0"}]}
    found = seen(rules_collector(), rule(group), rule({"name": "other", "rules": [{"expr": 1}]}, name="others"))
    kept = MetricUser(
        kind="PrometheusRule",
        api_version="monitoring.coreos.com/v1",
        metadata=Metadata(name="karpenter", namespace="monitoring"),
        queries=[Query(path="spec.groups[capacity].rules[Many].expr", text=EXPR)],
    )
    assert found == Seen((kept,), "v1", (), total=2)


def test_odd_rules_are_quarantined_with_the_field() -> None:
    found = seen(rules_collector(), rule({"name": "karpenter_x", "rules": "none"}), rule())
    wrong = UnparsableObject(
        "PrometheusRule", "monitoring", "karpenter", "$.spec.groups[0].rules", "Expected `array | null`, got `str`"
    )
    assert (found.items, found.quarantined, found.count) == ((), (wrong,), 2)


def test_a_query_of_a_dashboard_is_told_by_its_titles() -> None:
    panel = {"title": "Nodes", "targets": [{"expr": EXPR}, {"expr": "up"}]}
    rows = {"title": "Capacity", "rows": [{"panels": [panel]}], "templating": {"query": "label_values(karpenter_x, y)"}}
    assert queries(board(**{"a.json": rows})) == [
        ("data[a.json]: Capacity / Nodes", EXPR),
        ("data[a.json]: Capacity", "label_values(karpenter_x, y)"),
    ]


def test_a_dashboard_that_is_no_json_is_searched_as_text() -> None:
    assert queries(board(**{"a.json": f"{{broken {EXPR}"})) == [("data[a.json]", f"{{broken {EXPR}")]
    deep = "[" * 5000 + EXPR
    assert queries(board(**{"a.json": deep})) == [("data[a.json]", "karpenter_nodes_created")]


def test_what_names_no_metric_is_let_go() -> None:
    assert seen(dashboards_collector(), board(a={"title": "Other"})) == Seen((), "v1", (), total=1)


def test_a_long_query_is_cut_down_to_what_it_names() -> None:
    text = "(" * 2000 + 'karpenter_nodes_created{reason="Empty"}'
    assert short(text) == 'karpenter_nodes_created reason="Empty"'
    text = "(" * 2000 + 'karpenter_nodes_created{provisioner="a"}'
    assert short(text) == 'karpenter_nodes_created karpenter_nodes_created{provisioner=~".+"} provisioner="a"'
    assert short(EXPR) == EXPR


def test_a_flood_is_set_aside_and_told(monkeypatch: Any) -> None:
    monkeypatch.setattr(metric_queries, "QUERIES_KEPT", 2)
    monkeypatch.setattr(metric_queries, "OBJECTS_KEPT", 1)
    many = board(a=[EXPR, EXPR, EXPR])
    few = board(a=[EXPR])
    found = seen(dashboards_collector(), many, few, few)
    assert [bad.why for bad in found.quarantined] == ["too many queries", "too many of them"]
    assert [len(item.queries) for item in found.items] == [1]


@given(
    st.recursive(
        st.text(max_size=20) | st.just(EXPR),
        lambda inner: st.lists(inner) | st.dictionaries(st.text("abtitle", max_size=5), inner),
    )
)
def test_whatever_a_dashboard_holds_its_queries_are_found_once_each(tree: Any) -> None:
    texts = [text for _, text in queries(board(a=tree))]
    values = json.dumps(_values(tree)).count(EXPR)
    assert texts.count(EXPR) == values


def _values(tree: Any) -> Any:
    if isinstance(tree, dict):
        return [_values(one) for one in tree.values()]
    return [_values(one) for one in tree] if isinstance(tree, list) else tree
