"""An upgrade of the controller on the real API server, by a real helm: previewed, carried out, taken back."""

import msgspec
import pytest

from migrations_app.actions.render import diff_lines
from migrations_app.models.rollout import Attempt, Rollout
from migrations_app.use_cases.rollouts import backups, preview
from migrations_app.use_cases.rollouts.drafts import RolloutRequest, draft
from tests.actions.on_server import ADA, carried_out, plan_of, previewed
from tests.helm.conftest import FIRST, NEXT, SECRET
from tests.helm.own_charts import NAMESPACE, play_controllers

pytestmark = pytest.mark.django_db(transaction=True)
RECORDS = f"/api/v1/namespaces/{NAMESPACE}/secrets"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/karpenter"


def image(stage):
    return stage.server.admin.get(DEPLOYMENT)["spec"]["template"]["spec"]["containers"][0]["image"]


def records(stage):
    """Revision to status, of every record of the release."""
    found = stage.server.admin.items(RECORDS, labelSelector="owner=helm")
    return {int(one["metadata"]["labels"]["version"]): one["metadata"]["labels"]["status"] for one in found}


def writes(stage, mark):
    """The changes that the server saw, without dry runs, as (verb, resource, name)."""
    changing = ("create", "update", "patch", "delete", "deletecollection")
    seen = [one for one in stage.server.audit_events(mark) if one["verb"] in changing]
    real = [one for one in seen if "dryRun" not in one["requestURI"] and "selfsubject" not in one["requestURI"]]
    return [one for one in real if not (one.get("requestObject") or {}).get("dryRun")]


def test_the_preview_plays_all_of_it_and_changes_nothing(stage):  # A26, A27, A28
    mark = stage.server.audit_mark()
    row = previewed(stage.registered(), "upgrade_controller", source=stage.chart())
    assert (row.state, row.cause, row.risk) == ("previewed", "", "high")
    (step,) = plan_of(row).steps
    assert [(one["method"], one["path"].rpartition("/")[2]) for one in step.change.body["requests"]] == [
        ("PATCH", "karpenter"), ("DELETE", "karpenter-global-settings"),
    ]  # fmt: skip
    assert (writes(stage, mark), records(stage)) == ([], {1: "deployed"})
    before, after = backups.diffs_of(row.pk, steps=["s001"])["s001"]
    assert set(before["objects"]) - set(after["objects"]) == {f"ConfigMap {NAMESPACE}/karpenter-global-settings"}
    told = after["objects"][f"Deployment {NAMESPACE}/karpenter"]["spec"]["template"]["spec"]["containers"][0]
    assert told["image"].endswith(f":{NEXT}")
    shown = [(sign, line.strip()) for sign, line in diff_lines(before, after) if "image:" in line]
    assert [(sign, line.rpartition(":")[2]) for sign, line in shown] == [("-", FIRST), ("+", NEXT)]


def test_the_release_before_is_kept_sealed_and_no_secret_is_shown(stage):  # T22, T23
    row = previewed(stage.registered(), "upgrade_controller", source=stage.chart())
    kept = list(row.backups.order_by("pk"))
    assert [one.path.endswith(backups.HIDDEN) for one in kept] == [False, True]
    assert all(one.proven_at for one in kept)
    assert SECRET not in bytes(row.plan).decode()
    shown = backups.exports_yaml(row.pk)
    assert f"chart: karpenter-{FIRST}" in shown
    assert 'password: "(removed)"' in shown
    whole = msgspec.json.decode(backups._decrypted(row, kept[1].pk))
    assert whole["values"] == {"podAnnotations": {"password": SECRET}}


def test_it_is_carried_out_once_and_waited_for(stage):  # A19, A20, A24, A25
    row = previewed(stage.registered(), "upgrade_controller", source=stage.chart())
    mark = stage.server.audit_mark()
    waited = []

    def between():
        waited.append(Rollout.objects.get(pk=row.pk).waits_for)
        if len(waited) > 2:
            play_controllers(stage.server)

    done = carried_out(row, between=between)
    assert (done.state, done.cause) == ("succeeded", "")
    assert (records(stage), image(stage).rpartition(":")[2]) == ({1: "superseded", 2: "deployed"}, NEXT)
    assert any("replicas are updated" in words for words in waited)
    told = [(one["verb"], one["objectRef"]["name"]) for one in writes(stage, mark) if "helm" in one["userAgent"]]
    assert told == [
        ("create", "sh.helm.release.v1.karpenter.v2"),
        ("patch", "karpenter"),
        ("delete", "karpenter-global-settings"),
        ("update", "sh.helm.release.v1.karpenter.v1"),
        ("update", "sh.helm.release.v1.karpenter.v2"),
    ]
    assert {one["userAgent"].split(" ")[1] for one in writes(stage, mark) if "helm" in one["userAgent"]} == {
        f"action={row.pk}"
    }
    lines = list(Attempt.objects.filter(rollout=row, verb="helm"))
    assert [(one.outcome, bool(one.audit_id), bool(one.new_uid)) for one in lines] == [("applied", True, True)]


def test_it_is_taken_back_by_helm_rollback(stage):  # A35
    row = previewed(stage.registered(), "upgrade_controller", source=stage.chart())
    done = carried_out(row, between=lambda: play_controllers(stage.server))
    assert done.state == "succeeded"
    asked = RolloutRequest(action="roll_back", parameters={}, rolls_back=row.pk)
    back = Rollout.objects.get(pk=draft(row.cluster_id, asked, by=ADA))
    preview.prepare(back.pk)
    back.refresh_from_db()
    assert (back.state, back.cause) == ("previewed", "")
    gone = carried_out(back, between=lambda: play_controllers(stage.server))
    assert (gone.state, gone.cause) == ("succeeded", "")
    assert (image(stage).rpartition(":")[2], records(stage)[3]) == (FIRST, "deployed")
