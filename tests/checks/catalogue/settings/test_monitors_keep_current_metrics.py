import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.kubernetes_objects import doc, meta
from tests.builders.clusters import a_cluster, reads, remedies, result_of, result_without

CHECK = "monitors_keep_current_metrics"
GOOD = ("pass", "Every metric relabeling uses metrics that exist", ())


def monitor(*expressions, kind="ServiceMonitor", field="endpoints"):
    rows = [{"action": "keep", "sourceLabels": ["__name__"], "regex": regex} for regex in expressions]
    spec = {field: [{"port": "http-metrics", "metricRelabelings": rows}]}
    return doc("monitoring.coreos.com/v1", kind, metadata=meta("karpenter", "monitoring"), spec=spec)


@pytest.mark.parametrize("regex", ["karpenter_nodepools_.*", "kube_pod_.*", "karpenter_.*"])
def test_names_that_are_there(regex):
    assert result_of(CHECK, "1.0", a_cluster().with_docs(monitor(regex))) == GOOD


@pytest.mark.parametrize(("kind", "field"), [("ServiceMonitor", "endpoints"), ("PodMonitor", "podMetricsEndpoints")])
def test_a_name_that_is_gone(kind, field):
    cluster = a_cluster().with_docs(monitor("karpenter_nodes_termination_time_seconds", kind=kind, field=field))
    row = Evidence(
        kind=kind,
        namespace="monitoring",
        name="karpenter",
        path=f"spec.{field}[0].metricRelabelings[0].regex",
        seen="karpenter_nodes_termination_time_seconds, gone at 1.0",
        wanted="karpenter_nodes_termination_duration_seconds",
    )
    assert result_of(CHECK, "1.0", cluster) == ("fail", "1 relabeling uses a removed metric", (row,))


def test_the_remedy_renames_it_where_it_stands():
    found = remedies(CHECK, "1.0", a_cluster().with_docs(monitor("karpenter_nodes_termination_time_seconds")))
    (line,) = [line for one in found if one.how == "kubectl" for line in one.text.splitlines() if " get " in line]
    assert line.startswith(
        "kubectl -n monitoring get servicemonitors.monitoring.coreos.com karpenter -o yaml | sed -E "
    )


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")
