"""What helm, the chart or the release may be wrong in: each has a clear reason, and nothing is half done."""

import stat
from dataclasses import replace

import pytest

from migrations_app.models.cluster import Cluster
from migrations_app.use_cases.clusters.registration import Details, register_kubeconfig
from tests.actions.on_server import carried_out, previewed
from tests.helm.conftest import FIRST, GIVEN, NEXT
from tests.helm.odd_records import with_status
from tests.helm.own_charts import HOOK, NAMESPACE, install, packed, play_controllers
from tests.helm.test_on_server import RECORDS, image, records, writes

pytestmark = pytest.mark.django_db(transaction=True)


def refused(stage, **parameters):
    """(code, words) of a preview that could not be made; nothing was written."""
    mark = stage.server.audit_mark()
    row = previewed(stage.registered(), "upgrade_controller", **parameters)
    assert (row.state, writes(stage, mark)) == ("expired", [])
    return row.cause_code, row.cause


def set_env(settings, **more):
    settings.ENV = replace(settings.ENV, **more)


def test_it_is_off_until_somebody_switches_it_on(stage, settings):
    set_env(settings, controller_upgrades=False)
    assert refused(stage, source=stage.chart()) == (
        "controller_upgrades_off", "upgrades of the controller are switched off: KARPDASH_CONTROLLER_UPGRADES"
    )  # fmt: skip


def test_a_helm_that_is_missing(stage, settings, monkeypatch):
    set_env(settings, helm="")
    monkeypatch.setenv("PATH", "/nowhere")
    code, words = refused(stage, source=stage.chart())
    assert (code, words) == ("helm_missing", "KARPDASH_HELM: helm is not on the PATH of the worker")


@pytest.mark.parametrize(
    ("says", "words"),
    [
        ("v4.0.1", "helm v4.0.1 is not supported"),
        ("v3.2.0", "helm v3.2.0 is not supported"),
        ("x", "does not print"),
    ],
)
def test_a_helm_of_another_version(stage, settings, tmp_path, says, words):
    program = tmp_path / "helm"
    program.write_text(f"#!/bin/sh\necho {says}\n")
    program.chmod(stat.S_IRWXU)
    set_env(settings, helm=str(program))
    code, told = refused(stage, source=stage.chart())
    assert (code, words in told) == ("helm_version", True)


def test_a_chart_that_cannot_be_had(stage, settings):
    assert refused(stage, source="none.tgz")[0] == "no_chart"
    assert refused(stage, source="folder")[0] == "no_chart"
    set_env(settings, chart_registry="oci://127.0.0.1:9/karpenter")
    code, words = refused(stage)
    assert code == "chart_not_pulled"
    assert f"oci://127.0.0.1:9/karpenter/karpenter:{NEXT} cannot be pulled" in words


def test_a_chart_of_another_release_or_that_does_not_render(stage):
    assert refused(stage, source=stage.chart(version="1.1.0"))[0] == "other_release"
    code, words = refused(stage, source=stage.chart(odd='{{ fail "needs settings.x" }}'))
    assert (code, "needs settings.x" in words) == ("helm_refused", True)


def test_an_object_that_the_server_refuses(stage):
    odd = "apiVersion: v1\nkind: Service\nmetadata: {name: odd}\nspec: {ports: [{port: 99999}]}\n"
    code, words = refused(stage, source=stage.chart(odd=odd))
    assert (code, "99999" in words) == ("helm_refused", True)


def relabel(stage, revision, status):
    """Makes helm's record say so, as a helm that was killed leaves it."""
    path = f"{RECORDS}/sh.helm.release.v1.karpenter.v{revision}"
    secret = stage.server.admin.get(path)
    stage.server.admin.patch(path, with_status(secret, status))


def test_a_release_that_is_pending(stage):
    relabel(stage, 1, "pending-upgrade")
    code, words = refused(stage, source=stage.chart())
    assert (code, "is pending-upgrade since revision 1" in words) == ("release_pending", True)
    assert words.endswith("no earlier revision worked: let whoever installs it finish")


def test_a_release_that_failed(stage):
    relabel(stage, 1, "failed")
    code, words = refused(stage, source=stage.chart())
    assert (code, words.endswith("no earlier revision worked: let whoever installs it finish")) == (
        "release_failed",
        True,
    )


def test_two_releases_of_the_chart(stage):
    other = {"second.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: second}\n"}
    install(stage.helm, stage.server, packed(FIRST, other), release="karpenter-b")
    code, words = refused(stage, source=stage.chart())
    assert (code, "karpenter/karpenter, karpenter/karpenter-b" in words) == ("two_releases", True)


def test_rights_that_are_missing_are_all_named_at_once(stage):  # A26
    reads = [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]},
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create", "update"]},
    ]
    token = stage.server.make_user("reader", reads)
    pk = register_kubeconfig(stage.server.kubeconfig(token).encode(), Details(name="read", by="ada"))
    row = previewed(Cluster.objects.get(pk=pk), "upgrade_controller", source=stage.chart(role2=MORE))
    assert (row.state, row.cause_code) == ("expired", "missing_rights")
    assert row.cause.count("verbs:") == 3
    for rule in (
        '["deployments"], verbs: ["patch"]',
        '["configmaps"], verbs: ["delete"]',
        '["services"], verbs: ["create"]',
    ):
        assert rule in row.cause


MORE = "apiVersion: v1\nkind: Service\nmetadata: {name: more}\nspec: {ports: [{port: 80}]}\n"


def test_a_hook_that_hangs_ends_in_time_and_is_taken_back(stage):  # R24
    row = previewed(stage.registered(), "upgrade_controller", source=stage.chart(hook=HOOK))
    assert (row.state, row.cause) == ("previewed", "")
    done = carried_out(row)
    assert (done.state, done.cause_code) == ("paused", "release_failed")
    assert "timed out waiting for the condition" in done.cause
    assert (records(stage), image(stage).rpartition(":")[2]) == ({1: "deployed", 2: "failed"}, NEXT)
    type(row).objects.filter(pk=row.pk).update(state="aborted")
    back = previewed(row.cluster, "roll_back_controller")
    assert (back.state, back.cause) == ("previewed", "")
    again = carried_out(back, between=lambda: play_controllers(stage.server))
    assert (again.state, again.cause) == ("succeeded", "")
    assert (image(stage).rpartition(":")[2], records(stage)[3]) == (FIRST, "deployed")


def test_what_was_changed_since_the_preview_stops_it_before_anything_is_sent(stage):  # T16, R21
    row = previewed(stage.registered(), "upgrade_controller", source=stage.chart())
    path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/karpenter"
    containers = [{"name": "controller", "env": [{"name": "LOG_LEVEL", "value": "debug"}]}]
    stage.server.admin.patch(path, {"spec": {"template": {"spec": {"containers": containers}}}}, how="strategic")
    mark = stage.server.audit_mark()
    done = carried_out(row)
    assert (done.state, done.cause_code, writes(stage, mark)) == ("paused", "changed", [])


def test_another_helm_since_the_preview_stops_it(stage):  # A17
    row = previewed(stage.registered(), "upgrade_controller", source=stage.chart())
    stage.helm.run(
        "upgrade", "karpenter", str(stage.charts / "next.tgz"), "-n", NAMESPACE,
        values=GIVEN, kubeconfig=stage.server.kubeconfig(stage.server.admin_token),
    )  # fmt: skip
    mark = stage.server.audit_mark()
    done = carried_out(row)
    assert (done.state, done.cause_code, writes(stage, mark)) == ("paused", "release_changed", [])


def test_a_chart_that_is_another_one_now(stage):
    row = previewed(stage.registered(), "upgrade_controller", source=stage.chart())
    stage.chart(more=MORE)
    mark = stage.server.audit_mark()
    done = carried_out(row)
    assert (done.state, done.cause_code, writes(stage, mark)) == ("paused", "chart_changed", [])
