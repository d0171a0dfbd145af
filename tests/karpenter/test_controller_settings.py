import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.karpenter.controller_settings import (
    UnreadKey,
    drift_is_on,
    parse_gates,
    unread_crd_chart_keys,
    unread_env_names,
    unread_gates,
    unread_helm_keys,
)
from migrations_app.karpenter.releases import RELEASES
from migrations_app.karpenter.tables.env_rows import ENV_NAMES
from migrations_app.karpenter.tables.helm_rows import CRD_CHART, MAIN_CHART
from migrations_app.karpenter.versions import parse, parse_minor, release
from tests.builders.newest import NEWEST, NEWEST_RELEASE, NEXT_MINOR

ROAD = ("0.31.5", "0.32.10", "0.33.12", "0.37.8", "1.0.14", "1.1.10", NEWEST)


def nested(key: str, value: object = "x") -> dict[str, object]:
    head, _, rest = key.partition(".")
    return {head: nested(rest, value) if rest else value}


def unread_on_the_road(key: str) -> list[str]:
    return [text for text in ROAD if unread_helm_keys(nested(key), release(text))]


@pytest.mark.parametrize(
    ("key", "unread"),
    [
        ("settings.aws.clusterName", ["0.33.12", "0.37.8", "1.0.14", "1.1.10", NEWEST]),
        ("settings.clusterName", ["0.31.5"]),
        ("settings.interruptionQueueName", list(ROAD)),
        ("settings.assumeRoleARN", ["0.31.5", "1.0.14", "1.1.10", NEWEST]),
        ("settings.featureGates.drift", ["0.31.5", "1.0.14", "1.1.10", NEWEST]),
        ("settings.featureGates.staticCapacity", ["0.31.5", "0.32.10", "0.33.12", "0.37.8", "1.0.14", "1.1.10"]),
        ("settings.batchIdleDuration", []),
        ("logConfig.logLevel.controller", ["0.31.5", "1.0.14", "1.1.10", NEWEST]),
        ("logOutputPaths", ["0.31.5", "0.32.10", "0.33.12", "0.37.8"]),
        ("webhook.enabled", ["0.31.5", "1.1.10", NEWEST]),
        ("webhook.port", ["1.1.10", NEWEST]),
        ("podSecurityContext.fsGroup", ["0.31.5", "0.32.10", "0.33.12"]),
        ("extraObjects", list(ROAD)),
        ("controller.env", []),
        ("replicas", []),
        ("settings.somethingOfMine", ["0.32.10", "0.33.12", "0.37.8", "1.0.14", "1.1.10", NEWEST]),
    ],
)
def test_where_a_value_is_not_read(key: str, unread: list[str]) -> None:
    assert unread_on_the_road(key) == unread


def test_what_replaces_values_at_0_33() -> None:
    config = {
        "settings": {
            "aws": {"clusterName": "c", "tags": {"team.example/owner": "a"}, "interruptionQueueName": "q"},
            "featureGates": {"driftEnabled": False},
            "clusterEndpoint": "https://c",
        },
        "logLevel": "debug",
    }
    assert unread_helm_keys(config, release("0.33.0")) == [
        UnreadKey(key="settings.aws.clusterName", replacement="settings.clusterName", fate="read up to 0.32"),
        UnreadKey(
            key="settings.aws.tags",
            replacement="EC2NodeClass spec.tags",
            fate="0.32 reads it for alpha templates only",
        ),
        UnreadKey(
            key="settings.aws.interruptionQueueName", replacement="settings.interruptionQueue", fate="read up to 0.32"
        ),
        UnreadKey(
            key="settings.featureGates.driftEnabled",
            replacement="settings.featureGates.drift",
            fate="renamed at 0.32; from 1.0 on drift is always on",
            becomes=True,
        ),
    ]


@pytest.mark.parametrize(
    ("key", "running", "replacement"),
    [
        ("settings.interruptionQueueName", "0.31.5", "settings.aws.interruptionQueueName"),
        ("settings.interruptionQueueName", "1.0.14", "settings.interruptionQueue"),
        ("settings.aws.assumeRoleARN", "0.33.0", "settings.assumeRoleARN"),
        ("settings.aws.assumeRoleARN", "1.0.14", ""),
        ("settings.clusterName", "0.31.0", "settings.aws.clusterName"),
        ("settings.featureGates.driftEnabled", "1.0.14", ""),
        ("logEncoding", "1.0.14", ""),
        ("controller.outputPaths", "1.0.14", "logOutputPaths"),
        ("controller.outputPaths", "0.33.0", ""),
    ],
)
def test_a_replacement_is_named_only_where_it_is_read(key: str, running: str, replacement: str) -> None:
    assert [one.replacement for one in unread_helm_keys(nested(key), release(running))] == [replacement]


@pytest.mark.parametrize(("running", "unread"), [("1.6.1", True), ("1.6.2", False), ("1.7.0", False), ("1.5.9", True)])
def test_a_value_that_came_with_a_patch(running: str, unread: bool) -> None:
    assert bool(unread_helm_keys({"settings": {"disableDryRun": True}}, release(running))) is unread


def test_the_hook_image_is_read_by_six_patches_only() -> None:
    patches = [patch for row in RELEASES for patch in row.releases]
    found = [str(patch) for patch in patches if not unread_helm_keys({"postInstallHook": {"image": "x"}}, patch)]
    assert found == ["0.33.6", "0.34.7", "0.35.6", "0.36.3", "0.37.1", "1.0.0"]


def test_null_and_empty_values_are_not_given_but_false_and_zero_are() -> None:
    empty = {"webhook": None, "logConfig": {}, "settings": {"aws": {"clusterName": "", "tags": {}}}, "extraObjects": []}
    assert unread_helm_keys(empty, NEWEST_RELEASE) == []
    given = unread_helm_keys({"webhook": {"enabled": False, "port": 0}}, NEWEST_RELEASE)
    assert [one.key for one in given] == ["webhook.enabled", "webhook.port"]


def test_settings_of_a_release_beyond_the_tables_are_left_alone() -> None:
    assert unread_helm_keys({"settings": {"brandNew": 1}}, release(f"{NEXT_MINOR}.0")) == []
    assert unread_helm_keys({"settings": {"aws": {"clusterName": "x"}}}, release(f"{NEXT_MINOR}.0")) != []


def test_odd_shapes_are_taken_as_they_are() -> None:
    assert unread_helm_keys({"settings": ["a"], "webhook": "on", "replicas": 2}, NEWEST_RELEASE) == []
    assert unread_helm_keys({1: {None: "x"}}, NEWEST_RELEASE) == []  # type: ignore[dict-item]  # YAML keys may be anything
    deep: dict[str, object] = {}
    for _ in range(5000):
        deep = {"a": deep or 1}
    assert unread_helm_keys({"settings": deep}, NEWEST_RELEASE)[0].key.startswith("settings.a.a.a")


@pytest.mark.parametrize(
    ("running", "unread"),
    [("0.33.5", True), ("0.33.6", False), ("0.35.12", False), ("0.36.2", True), ("1.0.14", False), ("1.1.0", True)],
)
def test_webhook_values_of_the_crd_chart(running: str, unread: bool) -> None:
    found = unread_crd_chart_keys({"webhook": {"enabled": True}}, release(running))
    assert [one.key for one in found] == (["webhook.enabled"] if unread else [])


def test_env_names_that_went() -> None:
    names = iter(["CLUSTER_NAME", "ASSUME_ROLE_ARN", "LEADER_ELECT", "DISABLE_WEBHOOK", "AWS_REGION"])
    assert [(one.key, one.replacement) for one in unread_env_names(names, release("1.1.0"))] == [
        ("ASSUME_ROLE_ARN", ""),
        ("LEADER_ELECT", "DISABLE_LEADER_ELECTION"),
        ("DISABLE_WEBHOOK", ""),
    ]


def test_env_names_that_are_not_there_yet() -> None:
    found = unread_env_names(["CLUSTER_NAME", "LOG_OUTPUT_PATHS", "ENABLE_ZONAL_SHIFT"], release("0.31.5"))
    assert [(one.key, one.fate) for one in found] == [
        ("CLUSTER_NAME", "read from 0.32 on"),
        ("LOG_OUTPUT_PATHS", "read from 1.0 on"),
        ("ENABLE_ZONAL_SHIFT", "read from 1.12 on"),
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Drift=true,NodeRepair=false", {"Drift": True, "NodeRepair": False}),
        (" Drift = True , ", {"Drift": True}),
        ("Drift", {}),
        ("Drift=perhaps,=true", {}),
        ("", {}),
    ],
)
def test_reads_gates(text: str, found: dict[str, bool]) -> None:
    assert parse_gates(text) == found


def test_unknown_gates() -> None:
    assert unread_gates("Drift=true,SpotToSpotConsolidation=true", release("1.0.14")) == ["Drift"]
    assert unread_gates("Anything=true", release("9.0.0")) == []


@pytest.mark.parametrize(
    ("running", "gates", "settings", "on"),
    [
        ("0.31.5", None, None, False),
        ("0.31.5", None, {"featureGates.driftEnabled": "true"}, True),
        ("0.31.5", "Drift=true", {}, False),
        ("0.32.10", None, None, False),
        ("0.32.10", "Drift=true", None, True),
        ("0.37.8", None, None, True),
        ("0.37.8", "", None, True),
        ("0.37.8", "SpotToSpotConsolidation=true", None, False),
        ("0.37.8", "Drift=false", None, False),
        ("1.0.0", "Drift=false", None, True),
        ("0.27.0", None, None, None),
    ],
)
def test_whether_nodes_drift(running: str, gates: str | None, settings: dict[str, str] | None, on: bool | None) -> None:
    assert drift_is_on(release(running), feature_gates=gates, global_settings=settings) is on


def test_bounds_of_all_rows_are_versions() -> None:
    bounds = {bound for row in (*MAIN_CHART, *CRD_CHART, *ENV_NAMES) for bound in (row.first, row.last) if bound}
    assert [bound for bound in bounds if parse(bound) is None and parse_minor(bound) is None] == []


VALUES = st.recursive(
    st.none() | st.booleans() | st.text(max_size=5),
    lambda inner: st.dictionaries(st.sampled_from(["settings", "aws", "tags", "webhook", "x", "enabled"]), inner),
)


@given(st.dictionaries(st.sampled_from(["settings", "webhook", "logConfig"]), VALUES), st.sampled_from(ROAD))
def test_any_values_are_answered_without_repeats(config: dict[str, object], running: str) -> None:
    found = [one.key for one in unread_helm_keys(config, release(running))]
    assert len(set(found)) == len(found)
