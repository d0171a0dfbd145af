"""A rollout that ended is compared with its rehearsal once, and counted once."""

from datetime import timedelta

import msgspec
import pytest
from django.utils import timezone

from migrations_app.models.monitoring import Tally
from migrations_app.models.rehearsal import RunRecord
from migrations_app.queries.fleet.metrics import numbers
from migrations_app.queries.rehearsals.rehearsals import stored_difference
from migrations_app.use_cases.rehearsal_runs.compare_run import keep_comparison, uncompared
from tests.builders.rehearsals import a_rehearsal, played
from tests.builders.rollouts import a_line, a_rollout
from tests.builders.rows import a_cluster

pytestmark = pytest.mark.django_db


def ended(state="succeeded", minutes=10, **columns):
    now = timezone.now()
    return a_rollout(
        a_cluster("shop"), state=state, started_at=now - timedelta(minutes=minutes), finished_at=now, **columns
    )


def test_the_difference_is_stored_and_counted_once():
    row = ended()
    made = a_rehearsal(row)
    seen = {"looks": 4, "nodes_peak": played()[0].result.nodes_peak}
    RunRecord.objects.create(rollout=row, seen=seen)
    assert uncompared() == [row.pk]
    found = keep_comparison(row.pk)
    assert (keep_comparison(row.pk), uncompared()) == (None, [])
    assert stored_difference(row.pk) == msgspec.json.decode(msgspec.json.encode(found))
    assert RunRecord.objects.get().rehearsal_id == made.pk
    assert sorted(Tally.objects.filter(what="forecast").values_list("first", "second", "count")) == [
        ("budgets_held", "less", 1), ("nodes_peak", "as_foretold", 1), ("order", "less", 1), ("pods_moved", "less", 1),
        ("seconds", "as_foretold", 1),
    ]  # fmt: skip
    assert ("shop", "nodes_peak", "as_foretold", 1) in numbers(now=timezone.now()).forecasts


def test_what_no_gate_looked_at_is_not_known():
    row = ended()
    a_rehearsal(row)
    assert {one for _, one in keep_comparison(row.pk).agreements} == {"unknown", "as_foretold"}


def test_the_time_in_which_a_start_can_be_cancelled_is_no_part_of_the_run():
    row = ended(minutes=10)
    a_rehearsal(row)
    a_line(row, "s001", intent_at=row.started_at + timedelta(minutes=4))
    a_line(row, "s002", intent_at=row.started_at + timedelta(minutes=6))
    (line,) = (one for one in keep_comparison(row.pk).lines if one.measure == "seconds")
    assert line.happened == 360


@pytest.mark.parametrize("state", ["running", "paused", "approved", "expired"])
def test_a_rollout_that_has_not_ended_is_not_compared(state):
    row = a_rollout(a_cluster("shop"), state=state)
    a_rehearsal(row)
    assert (keep_comparison(row.pk), uncompared(), RunRecord.objects.count()) == (None, [], 0)


def test_without_a_rehearsal_of_this_plan_nothing_is_compared():
    row = ended()
    a_rehearsal(row, digest="0" * 64)
    a_rehearsal(row, state="failed")
    assert (keep_comparison(row.pk), uncompared(), stored_difference(row.pk)) == (None, [], None)
