import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import HelmChange
from migrations_app.samples.kubernetes_objects import config_map
from tests.builders.clusters import a_cluster, an_empty_cluster, asked_hops, reads, remedies, result_of, result_without

CHECK = "global_settings_carried_over"
GOOD = ("pass", "Every global setting is set on the controller", ())
NEW = {"settings": {"clusterName": "shop", "interruptionQueue": "shop"}}


def on(version: str, settings: dict[str, str], *, values=None, env=None):
    made = a_cluster(version, kubernetes="1.27", env=env or {})
    made.with_docs(config_map("karpenter-global-settings", "kube-system", data=settings))
    return made if values is None else made.with_values(values, version=version)


def missing(key: str, seen: str, value: str) -> Evidence:
    return Evidence(
        kind="ConfigMap",
        namespace="kube-system",
        name="karpenter-global-settings",
        path=f"data[{key}]",
        seen=seen,
        wanted=f"{value} in the Helm values",
    )


def test_all_are_given_under_their_new_names():
    settings = {"aws.clusterName": "shop", "aws.interruptionQueueName": "shop"}
    assert result_of(CHECK, "0.33+", on("0.32.10", settings, values=NEW)) == GOOD


def test_defaults_and_empty_ones_need_nothing():
    settings = {"batchMaxDuration": "10s", "aws.clusterEndpoint": "", "aws.vmMemoryOverheadPercent": "0.075"}
    assert result_of(CHECK, "0.33+", on("0.32.10", settings, values={})) == GOOD


def test_keys_without_a_successor_are_for_other_checks():
    settings = {"aws.enablePodENI": "true", "aws.tags": '{"a":"b"}', "of.our.own": "x"}
    assert result_of(CHECK, "0.33+", on("0.32.10", settings, values={})) == GOOD


def test_old_names_only():
    settings = {"aws.clusterName": "shop", "batchMaxDuration": "20s"}
    found = result_of(CHECK, "0.33+", on("0.32.10", settings, values={"settings": {"aws": {"clusterName": "shop"}}}))
    assert found == (
        "fail",
        "2 global settings are missing on the controller",
        (
            missing("aws.clusterName", "shop", "settings.clusterName"),
            missing("batchMaxDuration", "20s", "settings.batchMaxDuration"),
        ),
    )


def test_0_32_without_values_is_unknown_whatever_its_variables_say():
    cluster = on("0.32.10", {"aws.clusterName": "shop"}, env={"CLUSTER_NAME": "shop"})
    why = "the Helm values are not known, so neither is whether settings.clusterName is given"
    assert result_of(CHECK, "0.33+", cluster) == ("unknown", why, ())


@pytest.mark.parametrize(
    ("env", "wanted"),
    [
        ({"INTERRUPTION_QUEUE": "shop"}, GOOD),
        (
            {},
            (
                "fail",
                "1 global setting is missing on the controller",
                (missing("aws.interruptionQueueName", "shop", "settings.interruptionQueue"),),
            ),
        ),
    ],
)
def test_from_0_33_on_the_variables_tell(env, wanted):
    settings = {"aws.interruptionQueueName": "shop"}
    assert result_of(CHECK, "0.33+", on("0.37.1", settings, env=env)) == wanted


def test_without_the_config_map_there_is_nothing_to_carry():
    assert result_of(CHECK, "0.33+", a_cluster("0.32.10", kubernetes="1.28")) == GOOD
    assert result_of(CHECK, "0.33+", an_empty_cluster(), start="0.32.10") == GOOD


def test_it_is_asked_at_the_hop_that_drops_the_config_map():
    assert asked_hops(CHECK) == ("0.33+",)


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    cluster = a_cluster("0.32.10", kubernetes="1.28")
    assert result_without(CHECK, "0.33+", cluster, part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_gives_the_very_values():
    cluster = on("0.32.10", {"aws.clusterName": "shop", "batchMaxDuration": "20s"}, values={})
    found = remedies(CHECK, "0.33+", cluster)
    text = {one.how: one.text for one in found}
    assert text["flux"].splitlines()[2:] == ["settings:", "  batchMaxDuration: 20s", "  clusterName: shop"]
    assert isinstance(found[0].change, HelmChange)
    assert found[0].change.given == {"settings.clusterName": '"shop"', "settings.batchMaxDuration": '"20s"'}
    assert "0.32" not in text["helm"]


def test_a_long_value_is_carried_over_whole():
    bundle = "A" * 1500
    (first, *_) = remedies(CHECK, "0.33+", on("0.32.10", {"aws.clusterCABundle": bundle}, values={}))
    assert isinstance(first.change, HelmChange)
    assert first.change.given == {"settings.clusterCABundle": f'"{bundle}"'}
