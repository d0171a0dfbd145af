import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import PersonTask, leaves
from migrations_app.inventory.metric_queries import MetricUser, Query
from migrations_app.inventory.objects.base import Metadata
from tests.builders.clusters import a_cluster, asked_hops, reads, remedies, result_of, result_without
from tests.builders.newest import NEWEST_MINOR

CHECK = "alerts_name_current_metrics"
GOOD = ("pass", "Every alert uses metrics that exist", ())
PATH = "spec.groups[capacity].rules[Many].expr"


def changes(*asked):
    return [leaf for change in dict.fromkeys(one.change for one in remedies(*asked)) for leaf in leaves(change)]


def ruled(*texts, version="0.37.8", name="karpenter", **metadata):
    user = MetricUser(
        kind="PrometheusRule",
        metadata=Metadata(name=name, namespace="monitoring", **metadata),
        queries=[Query(path=PATH, text=text) for text in texts],
    )
    return a_cluster(version).with_items("prometheus_rules", user)


def a_row(seen, wanted):
    return Evidence(
        kind="PrometheusRule", namespace="monitoring", name="karpenter", path=PATH, seen=seen, wanted=wanted
    )


def test_no_rule_names_a_metric():
    assert result_of(CHECK, "1.0", a_cluster()) == GOOD


@pytest.mark.parametrize("text", ["karpenter_nodes_created_total", "karpenter_of_tomorrow > 1", "up == 0", ""])
def test_names_that_stay_or_that_nobody_knows(text):
    assert result_of(CHECK, "1.0", ruled(text)) == GOOD


def test_a_renamed_and_a_dropped_metric():
    found = result_of(CHECK, "1.0", ruled("karpenter_nodes_created > karpenter_consistency_errors"))
    assert found == (
        "fail",
        "2 alert or recording rules use removed metrics or labels",
        (
            a_row("karpenter_nodes_created, gone at 1.0", "karpenter_nodes_created_total"),
            a_row("karpenter_consistency_errors, gone at 1.0", "nothing: the metric is gone"),
        ),
    )


def test_a_label_value_that_is_written_otherwise():
    text = 'karpenter_nodeclaims_disrupted_total{reason="liveness"}'
    assert result_of(CHECK, NEWEST_MINOR, ruled(text, version="1.1.10"))[2] == (
        a_row('reason="liveness", gone at 1.7', 'reason="registration_timeout"'),
    )
    assert result_of(CHECK, "1.1+", ruled(text, version="1.0.14")) == GOOD


def test_a_label_that_ends_is_asked_for_by_a_person():
    text = 'sum(karpenter_nodes_allocatable{provisioner="default"}) > 100'
    cluster = ruled(text, version="0.32.10")
    row = a_row("label provisioner of karpenter_nodes_allocatable, gone at 0.33", "label nodepool")
    assert result_of(CHECK, "0.33+", cluster)[2] == (row,)
    assert result_of(CHECK, "0.33+", ruled(text.replace("provisioner", "nodepool"), version="0.32.10")) == GOOD
    (task,) = changes(CHECK, "0.33+", cluster)
    assert isinstance(task, PersonTask)
    assert task.what == "label provisioner of karpenter_nodes_allocatable is now label nodepool"


def test_a_label_of_a_metric_that_is_renamed_with_it():
    text = 'karpenter_disruption_actions_performed_total{method="drift"}'
    name = "karpenter_disruption_actions_performed_total"
    assert result_of(CHECK, "1.0", ruled(text))[2] == (
        a_row(f"{name}, gone at 1.0", "karpenter_voluntary_disruption_decisions_total"),
        a_row(f"label method of {name}, gone at 1.0", "label reason"),
    )


def test_a_metric_that_is_only_renamed_later():
    assert result_of(CHECK, "0.33+", ruled("karpenter_nodes_created", version="0.32.10")) == GOOD


def test_it_is_not_asked_before_names_go():
    assert asked_hops(CHECK)[:2] == ("0.33+", "1.0")


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_a_rule_that_could_not_be_read_keeps_it_from_passing():
    found = result_of(CHECK, "1.0", a_cluster().quarantined("prometheus_rules"))
    assert found[0] == "unknown"


def test_the_remedy_renames_what_has_a_new_name():
    (first,) = remedies(CHECK, "1.0", ruled("karpenter_nodes_created + karpenter_consistency_errors"))
    assert (first.how, first.text.splitlines()) == (
        "kubectl",
        [
            "# Writes new names into the object, once the new release serves them",
            (
                "kubectl -n monitoring get prometheusrules.monitoring.coreos.com karpenter -o yaml"
                " | sed -E 's/\\bkarpenter_nodes_created\\b/karpenter_nodes_created_total/g' | kubectl replace -f -"
            ),
            (
                "kubectl -n monitoring edit prometheusrules.monitoring.coreos.com karpenter"
                "  # karpenter_consistency_errors is now nothing: the metric is gone"
            ),
        ],
    )


def test_the_change_is_made_after_the_upgrade_and_says_its_rollback():
    (rename,) = changes(CHECK, "1.0", ruled("karpenter_nodes_created"))
    assert (rename.when, rename.target.name, rename.names) == (
        "after", "karpenter", {"karpenter_nodes_created": "karpenter_nodes_created_total"},
    )  # fmt: skip
    assert rename.undo.names == {"karpenter_nodes_created_total": "karpenter_nodes_created"}


def test_where_nothing_takes_its_place_a_person_decides():
    (task,) = changes(CHECK, "1.0", ruled("karpenter_consistency_errors"))
    assert (type(task).__name__, task.what) == (
        "PersonTask", "karpenter_consistency_errors is now nothing: the metric is gone",
    )  # fmt: skip
    assert task.why


def test_the_source_of_a_rule_that_flux_keeps_is_first():
    marks = {"kustomize.toolkit.fluxcd.io/name": "rules", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
    found = remedies(CHECK, "1.0", ruled("karpenter_nodes_created", labels=marks))
    assert [remedy.how for remedy in found] == ["flux", "kubectl"]
    assert "karpenter_nodes_created is now karpenter_nodes_created_total" in found[0].text
