import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.installation import Install, controller
from tests.builders.clusters import (
    NODE,
    a_cluster,
    an_empty_cluster,
    helm_values_of,
    reads,
    remedies,
    result_of,
    result_without,
)
from tests.builders.newest import NEWEST_MINOR

CHECK = "feature_gates_in_force"
GOOD = ("pass", "Every feature gate has its intended value", ())
ONE = "1 feature gate has an unintended value"
ENV = "spec.template.spec.containers[].env[FEATURE_GATES]"


def gated(text: str, version: str = "0.37.8"):
    return a_cluster(version, env={"FEATURE_GATES": text})


def a_row(seen: str, wanted: str, path: str = ENV, **more: str) -> tuple[Evidence, ...]:
    where = {"kind": "Deployment", "namespace": "kube-system", "name": "karpenter"} | more
    return (Evidence(**where, path=path, seen=seen, wanted=wanted),)


@pytest.mark.parametrize(
    "cluster",
    [
        a_cluster(),
        gated("Drift=true,SpotToSpotConsolidation=false"),
        gated("Drift=false"),
        gated("SpotToSpotConsolidation=true", "1.0.14"),
    ],
)
def test_gates_that_were_meant(cluster):
    hop = "1.1+" if "1.0.14" in str(cluster.build().controller) else "1.0"
    assert result_of(CHECK, hop, cluster) == GOOD


def test_without_drift_it_is_off_on_0_33_to_0_37():
    rows = a_row("SpotToSpotConsolidation=true: without Drift it is off", "Drift=true or false")
    assert result_of(CHECK, "1.0", gated("SpotToSpotConsolidation=true")) == ("fail", ONE, rows)


def test_a_flag_wins_over_the_variable():
    deployment, *rest = controller(
        Install(cluster="test", version="0.37.8", env={"FEATURE_GATES": "Drift=true"}), [NODE]
    )
    deployment["spec"]["template"]["spec"]["containers"][0]["args"] = ["-v", "--feature-gates", "A=true"]
    cluster = a_cluster().without("controller").with_docs(deployment, *rest)
    path = "spec.template.spec.containers[controller].args[1]"
    rows = a_row("A=true: without Drift it is off", "Drift=true or false", path)
    assert result_of(CHECK, "1.0", cluster) == ("fail", ONE, rows)
    deployment["spec"]["template"]["spec"]["containers"][0]["args"] = ["--feature-gates=Drift=false"]
    assert result_of(CHECK, "1.0", a_cluster().without("controller").with_docs(deployment)) == GOOD


@pytest.mark.parametrize("part", ["Drift", "Drift=yes", "Drift=true;A=false"])
def test_what_cannot_be_read_keeps_the_controller_from_starting(part):
    _, _, rows = result_of(CHECK, "1.0", gated(part))
    expected = a_row(f"{part}: the controller cannot read it and does not start", "a gate, = and true or false")
    assert rows[:1] == expected


def test_a_gate_set_too_early():
    rows = a_row("NodeRepair: 1.0 has no such gate", "NodeRepair from 1.1 on")
    found = result_of(CHECK, "1.1+", gated("SpotToSpotConsolidation=true,NodeRepair=true", "1.0.14"))
    assert found == ("fail", ONE, rows)


def test_a_default_that_another_check_asks_about():
    cluster = a_cluster("1.3.3", kubernetes="1.32").with_values({}, version="1.3.3")
    assert result_of(CHECK, NEWEST_MINOR, cluster) == GOOD


def test_drift_comes_with_0_33():
    rows = a_row(
        "absent: false on 0.32, true on 0.37",
        "true or false, as it is meant",
        "config.settings.featureGates.drift",
        kind="HelmRelease",
    )
    cluster = a_cluster("0.32.10", kubernetes="1.28").with_values({}, version="0.32.10")
    assert result_of(CHECK, "0.33+", cluster) == ("fail", ONE, rows)
    old = cluster.with_values({"settings": {"featureGates": {"driftEnabled": True}}}, version="0.32.10")
    assert result_of(CHECK, "0.33+", old) == GOOD


def test_without_values_nobody_knows_who_chose():
    cluster = a_cluster("0.32.10", kubernetes="1.28", env={"FEATURE_GATES": "Drift=false"})
    why = "whether Drift was chosen is not known without Helm values: True after the upgrade"
    assert result_of(CHECK, "0.33+", cluster) == ("unknown", why, ())
    chosen = a_cluster("0.32.10", kubernetes="1.28", env={"FEATURE_GATES": "Drift=true"})
    assert result_of(CHECK, "0.33+", chosen) == GOOD


def test_gates_from_an_object_that_is_not_read():
    why = "containers[].env[FEATURE_GATES] is empty or taken from an object that is not read"
    assert result_of(CHECK, "1.0", gated("")) == ("unknown", why, ())


def test_without_a_controller_there_is_nothing_to_ask():
    found = result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")
    assert found == ("not_applicable", "there is no Karpenter Deployment", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_whether_nodes_drift_is_for_a_person_to_say():
    first = remedies(CHECK, "1.0", gated("SpotToSpotConsolidation=true"))[0]
    assert (first.how, helm_values_of(first, when="person")) == ("helm", {})
    assert "each gate as it is meant; with drift true nodes begin to drift at once" in first.text


def test_the_remedies_keep_what_is():
    cluster = a_cluster("0.32.10", kubernetes="1.28").with_values({}, version="0.32.10")
    first = remedies(CHECK, "0.33+", cluster)[0]
    assert (first.how, helm_values_of(first)) == ("helm", {"settings.featureGates.drift": "false"})
