"""People leave out single nodes of a rollout under way, on a real API server: those stay, and are not told as done."""

import json

import msgspec
import pytest
from django.utils import timezone

from migrations_app.actions.conditions import fields_digest
from migrations_app.actions.gate import Gate
from migrations_app.errors import Conflict, InvalidInput, PermissionDenied
from migrations_app.models.audit import AuditEvent
from migrations_app.models.rollout import Attempt, NodeSkip, Rollout
from migrations_app.queries.rollouts.detail import rollout_detail
from migrations_app.use_cases.rollouts import journal
from migrations_app.use_cases.rollouts.lifecycle import skip_node
from tests.use_cases.journeys.stage import refusal
from tests.use_cases.people import APPROVE, OPERATE, actor, person, user
from tests.use_cases.rollouts.building import advanced, config_map, deleting, ended, node, outcomes, painting, rollout

pytestmark = [pytest.mark.django_db(transaction=True)]
CORDONED = ("spec", "unschedulable")
WHY = "its team drains it on Monday"


@pytest.fixture
def ada():
    return user("ada", OPERATE)


@pytest.fixture
def two(server, cluster):
    """A rollout that deletes two nodes in one batch; its gate waits until both are gone."""
    (first, one), (second, other) = node(server), node(server, "node-2")
    gate = Gate(gone=(first, second), replaced=True, seconds=60)
    return rollout(cluster, deleting(first, one), deleting(second, other, after=gate))


def skipped(row, who, step="s001", **more):
    return skip_node(row.pk, person(who), **({"step": step, "reason": WHY, "by": actor(who)} | more))


def names(server):
    return [one["metadata"]["name"] for one in server.admin.items("/api/v1/nodes")]


def test_a_skipped_node_stays_and_the_batch_goes_on_without_it(server, two, ada, complaints):  # A25, A51
    skipped(two, ada)
    Rollout.objects.update(started_at=timezone.now())
    row = advanced(two)
    assert (row.state, names(server), complaints(row)) == ("succeeded", ["node-1"], [])
    assert outcomes(row) == [
        ("s001", "skip", "noop"), ("s001", "gate", "noop"), ("s002", "delete", "applied"), ("s002", "gate", "noop"),
    ]  # fmt: skip
    told = rollout_detail(row.pk)
    assert [line.standing for line in told.steps] == ["skipped", "done"]
    assert (told.done, told.left_out) == (1, 1)
    assert [(one.node, one.by, one.reason) for one in told.skipped_nodes] == [("node-1", "ada", WHY)]
    event = AuditEvent.objects.get(verb="rollout.node_skipped")
    assert (event.actor, event.step, json.loads(event.detail)["why"]) == ("ada", "s001", WHY)
    assert Attempt.objects.get(verb="skip").reason == f"skipped by ada: {WHY}"


def test_the_last_node_of_a_batch_may_be_the_skipped_one(server, two, ada, complaints):
    skipped(two, ada, step="s002")
    row = advanced(two)
    assert (row.state, names(server), complaints(row)) == ("succeeded", ["node-2"], [])
    assert [line.standing for line in rollout_detail(row.pk).steps] == ["done", "skipped"]


def test_a_rollout_that_paused_before_a_node_goes_on_around_it(server, cluster, ada, complaints):  # R21
    target, read = node(server)
    other, whole = node(server, "node-2")
    held = msgspec.structs.replace(
        deleting(target, read), preconditions=(CORDONED,), digest=fields_digest(read, (CORDONED,))
    )  # fmt: skip
    row = rollout(cluster, held, deleting(other, whole))
    server.admin.patch("/api/v1/nodes/node-1", {"spec": {"unschedulable": True}})
    row = advanced(row)
    assert ended(row) == ("paused", "changed")
    skipped(row, ada)
    Rollout.objects.filter(pk=row.pk).update(state="running")
    row = advanced(row)
    assert (row.state, names(server), complaints(row)) == ("succeeded", ["node-1"], [])


def test_who_skips_between_reading_and_sending_is_heard(server, two, ada, monkeypatch, complaints):  # R08
    def reached(name):
        if name == "before_intent" and not NodeSkip.objects.exists():
            skipped(two, ada)

    monkeypatch.setattr(journal, "reached", reached)
    row = advanced(two)
    assert (row.state, names(server), complaints(row)) == ("succeeded", ["node-1"], [])
    assert ("s001", "delete", "applied") not in outcomes(row)


def test_a_node_whose_deletion_was_sent_is_not_skipped(two, ada):
    Attempt.objects.create(
        rollout=two, step="s001", number=1, fence=1, verb="delete", path="x", body_digest="d", actor="karpdash",
        intent_at=two.made_at,
    )  # fmt: skip
    assert refusal(Conflict, skipped, two, ada) == "node_sent"
    assert not NodeSkip.objects.exists()


def test_what_is_refused(server, cluster, two, ada):
    cleo = user("cleo", APPROVE)
    assert refusal(PermissionDenied, skipped, two, cleo) == "forbidden"
    assert refusal(InvalidInput, skipped, two, ada, reason=" ") == "reason_needed"
    assert refusal(InvalidInput, skipped, two, ada, step="s009") == "unknown_step"
    assert refusal(Conflict, skipped, two, ada, version=99) == "moved"
    skipped(two, ada)
    assert refusal(Conflict, skipped, two, ada) == "moved"
    row = advanced(two)
    assert (ended(row)[0], refusal(Conflict, skipped, row, ada, step="s002")) == ("succeeded", "moved")
    target, read = config_map(server)
    Rollout.objects.filter(pk=row.pk).delete()
    other = rollout(cluster, painting(target, read))
    assert refusal(InvalidInput, skipped, other, ada) == "unknown_step"
