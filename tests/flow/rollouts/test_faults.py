"""A request that meets a fault: each ends as the rules say, and the API server's audit log bears witness."""

import base64
import uuid
from datetime import timedelta

import pytest

from migrations_app.actions.changes import Target, creation, merge
from migrations_app.actions.conditions import Exists, Held, projected
from migrations_app.actions.gate import Gate
from migrations_app.actions.plan import Step
from migrations_app.flow import execute
from migrations_app.models.rollout import Attempt
from tests.flow.rollouts.building import (
    advanced,
    config_map,
    creating,
    deleting,
    ended,
    node,
    outcomes,
    rollout,
    tainting,
)
from tests.flow.rollouts.faulty import APPLIED, MAPS, NODE_PATH, beside, one_of, ours, reconnect, refusal
from tests.servers.crds import documents

pytestmark = [pytest.mark.django_db(transaction=True)]


# --- the object is not as it was


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
    assert row.cause == "Node node-1 was made anew under its name since the preview"
    assert (server.admin.get(NODE_PATH)["spec"].get("unschedulable", False), complaints(row)) == (False, [])


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


# --- what the server answers


@pytest.mark.parametrize(("status", "code"), [(401, "refused_401"), (403, "refused_403"), (422, "refused_422")])
def test_a_refusal_calls_a_person(server, cluster, proxy, complaints, status, code):  # A24, R31
    target, read = node(server)
    row = rollout(cluster, tainting(target, read))
    refusal(proxy, status)
    row = advanced(row)
    assert (ended(row), row.cause) == (("paused", code), "Taint Node node-1: no")
    assert (outcomes(row), complaints(row)) == ([("s001", "patch", "refused")], [])


def test_a_real_refusal_of_rights_is_told_in_the_servers_words(server, cluster, proxy, complaints):  # A26
    target, read = node(server)
    row = rollout(cluster, tainting(target, read))
    rules = [{"apiGroups": [""], "resources": ["nodes", "namespaces"], "verbs": ["get"]}]
    connected = proxy.kubeconfig(server.make_user("reader", rules)).encode()
    reconnect(cluster, connected)
    row = advanced(row)
    assert ended(row) == ("paused", "refused_403")
    assert "cannot patch resource" in row.cause
    assert complaints(row) == []


def test_a_value_that_the_server_does_not_take_is_told(server, cluster, complaints):
    target, read = node(server)
    change = merge(target, {"metadata": {"labels": {"a": "not a label!"}}})
    field = ("metadata", "labels")
    step = Step(
        id="",
        title="Label",
        change=change,
        rests_on=(field,),
        digest=projected(read, (field,)),
        brings=(Held(field=("metadata", "labels", "a"), value="not a label!"),),
    )
    row = advanced(rollout(cluster, step))
    assert (ended(row), "a valid label must be" in row.cause) == (("paused", "refused_422"), True)
    assert complaints(row) == []


def test_an_overloaded_server_is_given_time(server, cluster, proxy, complaints):  # K08, R13
    target, read = node(server)
    row = rollout(cluster, tainting(target, read))
    refusal(proxy, 429, times=2, **{"Retry-After": "1"})
    row = advanced(row)
    assert (row.state, complaints(row)) == ("succeeded", [])
    assert outcomes(row) == [("s001", "patch", "refused")] * 2 + APPLIED


def test_a_server_that_is_always_overloaded_calls_a_person(server, cluster, proxy):  # R13
    target, read = node(server)
    row = rollout(cluster, tainting(target, read))
    refusal(proxy, 429, times=9)
    assert ended(advanced(row)) == ("paused", "overloaded")


def test_a_place_that_is_not_there_calls_a_person(server, cluster, complaints, monkeypatch):
    target = Target("karpenter.sh", "v1", "nodepools", "NodePool", "default")
    body = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "default"}}
    step = Step(id="", title="Create", change=creation(target, body), brings=(Exists(),), digest=projected(None, ()))
    monkeypatch.setattr(execute, "PATIENCE", timedelta(0))
    row = advanced(rollout(cluster, step))
    assert (ended(row), complaints(row)) == (("paused", "unreachable"), [])


@pytest.mark.parametrize("status", [500, 503, 504])
def test_a_server_that_fails_leaves_doubt_and_the_doubt_is_settled_by_reading(
    server, cluster, proxy, complaints, status
):  # A22, R12
    target, read = node(server)
    row = rollout(cluster, tainting(target, read))
    refusal(proxy, status)
    row = advanced(row)
    assert (row.state, complaints(row)) == ("succeeded", [])
    assert outcomes(row) == [("s001", "patch", "not_applied"), *APPLIED]


# --- the connection


@pytest.mark.parametrize("what", ["lose_answer", "cut_answer"])
@pytest.mark.parametrize("verb", ["patch", "apply", "create", "delete"])
def test_an_answer_that_is_lost_is_settled_by_reading(server, cluster, proxy, complaints, what, verb):  # A20, A22, A25
    step, method, path = one_of(server, verb)
    row = rollout(cluster, step)
    fault = proxy.add(what, method, path)
    row = advanced(row)
    assert (row.state, complaints(row)) == ("succeeded", [])
    assert (len(fault.told), fault.told[0] < 300) == (1, True)
    line = Attempt.objects.filter(rollout=row).first()
    assert (line.outcome, line.settled_by, outcomes(row)[1:]) == ("applied", "read", [("s001", "gate", "noop")])


@pytest.mark.parametrize("verb", ["patch", "apply", "create", "delete"])
def test_a_request_that_never_arrived_is_sent_anew_after_its_time(server, cluster, proxy, complaints, verb):  # A22
    step, method, path = one_of(server, verb)
    row = rollout(cluster, step)
    proxy.add("lose_request", method, path)
    row = advanced(row, most=2000)
    assert (row.state, complaints(row)) == ("succeeded", [])
    assert [outcome for _, _, outcome in outcomes(row)] == ["not_applied", "applied", "noop"]


@pytest.mark.parametrize("verb", ["patch", "apply", "create", "delete"])
def test_a_request_that_arrives_twice_takes_effect_once(server, cluster, proxy, complaints, verb):  # A18, A23, A25
    step, method, path = one_of(server, verb)
    row = rollout(cluster, step)
    fault = proxy.add("twice", method, path)
    row = advanced(row)
    first, second = fault.told
    assert (row.state, first < 300) == ("succeeded", True)
    assert second == (404 if verb == "delete" else 409)
    assert complaints(row) == []
    assert [outcome for _, _, outcome in outcomes(row)] == ["refused", "applied", "noop"]


def test_an_object_changed_by_others_while_the_outcome_is_unknown_needs_a_person(
    server, cluster, proxy, complaints
):  # A22
    target, read = node(server)
    row = rollout(cluster, tainting(target, read))
    fault = proxy.add("lose_request", "PATCH", NODE_PATH)

    def meanwhile():
        fault.done.wait(20)
        server.admin.patch(NODE_PATH, {"spec": {"taints": [{"key": "mine", "effect": "NoSchedule"}]}})

    with beside(meanwhile):
        row = advanced(row)
    assert (ended(row), outcomes(row)) == (("paused", "changed_by_other"), [("s001", "patch", "changed_by_other")])
    assert complaints(row) == []


def test_what_somebody_else_made_is_not_taken_forours(server, cluster, proxy, complaints):  # A23
    row = rollout(cluster, creating())
    fault = proxy.add("lose_request", "POST", MAPS)

    def meanwhile():
        fault.done.wait(20)
        config_map(server, "made-1")

    with beside(meanwhile):
        row = advanced(row)
    assert (row.state, complaints(row)) == ("succeeded", [])
    assert outcomes(row) == [("s001", "create", "not_applied"), ("s001", "create", "noop"), ("s001", "gate", "noop")]


def test_a_server_that_is_away_is_waited_for_and_then_a_person_is_called(server, cluster, proxy, monkeypatch):  # R11
    target, read = node(server)
    row = rollout(cluster, tainting(target, read))
    proxy.add("answer", "GET", "kube-system", times=1000, status=503)
    assert execute.advance(row.pk, holder="w") is True
    row.refresh_from_db()
    assert (row.state, row.waits_for.startswith("an answer: ")) == ("running", True)
    monkeypatch.setattr(execute, "PATIENCE", timedelta(0))
    assert ended(advanced(row)) == ("paused", "unreachable")


def test_whoever_waits_for_a_server_still_hears_a_wish(server, cluster, proxy):  # A10
    target, read = node(server)
    row = rollout(cluster, tainting(target, read), wish="abort")
    proxy.add("answer", "GET", "kube-system", times=1000, status=503)
    assert ended(advanced(row, most=1)) == ("aborted", "asked")


def test_an_outcome_that_nobody_can_read_needs_attention(server, cluster, proxy, monkeypatch):  # A09
    target, read = node(server)
    row = rollout(cluster, tainting(target, read))
    lost = proxy.add("lose_answer", "PATCH", NODE_PATH)
    proxy.add("pass", "GET", NODE_PATH)
    proxy.add("answer", "GET", NODE_PATH, times=1000, status=503)
    assert execute.advance(row.pk, holder="w") is True
    assert lost.told == [200]
    monkeypatch.setattr(execute, "PATIENCE", timedelta(0))
    assert ended(advanced(row)) == ("needs_attention", "unreachable")


def test_a_conversion_webhook_that_is_down_is_waited_for(server, cluster, monkeypatch):  # R16
    crd = next(one for one in documents("beta_with_v1") if one["spec"]["names"]["kind"] == "NodePool")
    server.load_documents([crd])
    made = server.admin.create(
        {"apiVersion": "karpenter.sh/v1beta1", "kind": "NodePool", "metadata": {"name": "default"}, "spec": {}}
    )
    target = Target("karpenter.sh", "v1", "nodepools", "NodePool", "default", uid=made["metadata"]["uid"])
    broken = next(
        one for one in documents("beta_with_v1", conversion_webhook=True) if one["spec"]["names"]["kind"] == "NodePool"
    )
    step = Step(
        id="", title="Weigh", change=merge(target, {"spec": {"weight": 5}}), rests_on=(("spec", "weight"),),
        digest=projected(made, (("spec", "weight"),)), brings=(Held(field=("spec", "weight"), value=5),),
    )  # fmt: skip
    row = rollout(cluster, step)
    server.load_documents([broken])
    assert execute.advance(row.pk, holder="w") is True
    row.refresh_from_db()
    assert "conversion webhook" in row.waits_for
    server.load_documents([crd])
    assert ended(advanced(row)) == ("succeeded", "")
    assert server.admin.get(target.path)["spec"] == {"weight": 5}


def test_another_cluster_behind_the_same_address_is_never_written_to(server, cluster, proxy, complaints):  # A05, T17
    target, read = node(server)
    other, whole = node(server, "node-2")
    first = tainting(target, read, after=Gate(pending_above=None, seconds=60))
    row = rollout(cluster, first, tainting(other, whole))
    fault = proxy.add("hold", "PATCH", NODE_PATH)

    def rebuilt():
        fault.reached.wait(20)
        _rebuild(server)
        fault.let_go.set()

    with beside(rebuilt):
        row = advanced(row)
    assert (ended(row), outcomes(row)) == (("needs_attention", "other_cluster"), APPLIED)
    assert (ours(server.admin.get("/api/v1/nodes/node-2")), complaints(row)) == (False, [])


def _rebuild(server):
    """Another identity of the cluster, where it keeps it: in etcd, under kube-system."""
    key = "/registry/namespaces/kube-system"
    uid = server.admin.get("/api/v1/namespaces/kube-system")["metadata"]["uid"]
    stored = base64.b64decode(server.etcd.contents()[key].value)
    server.etcd.put(key, base64.b64encode(stored.replace(uid.encode(), str(uuid.uuid4()).encode())).decode())


# --- names


@pytest.mark.parametrize("name", ["", ".", "..", "a/../b", "Node", "n" * 254])
def test_a_name_that_leads_elsewhere_is_refused_before_anything_is_sent(server, cluster, complaints, name):  # K13, T18
    before = len(server.admin.items("/api/v1/nodes")), len(server.admin.items("/api/v1/namespaces"))
    target = Target("", "v1", "nodes", "Node", name, uid="1")
    row = advanced(rollout(cluster, deleting(target, {})))
    assert (ended(row), outcomes(row), complaints(row)) == (("paused", "bad_name"), [], [])
    assert (len(server.admin.items("/api/v1/nodes")), len(server.admin.items("/api/v1/namespaces"))) == before


def test_a_namespace_is_never_deleted(server, cluster, complaints):  # T18
    made = server.admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    target = Target("", "v1", "namespaces", "Namespace", "shop", uid=made["metadata"]["uid"])
    row = advanced(rollout(cluster, deleting(target, made)))
    assert (ended(row), outcomes(row)) == (("paused", "bad_name"), [("s001", "delete", "refused")])
    assert (server.admin.get(target.path)["status"]["phase"], complaints(row)) == ("Active", [])
