"""Old and new values of each Helm release, hop by hop."""

import msgspec
import pytest

from migrations_app.checks.changes import HelmChange, HelmValue
from migrations_app.conversion.chart_values.side_by_side import ValueRow
from migrations_app.readiness.outputs.runbook_markdown import render_files
from migrations_app.readiness.outputs.runbook_table import render
from migrations_app.readiness.published_fields import typed_plan
from migrations_app.readiness.report import GivenChart, InstallationFacts
from migrations_app.readiness.runbook.chart_values import OTHER_RELEASE, VALUES_NOT_STORED, ChartHop, ValuesWalk
from migrations_app.readiness.runbook.helm_upgrade import HelmWalk
from migrations_app.readiness.runbook.runbook import Runbook, runbook
from tests.readiness.outputs.reports import a_report, finding
from tests.readiness.runbook.test_helm_upgrade import changing

OLD = {"settings": {"aws": {"clusterName": "shop"}}, "logEncoding": "console"}


def given(
    values: object = None, *, chart: str = "karpenter", release: str = "kp", namespace: str = "ops"
) -> GivenChart:
    told = {} if values is None else values
    assert isinstance(told, dict)
    return GivenChart(chart=chart, release=release, namespace=namespace, origin="Helm release record", values=told)


def installed(*charts: GivenChart, **more: str) -> InstallationFacts:
    return InstallationFacts(namespace="ops", release="kp", given=charts, **more)


def told(hop: ChartHop) -> dict[str, tuple[str, str, str]]:
    """What becomes of each key, and its old and new value, without defaults of the chart."""
    return {row.key: (row.kind, row.old, row.new) for row in hop.rows if row.kind != "default_changed"}


def test_the_old_values_of_a_hop_are_the_new_ones_of_the_hop_before() -> None:
    walk = ValuesWalk(installed(given(OLD)))
    move = (
        ("karpenter", HelmValue("settings.aws.clusterName", why="moved")),
        ("karpenter", HelmValue("settings.clusterName", '"shop"', "moved")),
        ("karpenter", HelmValue("logConfig.logEncoding", '"console"')),
        ("karpenter", HelmValue("logEncoding")),
    )
    (first,) = walk.next_hop(move, start="0.32.10", target_release="0.37.8")
    assert told(first) == {
        "settings.aws.clusterName": ("renamed", '"shop"', '"shop"'),
        "logEncoding": ("renamed", '"console"', '"console"'),
    }
    (second,) = walk.next_hop((), start="0.37.8", target_release="1.0.14")
    assert told(second) == {
        "settings.clusterName": ("kept", '"shop"', '"shop"'),
        "logConfig.logEncoding": ("not_read", '"console"', '"console"'),
    }
    assert [row.loss for row in second.rows if row.kind == "not_read"] == ["gone at 1.0: always json"]


def test_only_the_main_chart_has_defaults_that_change() -> None:
    walk = ValuesWalk(installed(given({}), given({"a": 1}, chart="karpenter-crd", release="crds")))
    hops = {hop.chart: hop for hop in walk.next_hop((), start="0.37.8", target_release="1.0.14")}
    changed = {chart: [row for row in hop.rows if row.kind == "default_changed"] for chart, hop in hops.items()}
    assert changed["karpenter"]
    assert ([row.key for row in hops["karpenter-crd"].rows], changed["karpenter-crd"]) == (["a"], [])


def test_what_the_plan_has_set_goes_when_a_chart_does_not_read_it_any_more() -> None:
    walk = HelmWalk(installed(given(OLD)))
    walk.next_hop(
        [changing("a", HelmValue("settings.featureGates.drift", "false"))], start="0.32.10", target_release="0.37.8"
    )
    taken = walk.next_hop((), start="0.37.8", target_release="1.0.14")
    assert [(chart, one.key, one.text) for chart, one in taken.changed_values] == [
        ("karpenter", "settings.featureGates.drift", "")
    ]
    assert "drift: null" in upgrade_text(taken.controller)
    assert walk.next_hop((), start="1.0.14", target_release="1.1.10").changed_values == ()


def upgrade_text(values: tuple[HelmValue, ...]) -> str:
    from migrations_app.readiness.runbook.helm_upgrade import controller_commands

    return next(one.text for one in controller_commands("1.0.14", installed(given(OLD)), values=values))


@pytest.mark.parametrize(
    ("image", "named"),
    [
        ({"tag": "v0.32.10"}, {"tag": '"0.37.8"'}),
        ({"tag": "v0.32.10", "digest": "sha256:1"}, {"tag": '"0.37.8"', "digest": '""'}),
        ({"digest": "sha256:1"}, {"digest": '""'}),
        ({"tag": "0.37.8"}, {}),
        ({"repository": "mirror.example.com/karpenter"}, {}),
        ({"tag": "our-build"}, {}),
    ],
)
def test_no_upgrade_keeps_the_image_of_the_old_release(image: dict[str, str], named: dict[str, str]) -> None:
    walk = HelmWalk(installed(given({"controller": {"image": image}})))
    taken = walk.next_hop((), start="0.32.10", target_release="0.37.8")
    assert {one.key: one.text for one in taken.controller} == {
        f"controller.image.{key}": to for key, to in named.items()
    }
    later = walk.next_hop((), start="0.37.8", target_release="1.0.14")
    assert [one.text for one in later.controller] == ['"1.0.14"'] * (image.get("tag", "our-build") != "our-build")


def test_each_of_two_releases_is_told_and_only_the_one_that_runs_is_changed() -> None:
    walk = ValuesWalk(installed(given({"replicas": 1}), given({"replicas": 5}, release="old", namespace="kube-system")))
    ours, other = walk.next_hop((("karpenter", HelmValue("replicas", "3")),), start="1.0.14", target_release="1.1.10")
    assert (told(ours), ours.unread) == ({"replicas": ("set", "1", "3")}, "")
    assert (told(other), other.unread) == ({"replicas": ("kept", "5", "5")}, OTHER_RELEASE)


def test_the_chart_of_the_crds_is_told_by_the_name_that_calls_the_controller() -> None:
    renamed = installed(given(OLD), controller="scaler", crd_release="")
    made = HelmWalk(renamed).next_hop((), start="0.37.8", target_release="1.0.14").changed_values
    _, crds = ValuesWalk(renamed).next_hop(made, start="0.37.8", target_release="1.0.14")
    assert (crds.release, crds.origin, told(crds)) == (
        "karpenter-crd", "not installed yet", {"webhook.serviceName": ("set", "", '"scaler"')},
    )  # fmt: skip


def test_what_is_not_known_says_why() -> None:
    before = InstallationFacts(namespace="ops", release="kp")
    (old,) = ValuesWalk(before).next_hop((), start="1.0.14", target_release="1.1.10")
    assert (old.rows, old.unread, old.release) == ((), VALUES_NOT_STORED, "kp")
    unread = GivenChart(chart="karpenter", release="", namespace="", origin="", unread="secrets: forbidden")
    (hop,) = ValuesWalk(installed(unread)).next_hop((), start="1.0.14", target_release="1.1.10")
    assert (hop.rows, hop.unread) == ((), "secrets: forbidden")
    assert ValuesWalk(None).next_hop((), start="", target_release="1.1.10") == ()


def a_plan() -> Runbook:
    values = {**OLD, "podAnnotations": {"token": "(removed)"}}
    report = a_report((changing("a", HelmValue("logLevel", '"debug"', "as today")), finding("b", "pass")))
    cluster = msgspec.structs.replace(report.cluster, installed=installed(given(values)))
    return runbook(msgspec.structs.replace(report, cluster=cluster))


def test_a_plan_has_a_file_of_them_beside_it() -> None:
    plan, *files = render_files(a_plan())
    (file,) = (one for one in files if one.name == "1-values-karpenter.txt")
    assert ": the file `1-values-karpenter.txt`\n" in plan.text
    assert 'set  logLevel\n  old   (none)\n  new   "debug"\n  why   as today\n' in file.text
    assert "File 1-values-karpenter.txt" in render(a_plan())


def test_version_2_of_the_json_has_them() -> None:
    (hop,) = typed_plan(a_plan()).hops
    (chart,) = hop.charts
    assert ValueRow(key="logLevel", kind="set", new='"debug"', why="as today") in chart.rows


def test_a_change_names_the_release_that_it_is_for() -> None:
    (hop,) = a_plan().hops
    changes = [one.change for step in hop.steps for one in step.remedies if isinstance(one.change, HelmChange)]
    assert changes == []  # they stand in the upgrade of the hop, once
    assert [chart.release for chart in hop.charts] == ["kp"]
