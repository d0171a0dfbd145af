import pytest

from migrations_app.checks.base import Evidence
from tests.builders.clusters import (
    a_cluster,
    an_empty_cluster,
    helm_values_of,
    reads,
    remedies,
    result_of,
    result_without,
)

CHECK = "removed_env_names_unused"
GOOD = ("pass", "The target version reads every variable and feature gate", ())


def a_row(name: str, seen: str, wanted: str) -> Evidence:
    path = f"spec.template.spec.containers[].env[{name}]"
    return Evidence(kind="Deployment", namespace="kube-system", name="karpenter", path=path, seen=seen, wanted=wanted)


@pytest.mark.parametrize(
    "env",
    [
        {},
        {"CLUSTER_NAME": "shop", "INTERRUPTION_QUEUE": "shop"},
        {"DISABLE_WEBHOOK": "false", "WEBHOOK_METRICS_PORT": "8001"},
        {"ASSUME_ROLE_DURATION": "15m"},
        {"FEATURE_GATES": "Drift=true,SpotToSpotConsolidation=false"},
        {"SOMETHING_OF_OUR_OWN": "1"},
    ],
)
def test_what_is_heeded_or_written_by_the_chart(env):
    assert result_of(CHECK, "1.0", a_cluster(env=env)) == GOOD


def test_a_variable_that_was_renamed():
    row = a_row("LEADER_ELECT", "renamed at 1.0 with the opposite meaning", "DISABLE_LEADER_ELECTION")
    found = result_of(CHECK, "1.0", a_cluster(env={"LEADER_ELECT": "true"}))
    assert found == ("fail", "1 variable or feature gate is no longer read", (row,))


def test_a_variable_that_no_chart_writes():
    row = a_row("LOGGING_CONFIG", "gone at 1.0", "LOG_LEVEL")
    found = result_of(CHECK, "1.0", a_cluster(env={"LOGGING_CONFIG": "x"}))
    assert found == ("fail", "1 variable or feature gate is no longer read", (row,))


def test_a_variable_that_is_gone():
    found = result_of(CHECK, "1.0", a_cluster(env={"ASSUME_ROLE_ARN": "arn", "ASSUME_ROLE_DURATION": "15m"}))
    assert found[1:] == (
        "1 variable or feature gate is no longer read",
        (a_row("ASSUME_ROLE_ARN", ROLE, "absent"),),
    )


ROLE = "gone at 1.0: the controller would talk to its own account; chain roles through IRSA or Pod Identity"


def test_a_gate_that_no_release_knows():
    row = a_row("FEATURE_GATES", "Drfit: no such gate", "without Drfit")
    found = result_of(CHECK, "1.0", a_cluster(env={"FEATURE_GATES": "Drfit=true,Drift=true"}))
    assert found == ("fail", "1 variable or feature gate is no longer read", (row,))


@pytest.mark.parametrize("gates", ["", ",", "=", "Drift", "Drift=maybe", "Drift=true,,"])
def test_odd_gates_are_no_gates(gates):
    assert result_of(CHECK, "1.0", a_cluster(env={"FEATURE_GATES": gates})) == GOOD


def test_without_a_controller_there_is_nothing_to_ask():
    assert result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")[0] == "not_applicable"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_names_the_variables():
    first = remedies(CHECK, "1.0", a_cluster(env={"LEADER_ELECT": "true"}))[0]
    assert first.text.splitlines()[0] == "# take LEADER_ELECT out of controller.env"
    assert (first.how, helm_values_of(first, when="person")) == ("helm", {})
