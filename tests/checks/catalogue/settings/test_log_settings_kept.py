import pytest

from migrations_app.checks.base import Evidence
from tests.builders.clusters import (
    a_cluster,
    an_empty_cluster,
    asked_hops,
    helm_values_of,
    reads,
    remedies,
    result_of,
    result_without,
)

CHECK = "log_settings_kept"
GOOD = ("pass", "The controller's log settings stay the same", ())


def on(version: str, values: dict):
    return a_cluster(version, kubernetes="1.26").with_values(values, version=version)


def a_row(key: str, seen: str, wanted: str) -> Evidence:
    path = f"config.{key}"
    return Evidence(kind="HelmRelease", namespace="kube-system", name="karpenter", path=path, seen=seen, wanted=wanted)


def test_everything_is_said():
    values = {"logLevel": "info", "logConfig": {"enabled": True, "logEncoding": "json"}}
    assert result_of(CHECK, "0.33+", on("0.32.10", values)) == GOOD
    assert result_of(CHECK, "0.32", on("0.31.5", values)) == GOOD


def test_json_comes_with_0_32():
    row = a_row("logConfig.logEncoding", "absent: console becomes json", "console, or json parsed")
    assert result_of(CHECK, "0.32", on("0.31.5", {})) == ("fail", "1 log setting changes with the upgrade", (row,))


def test_info_comes_with_0_33_and_a_configuration_has_to_be_switched_on():
    rows = (
        a_row("logLevel", "absent: debug becomes info", "debug, where it is needed"),
        a_row("logConfig.enabled", "absent or false: logConfig is not mounted", "true"),
    )
    found = result_of(CHECK, "0.33+", on("0.32.10", {"logConfig": {"logEncoding": "json"}}))
    assert found == ("fail", "2 log settings change with the upgrade", rows)


def test_within_0_33_to_0_37_the_level_is_what_it_is():
    assert result_of(CHECK, "0.33+", a_cluster("0.33.5", kubernetes="1.26").with_values({}, version="0.33.5")) == GOOD


@pytest.mark.parametrize("odd", [{"logConfig": "x"}, {"logConfig": []}, {"logLevel": 5, "logConfig": None}])
def test_odd_values_do_not_break_it(odd):
    assert result_of(CHECK, "0.33+", on("0.32.10", odd))[0] in ("pass", "fail")


def test_without_any_record_the_values_are_unknown():
    why = "the Helm values of the chart karpenter, or the running release, are not known"
    assert result_of(CHECK, "0.33+", a_cluster("0.32.10", kubernetes="1.26")) == ("unknown", why, ())


def test_without_a_controller_there_is_nothing_to_ask():
    found = result_of(CHECK, "0.33+", an_empty_cluster(), start="0.32.10")
    assert found == ("not_applicable", "there is no Karpenter Deployment", ())


def test_it_is_asked_where_logs_change():
    assert asked_hops(CHECK) == ("0.32", "0.33+")


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    found = result_without(CHECK, "0.33+", a_cluster("0.32.10", kubernetes="1.26"), part=part)
    assert found == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_keeps_them():
    first = remedies(CHECK, "0.33+", on("0.32.10", {}))[0]
    assert (first.how, helm_values_of(first)) == ("helm", {"logLevel": '"debug"'})
