"""A document of a bundle without a kind is in no list: the report says that it was skipped."""

import json

import pytest

from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.collect.collect import collect
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.outputs import json_schema, markdown, sarif, table
from migrations_app.readiness.report import CollectResult, PartLine
from migrations_app.samples.karpenter_objects import ON_DEMAND, pool

WHY = "no kind or no apiVersion that can be read"
SAID = f"documents: 1 of 2 objects set aside ({WHY})"


def read(*docs) -> CollectResult:
    return collect(open_bundle({"objects.json": json.dumps(list(docs)).encode()}), cluster="test")


def a_pool(**changes):
    return pool("web", ON_DEMAND, node_class="default", version="v1") | changes


@pytest.mark.parametrize("odd", [{"kind": None}, {"kind": 5}, {"apiVersion": None}, {"kind": ""}])
def test_it_is_a_line_of_its_own(odd):
    found = read(a_pool(), a_pool(**odd))
    assert found.parts[-1] == PartLine(name="documents", seen=True, count=2, quarantined=1, detail=WHY)
    assert not found.complete


def test_where_nothing_was_passed_over_there_is_no_such_line():
    assert "documents" not in {line.name for line in read(a_pool()).parts}


def test_each_report_says_so():
    report = evaluate(read(a_pool(), a_pool(kind=None))).report
    assert SAID in table.render(report)
    assert f"- documents: 1 set aside ({WHY})" in markdown.render(report)
    assert SAID in sarif.render(report)
    assert json.loads(json_schema.render(report))["complete"] is False
