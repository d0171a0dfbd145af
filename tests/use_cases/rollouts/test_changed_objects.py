"""The object is not the one that was planned for, or a name leads elsewhere: nothing wrong is ever touched."""

import base64
import uuid

import msgspec
import pytest

from migrations_app.actions.changes import ObjectTarget
from migrations_app.actions.conditions import FieldEquals
from migrations_app.actions.gate import Gate
from migrations_app.models.rollout import Attempt, Rollout
from migrations_app.use_cases.rollouts import worker
from tests.use_cases.rollouts.building import (
    APPLIED,
    NODE_PATH,
    advanced,
    config_map,
    creating,
    deleting,
    ended,
    is_ours,
    node,
    outcomes,
    rollout,
    tainting,
)
from tests.use_cases.rollouts.concurrent_changes import beside, refusal

pytestmark = [pytest.mark.django_db(transaction=True)]


def test_an_object_that_was_deleted_stops_the_step(server, cluster, complaints):  # A17, R21, T16
    target, read = node(server)
    row = rollout(cluster, tainting(target, read))
    server.admin.delete(NODE_PATH)
    row = advanced(row)
    assert (ended(row), outcomes(row), complaints(row)) == (("paused", "changed"), [], [])
    assert row.cause == "Node node-1 is gone since the preview"


def test_an_object_that_was_made_anew_is_never_touched(server, cluster, complaints):  # R22
    target, read = node(server)
    row = rollout(cluster, deleting(target, read), tainting(target, read))
    server.admin.delete(NODE_PATH)
    node(server)
    row = advanced(row)
    assert ended(row) == ("paused", "changed")
    assert outcomes(row) == [("s001", "delete", "noop"), ("s001", "gate", "noop")]
    reason = "it was so already: another Node has the name node-1 now, and stays"
    assert Attempt.objects.filter(rollout=row).first().reason == reason
    assert row.cause == "Node node-1 was deleted and created again since the preview"
    assert (server.admin.get(NODE_PATH)["spec"].get("unschedulable", False), complaints(row)) == (False, [])


def test_a_deletion_whose_object_others_create_again_does_not_succeed(server, cluster, complaints):  # R22
    target, read = config_map(server)
    row = rollout(cluster, deleting(target, read))
    server.admin.delete(target.path)
    config_map(server)
    row = advanced(row)
    words = "it was deleted, and created again by another client: another ConfigMap has the name map-1 now, and stays"
    assert (ended(row), row.cause) == (("paused", "recreated"), f"Delete ConfigMap default/map-1: {words}")
    Rollout.objects.filter(pk=row.pk).update(state="running")
    assert ended(advanced(row)) == ("paused", "recreated")
    server.admin.delete(target.path)
    Rollout.objects.filter(pk=row.pk).update(state="running")
    row = advanced(row)
    assert (row.state, complaints(row)) == ("succeeded", [])


def test_what_others_create_before_it_is_created_is_never_left_out(server, cluster, complaints):  # A23
    step = msgspec.structs.replace(
        creating("map-1"), skippable=True, postconditions=(FieldEquals(field=("data", "size"), value="big"),)
    )
    row = rollout(cluster, step)
    config_map(server)
    row = advanced(row)
    words = "ConfigMap default/map-1 was created by another client since the preview"
    assert (ended(row), row.cause, outcomes(row), complaints(row)) == (("paused", "changed"), words, [], [])


def test_a_step_that_may_be_skipped_leaves_a_changed_object_alone(server, cluster, complaints):  # A02, R22
    target, read = node(server)
    other, whole = node(server, "node-2")
    row = rollout(cluster, tainting(target, read, skippable=True), tainting(other, whole))
    server.admin.patch(NODE_PATH, {"spec": {"taints": [{"key": "mine", "effect": "NoSchedule"}]}})
    row = advanced(row)
    assert (row.state, complaints(row)) == ("succeeded", [])
    assert outcomes(row)[:2] == [("s001", "skip", "noop"), ("s001", "gate", "noop")]
    assert [one["key"] for one in server.admin.get(NODE_PATH)["spec"]["taints"]] == ["mine"]


def test_a_heartbeat_between_reading_and_sending_is_no_reason_to_stop(server, cluster, proxy, complaints):  # A18, T16
    target, read = node(server)
    row = rollout(cluster, tainting(target, read))
    held = proxy.add("hold", "PATCH", NODE_PATH)
    beat = {"metadata": {"annotations": {"beat": "1"}}}

    def beaten():
        held.reached.wait(20)
        server.admin.patch(NODE_PATH, beat)
        held.let_go.set()

    with beside(beaten):
        row = advanced(row)
    assert (row.state, complaints(row)) == ("succeeded", [])
    assert outcomes(row) == [("s001", "patch", "refused"), *APPLIED]
    assert Attempt.objects.filter(rollout=row).first().status == 409


def test_somebody_who_keeps_writing_wins(server, cluster, proxy, complaints):  # A18
    target, read = node(server)
    row = rollout(cluster, tainting(target, read))
    refusal(proxy, 409, times=9)
    row = advanced(row)
    assert (ended(row), complaints(row)) == (("paused", "contended"), [])
    assert outcomes(row) == [("s001", "patch", "refused")] * 5


def test_another_cluster_behind_the_same_address_is_never_written_to(  # A05, T17
    server, cluster, proxy, complaints, monkeypatch
):
    monkeypatch.setattr(worker, "SLICE_SECONDS", 30.0)  # a slice that ends early asks for the cluster before the gate
    target, read = node(server)
    other, whole = node(server, "node-2")
    first = tainting(target, read, after=Gate(pending_above=None, seconds=60))
    row = rollout(cluster, first, tainting(other, whole))
    fault = proxy.add("hold", "PATCH", NODE_PATH)

    def rebuilt():
        fault.reached.wait(20)
        rebuild(server)
        fault.let_go.set()

    with beside(rebuilt):
        row = advanced(row)
    assert (ended(row), outcomes(row)) == (("needs_attention", "other_cluster"), APPLIED)
    assert (is_ours(server.admin.get("/api/v1/nodes/node-2")), complaints(row)) == (False, [])


def rebuild(server):
    """Another identity of the cluster, where it keeps it: in etcd, under kube-system."""
    key = "/registry/namespaces/kube-system"
    uid = server.admin.get("/api/v1/namespaces/kube-system")["metadata"]["uid"]
    stored = base64.b64decode(server.etcd.contents()[key].value)
    server.etcd.put(key, base64.b64encode(stored.replace(uid.encode(), str(uuid.uuid4()).encode())).decode())


@pytest.mark.parametrize("name", ["", ".", "..", "a/../b", "Node", "n" * 254])
def test_a_name_that_leads_elsewhere_is_refused_before_anything_is_sent(server, cluster, complaints, name):  # K13, T18
    before = len(server.admin.items("/api/v1/nodes")), len(server.admin.items("/api/v1/namespaces"))
    target = ObjectTarget("", "v1", "nodes", "Node", name, uid="1")
    row = advanced(rollout(cluster, deleting(target, {})))
    assert (ended(row), outcomes(row), complaints(row)) == (("paused", "bad_name"), [], [])
    assert (len(server.admin.items("/api/v1/nodes")), len(server.admin.items("/api/v1/namespaces"))) == before


def test_a_namespace_is_never_deleted(server, cluster, complaints):  # T18
    made = server.admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    target = ObjectTarget("", "v1", "namespaces", "Namespace", "shop", uid=made["metadata"]["uid"])
    row = advanced(rollout(cluster, deleting(target, made)))
    assert (ended(row), outcomes(row)) == (("paused", "bad_name"), [("s001", "delete", "refused")])
    assert (server.admin.get(target.path)["status"]["phase"], complaints(row)) == ("Active", [])
