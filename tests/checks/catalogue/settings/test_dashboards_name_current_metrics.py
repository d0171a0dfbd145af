import pytest

from migrations_app.checks.base import Evidence
from migrations_app.inventory.metric_queries import MetricUser, Query
from migrations_app.inventory.objects.base import Metadata
from tests.builders.clusters import a_cluster, reads, remedies, result_of, result_without

CHECK = "dashboards_name_current_metrics"
GOOD = ("pass", "Every dashboard uses metrics that exist", ())
PATH = "data[capacity.json]: Capacity / Nodes"


def shown(text, name="boards"):
    metadata = Metadata(name=name, namespace="monitoring", labels={"grafana_dashboard": "1"})
    user = MetricUser(kind="ConfigMap", metadata=metadata, queries=[Query(path=PATH, text=text)])
    return a_cluster().with_items("dashboards", user)


@pytest.mark.parametrize("text", ["karpenter_nodes_created_total", "label_values(karpenter_x, y)", "nothing"])
def test_current_names(text):
    assert result_of(CHECK, "1.0", a_cluster()) == GOOD
    assert result_of(CHECK, "1.0", shown(text)) == GOOD


def test_a_panel_on_a_metric_that_is_renamed():
    row = Evidence(
        kind="ConfigMap",
        namespace="monitoring",
        name="boards",
        path=PATH,
        seen="karpenter_pods_startup_time_seconds_bucket, gone at 1.0",
        wanted="karpenter_pods_startup_duration_seconds_bucket",
    )
    found = result_of(CHECK, "1.0", shown("rate(karpenter_pods_startup_time_seconds_bucket[5m])"))
    assert found == ("fail", "1 panel uses a removed metric or label", (row,))


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_a_dashboard_that_could_not_be_read_keeps_it_from_passing():
    assert result_of(CHECK, "1.0", a_cluster().quarantined("dashboards"))[0] == "unknown"


def test_the_remedy_names_the_config_map():
    (first,) = remedies(CHECK, "1.0", shown("karpenter_nodes_created", name="my boards"))
    assert first.text.splitlines()[1].startswith("kubectl -n monitoring get configmap 'my boards' -o yaml | sed -E ")
