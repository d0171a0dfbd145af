import pytest

from migrations_app.checks.base import Evidence
from migrations_app.karpenter.tables.helm_rows import REQUIRED_VALUES
from tests.builders.clusters import (
    a_cluster,
    asked_hops,
    case_at,
    finding_of,
    helm_values_of,
    remedies,
    result_of,
    result_without,
)
from tests.builders.newest import NEWEST_MINOR

CHECK = "required_chart_values_given"
GOOD = ("pass", "The target chart has every value that it requires", ())
KEY = "settings.clusterName"


def with_values(settings, *, version: str = "1.3.8", **env: str):
    return a_cluster(version, env=env).with_values({"settings": settings})


def lost(seen: str):
    row = Evidence(
        kind="HelmRelease", namespace="kube-system", name="karpenter", path=f"config.{KEY}", seen=seen,
        wanted="the name of the cluster in EKS",
    )  # fmt: skip
    return "fail", "1 Helm value that the chart requires is not given", (row,)


def test_the_value_is_given():
    assert result_of(CHECK, NEWEST_MINOR, with_values({"clusterName": "shop"})) == GOOD


@pytest.mark.parametrize(("settings", "seen"), [({}, "absent"), ({"clusterName": None}, "absent")])
def test_helm_cannot_render_the_chart_without_it(settings, seen):
    assert result_of(CHECK, NEWEST_MINOR, with_values(settings, CLUSTER_NAME="shop")) == lost(seen)


def test_an_empty_text_does_not_do():
    assert result_of(CHECK, NEWEST_MINOR, with_values({"clusterName": ""})) == lost("empty")


def test_charts_before_1_5_are_rendered_without_it():
    release = case_at("1.1+", a_cluster("1.0.14")).hop.release
    assert release < REQUIRED_VALUES[0].since
    said = ("not_applicable", f"the chart of {release} requires no value", ())
    assert result_of(CHECK, "1.1+", with_values({}, version="1.0.14")) == said
    assert asked_hops(CHECK)[0] == "1.1+"


def test_without_values_it_is_unknown_and_blocks_nothing_as_helm_itself_refuses():
    found = finding_of(CHECK, NEWEST_MINOR, a_cluster("1.3.8", helm=False))
    assert (found.status, found.severity) == ("unknown", "info")


def test_without_a_controller_it_does_not_arise():
    assert result_without(CHECK, NEWEST_MINOR, a_cluster("1.3.8"), part="controller")[0] == "unknown"


def test_the_remedy_gives_the_name_that_the_controller_has():
    (known, *_) = remedies(CHECK, NEWEST_MINOR, with_values({}, CLUSTER_NAME="shop"))
    assert helm_values_of(known) == {KEY: '"shop"'}
    (first, *_) = remedies(CHECK, NEWEST_MINOR, with_values({}))
    assert first.change.when == "person"
