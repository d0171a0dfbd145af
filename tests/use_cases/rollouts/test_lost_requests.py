"""Requests and answers that are lost, late or copied: settled by reading, compared with the API server's audit log."""

import pytest

from migrations_app.actions.changes import merge
from migrations_app.models.rollout import Attempt, Rollout
from tests.actions.on_server import plan_of
from tests.actions.whole_rollouts import rollback_preview
from tests.builders.rollouts import a_line
from tests.use_cases.rollouts.building import (
    MAPS,
    NODE_PATH,
    TAINT,
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
from tests.use_cases.rollouts.concurrent_changes import beside, one_of

pytestmark = [pytest.mark.django_db(transaction=True)]


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


COPIED = "s001 took effect and the journal does not know"


@pytest.mark.parametrize("verb", ["patch", "apply", "create", "delete"])
def test_a_request_that_somebody_copies_takes_effect_once(server, cluster, proxy, complaints, verb):  # A18, A23, A25
    """The answer to the copy is all that we get; only what was created tells by its marks that it is ours."""
    step, method, path = one_of(server, verb)
    row = rollout(cluster, step)
    fault = proxy.add("twice", method, path)
    row = advanced(row)
    first, second = fault.told
    assert (row.state, first < 300, second) == ("succeeded", True, 404 if verb == "delete" else 409)
    word, known = ("applied", []) if verb == "create" else ("noop", [COPIED])
    assert [outcome for _, _, outcome in outcomes(row)] == ["refused", word, "noop"]
    assert complaints(row) == known


def test_what_others_did_between_reading_and_sending_is_not_taken_foris_ours(
    server, cluster, proxy, complaints
):  # A18, A35
    target, read = node(server)
    row = rollout(cluster, deleting(target, read))
    held = proxy.add("hold", "DELETE", NODE_PATH)

    def drifted():
        held.reached.wait(20)
        server.admin.delete(NODE_PATH)
        held.let_go.set()

    with beside(drifted):
        row = advanced(row)
    assert (row.state, complaints(row)) == ("succeeded", [])
    assert [outcome for _, _, outcome in outcomes(row)] == ["refused", "noop", "noop"]


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


def test_a_rollback_says_what_it_cannot_know(server, cluster):  # A22, A35
    (first, was), (second, read) = node(server, "node-0"), node(server)
    row = rollout(cluster, tainting(first, was, undo=merge(first, {"spec": {"taints": None}})), tainting(second, read))
    server.admin.patch("/api/v1/nodes/node-0", {"spec": {"taints": [TAINT]}})
    a_line(row, "s001")
    a_line(row, "s002", outcome="changed_by_other", status=None)
    Rollout.objects.filter(pk=row.pk).update(state="aborted")
    back = rollback_preview(cluster, row)
    assert (back.state, [step.title for step in plan_of(back).steps]) == (
        "previewed", ["Left as it is: Taint Node node-1", "Undo: Taint Node node-0"],
    )  # fmt: skip
    words = "whether it changed Node node-1 is not known: look at it, and change it back yourself if it was"
    assert plan_of(back).forecast.cannot_be_undone == (f"Left as it is: Taint Node node-1: {words}",)
    Attempt.objects.filter(rollout=row, step="s001").delete()
    none = rollback_preview(cluster, row)
    assert (none.state, none.cause) == ("expired", f"nothing can be undone: {words}")


def test_what_somebody_else_made_is_not_taken_foris_ours(server, cluster, proxy, complaints):  # A23
    row = rollout(cluster, creating())
    fault = proxy.add("lose_request", "POST", MAPS)

    def meanwhile():
        fault.done.wait(20)
        config_map(server, "made-1")

    with beside(meanwhile):
        row = advanced(row)
    assert (row.state, complaints(row)) == ("succeeded", [])
    assert outcomes(row) == [("s001", "create", "not_applied"), ("s001", "create", "noop"), ("s001", "gate", "noop")]
