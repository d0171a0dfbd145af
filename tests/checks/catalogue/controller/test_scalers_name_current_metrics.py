import pytest

from migrations_app.checks.base import Evidence
from migrations_app.inventory.metric_queries import MetricUser, Query
from migrations_app.inventory.objects.karpenter import Metadata
from tests.builders.clusters import a_cluster, asked_hops, finding_of, reads, remedies, result_of, result_without
from tests.builders.pools import parses

CHECK = "scalers_name_current_metrics"
GOOD = ("pass", "Every VMRule and KEDA scaler uses metrics that exist", ())
PATH = "spec.triggers[0].metadata.query"
RESOURCES = {
    "VMRule": "vmrules.operator.victoriametrics.com",
    "ScaledObject": "scaledobjects.keda.sh",
    "ScaledJob": "scaledjobs.keda.sh",
}


def with_query(text: str, kind: str = "ScaledObject"):
    metadata = Metadata(name="web", namespace="shop")
    return a_cluster().with_items(
        "other_queries", MetricUser(kind=kind, metadata=metadata, queries=[Query(path=PATH, text=text)])
    )


def row(kind: str, seen: str, wanted: str) -> Evidence:
    return Evidence(kind=kind, namespace="shop", name="web", path=PATH, seen=seen, wanted=wanted)


@pytest.mark.parametrize("text", ["sum(karpenter_nodeclaims_created_total)", "sum(karpenter_of_tomorrow)"])
def test_metrics_that_are_there(text):
    assert result_of(CHECK, "1.0", with_query(text)) == GOOD
    assert result_of(CHECK, "1.0", a_cluster()) == GOOD


@pytest.mark.parametrize("kind", RESOURCES)
def test_a_metric_that_has_another_name(kind):
    found = result_of(CHECK, "1.0", with_query("sum(karpenter_nodeclaims_created)", kind))
    wanted = row(kind, "karpenter_nodeclaims_created, gone at 1.0", "karpenter_nodeclaims_created_total")
    assert found == ("fail", "1 query uses a removed metric or label", (wanted,))
    assert finding_of(CHECK, "1.0", with_query("karpenter_nodeclaims_created", kind)).severity == "warning"
    given = remedies(CHECK, "1.0", with_query("sum(karpenter_nodeclaims_created)", kind))
    assert parses(given) == ["kubectl"]
    assert f"kubectl -n shop get {RESOURCES[kind]} web -o yaml" in given[0].text


def test_it_is_asked_where_metrics_end():
    assert asked_hops(CHECK)[0] == "0.33+"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")
