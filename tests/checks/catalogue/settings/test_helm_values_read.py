import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import HelmChange
from tests.builders.clusters import a_cluster, an_empty_cluster, reads, remedies, result_of, result_without

CHECK = "helm_values_read"
GOOD = ("pass", "Every Helm value exists in the chart", ())
WHOLE = {
    "settings": {"clusterName": "shop"},
    "controller": {"image": {"digest": "x"}, "env": [{"name": "A"}], "resources": {"limits": {"cpu": 1}}},
    "serviceMonitor": {"enabled": True, "endpointConfig": {"interval": "30s"}},
    "global": {"anything": 1},
    "podLabels": {"team": "a"},
    "webhook": {"port": 8443},
}


def a_row(key: str) -> Evidence:
    return Evidence(
        kind="HelmRelease",
        namespace="kube-system",
        name="karpenter",
        path=f"config.{key}",
        seen="read by no release of the chart",
        wanted="absent, or the right name",
    )


@pytest.mark.parametrize("values", [{}, WHOLE, {"extraObjects": [1]}, {"replica": None}])
def test_names_that_some_chart_knows(values):
    assert result_of(CHECK, "1.0", a_cluster().with_values(values)) == GOOD


def test_misspelt_names_are_told_where_they_go_wrong():
    values = {
        "controler": {"env": [1]},
        "controller": {"resource": {"limits": {"cpu": 1}}},
        "webhook": {"enable": True},
    }
    rows = (a_row("controler"), a_row("controller.resource"), a_row("webhook.enable"))
    found = result_of(CHECK, "1.0", a_cluster().with_values(values))
    assert found == ("fail", "3 Helm values exist in no version of the chart", rows)


def test_settings_are_the_business_of_another_check():
    assert (
        result_of(CHECK, "1.0", a_cluster().with_values({"settings": {"interruptionQueueName": "q", "x": 1}})) == GOOD
    )


@pytest.mark.parametrize("odd", [{"controller": "all"}, {"webhook": []}, {"": 1}])
def test_odd_values_do_not_break_it(odd):
    assert result_of(CHECK, "1.0", a_cluster().with_values(odd))[0] in ("pass", "fail")


def test_without_any_record_the_values_are_unknown():
    why = "Helm values of chart karpenter not found: no Helm record and no Flux or Argo CD object has them"
    assert result_of(CHECK, "1.0", a_cluster()) == ("unknown", why, ())


def test_without_a_controller_there_is_nothing_to_ask():
    assert result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")[0] == "not_applicable"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_takes_them_out():
    change = remedies(CHECK, "1.0", a_cluster().with_values({"controler": {"env": [1]}}))[0].change
    assert isinstance(change, HelmChange)
    assert (change.when, change.given) == ("landing", {"controler": ""})
