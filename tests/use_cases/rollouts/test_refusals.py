"""What the API server refuses ends with a person, in its own words; what passes by itself is tried again."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from migrations_app.actions.changes import ObjectTarget, creation, merge
from migrations_app.actions.conditions import Exists, FieldEquals, fields_digest
from migrations_app.actions.plan import Step
from migrations_app.execution import steps
from migrations_app.models.rollout import Rollout
from migrations_app.use_cases.rollouts import lifecycle, worker
from tests.servers.crds import documents
from tests.use_cases.people import OPERATE, actor, person, user
from tests.use_cases.rollouts.building import APPLIED, NODE_PATH, advanced, ended, node, outcomes, rollout, tainting
from tests.use_cases.rollouts.concurrent_changes import reconnected, refusal

pytestmark = [pytest.mark.django_db(transaction=True)]


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
    reconnected(cluster, connected)
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
        preconditions=(field,),
        digest=fields_digest(read, (field,)),
        postconditions=(FieldEquals(field=("metadata", "labels", "a"), value="not a label!"),),
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


@pytest.mark.parametrize(("status", "code"), [(429, "overloaded"), (409, "contended")])
def test_a_person_who_resumes_it_lets_it_try_again(server, cluster, proxy, complaints, status, code):  # A10, A18, R13
    target, read = node(server)
    row = rollout(cluster, tainting(target, read))
    refusal(proxy, status, times=steps.MAX_FRUITLESS)
    assert ended(advanced(row)) == ("paused", code)
    row = advanced(resumed(row))
    assert (row.state, complaints(row)) == ("succeeded", [])
    assert outcomes(row) == [("s001", "patch", "refused")] * steps.MAX_FRUITLESS + APPLIED


@pytest.mark.parametrize("what", ["answer", "lose_request"])
def test_requests_that_change_nothing_again_and_again_call_a_person(
    server, cluster, proxy, complaints, what
):  # A18, R12
    target, read = node(server)
    row = rollout(cluster, tainting(target, read))
    if what == "answer":
        refusal(proxy, 500, times=99)
    else:
        proxy.add(what, "PATCH", NODE_PATH, times=99)
    row = advanced(row, most=2000)
    assert (ended(row), complaints(row)) == (("paused", "not_applied"), [])
    assert outcomes(row) == [("s001", "patch", "not_applied")] * steps.MAX_FRUITLESS
    why = "no" if what == "answer" else "the connection was cut"
    assert row.cause == f"Taint Node node-1: 5 requests in a row changed nothing: untouched afterwards ({why})"
    proxy.clear()
    row = advanced(resumed(row))
    assert (row.state, complaints(row), outcomes(row)[steps.MAX_FRUITLESS :]) == ("succeeded", [], APPLIED)


def resumed(row: Rollout) -> Rollout:
    ada = User.objects.filter(username="ada").first() or user("ada", OPERATE)
    return lifecycle.resume(row.pk, person(ada), by=actor(ada))


def test_a_place_that_is_not_there_calls_a_person(server, cluster, complaints, monkeypatch):
    target = ObjectTarget("karpenter.sh", "v1", "nodepools", "NodePool", "default")
    body = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "default"}}
    step = Step(
        id="", title="Create", change=creation(target, body), postconditions=(Exists(),), digest=fields_digest(None, ())
    )
    monkeypatch.setattr(worker, "UNREACHABLE_TIMEOUT", timedelta(0))
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


def test_a_server_that_is_away_is_waited_for_and_then_a_person_is_called(server, cluster, proxy, monkeypatch):  # R11
    target, read = node(server)
    row = rollout(cluster, tainting(target, read))
    proxy.add("answer", "GET", "kube-system", times=1000, status=503)
    assert worker.advance(row.pk, holder="w") is True
    row.refresh_from_db()
    assert (row.state, row.waits_for.startswith("an answer: ")) == ("running", True)
    monkeypatch.setattr(worker, "UNREACHABLE_TIMEOUT", timedelta(0))
    assert ended(advanced(row)) == ("paused", "unreachable")


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [(401, "refused_401", "the credentials were refused for 0"), (403, "refused_403", "a read was refused for 0")],
)
def test_a_server_that_refuses_reads_did_answer(server, cluster, proxy, monkeypatch, status, code, words):  # R31
    monkeypatch.setattr(worker, "UNREACHABLE_TIMEOUT", timedelta(0))
    row = rollout(cluster, tainting(*node(server)))
    proxy.add("answer", "GET", NODE_PATH, times=1000, status=status)
    row = advanced(row)
    assert (ended(row), row.cause.startswith(words)) == (("paused", code), True)


def test_whoever_waits_for_a_server_still_hears_a_wish(server, cluster, proxy):  # A10
    target, read = node(server)
    row = rollout(cluster, tainting(target, read), stop_request="abort")
    proxy.add("answer", "GET", "kube-system", times=1000, status=503)
    assert ended(advanced(row, most=1)) == ("aborted", "asked")


def test_an_outcome_that_nobody_can_read_needs_attention(server, cluster, proxy, monkeypatch):  # A09
    target, read = node(server)
    row = rollout(cluster, tainting(target, read))
    lost = proxy.add("lose_answer", "PATCH", NODE_PATH)
    proxy.add("pass", "GET", NODE_PATH)
    proxy.add("answer", "GET", NODE_PATH, times=1000, status=503)
    assert worker.advance(row.pk, holder="w") is True
    assert lost.told == [200]
    monkeypatch.setattr(worker, "UNREACHABLE_TIMEOUT", timedelta(0))
    assert ended(advanced(row)) == ("needs_attention", "unreachable")


def test_a_conversion_webhook_that_is_down_is_waited_for(server, cluster, monkeypatch):  # R16
    crd = next(one for one in documents("beta_with_v1") if one["spec"]["names"]["kind"] == "NodePool")
    server.load_documents([crd])
    made = server.admin.create(
        {"apiVersion": "karpenter.sh/v1beta1", "kind": "NodePool", "metadata": {"name": "default"}, "spec": {}}
    )
    target = ObjectTarget("karpenter.sh", "v1", "nodepools", "NodePool", "default", uid=made["metadata"]["uid"])
    broken = next(
        one for one in documents("beta_with_v1", conversion_webhook=True) if one["spec"]["names"]["kind"] == "NodePool"
    )
    step = Step(
        id="", title="Weigh", change=merge(target, {"spec": {"weight": 5}}), preconditions=(("spec", "weight"),),
        digest=fields_digest(made, (("spec", "weight"),)),
        postconditions=(FieldEquals(field=("spec", "weight"), value=5),),
    )  # fmt: skip
    row = rollout(cluster, step)
    server.load_documents([broken])
    assert worker.advance(row.pk, holder="w") is True
    row.refresh_from_db()
    assert "conversion webhook" in row.waits_for
    server.load_documents([crd])
    assert ended(advanced(row)) == ("succeeded", "")
    assert server.admin.get(target.path)["spec"] == {"weight": 5}
