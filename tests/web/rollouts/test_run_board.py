"""The page of a run: nodes as squares, counters as lines, its pace, its receipt, and who can approve."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from migrations_app.actions.changes import ObjectTarget, deletion
from migrations_app.actions.gate import BlockedEviction, NodeMark
from migrations_app.actions.plan import Step
from migrations_app.models.account import Grant
from migrations_app.models.rollout import Rollout, RolloutSample
from migrations_app.queries.rollouts.approvers import approvers_of
from migrations_app.queries.rollouts.detail import rollout_detail
from migrations_app.queries.rollouts.samples import MAX_SAMPLES, CounterSample, samples_of
from migrations_app.use_cases.clusters import groups
from migrations_app.web.rollouts.run_board import counter_lines, lanes, pace
from tests.builders.rollouts import a_line, a_picture, a_rollout, an_approval, entitled, remove, taint
from tests.builders.rows import a_cluster
from tests.web.pages import links, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop(db):
    return a_cluster("shop")


def deleted(name):
    target = ObjectTarget("", "v1", "nodes", "Node", name, uid=f"u-{name}")
    return remove(title=f"Delete Node {name}", change=deletion(target))


def since(moment, **ago):
    return (moment - timedelta(**ago)).strftime("%Y-%m-%dT%H:%M:%SZ")


def running(cluster, *steps, state="running", **columns):
    """A rollout that runs for an hour by now."""
    row = a_rollout(cluster, *steps, state=state, **columns)
    Rollout.objects.filter(pk=row.pk).update(started_at=timezone.now() - timedelta(hours=1))
    return row


def verified(row, step, **columns):
    a_line(row, step, verb="delete")
    a_line(row, step, verb="gate", outcome="noop", status=None, **columns)


def test_nodes_are_told_apart_by_their_age_and_state(shop):
    now = timezone.now()
    marks = (
        NodeMark(name="a", zone="z1", made_at=since(now, days=2), ready=True),
        NodeMark(name="b", zone="z1", made_at=since(now, days=2), ready=True, draining=True),
        NodeMark(name="c", zone="z1", made_at=since(now, days=2), ready=True, draining=True),
        NodeMark(name="d", zone="z1", made_at=since(now, minutes=5)),
        NodeMark(name="e", zone="z2", made_at=since(now, days=2), ready=True, cordoned=True),
        NodeMark(name="f", zone="z2", made_at=since(now, days=2), ready=True),
    )
    held = tuple(BlockedEviction(namespace="s", pod=f"p{n}", node="c", by="budget cart") for n in range(2))
    row = running(shop, deleted("f"), deleted("g"), picture=a_picture(nodes=marks, blocked=held))
    a_line(row, "s001", verb="delete", outcome="refused", status=409)
    verified(row, "s002")
    found = [
        (lane.zone, [(one.name, one.state, one.why) for one in lane.old], [(one.name, one.state) for one in lane.new])
        for lane in lanes(rollout_detail(row.pk))
    ]
    assert found == [
        ("z1", [("a", "ready", ""), ("b", "draining", ""), ("c", "held", "budget cart")], [("d", "not_ready")]),
        ("z2", [("e", "cordoned", ""), ("f", "failed", "")], []),
        ("gone", [("g", "gone", "")], []),
    ]


def test_every_square_says_what_it_is(ada, shop):
    marks = (NodeMark(name="n-1", zone="z1", ready=True, draining=True),)
    held = (BlockedEviction(namespace="shop", pod="cart-0", node="n-1", by="budget cart"),)
    row = running(shop, deleted("n-1"), picture=a_picture(nodes=marks, nodes_rest=3, blocked=held))
    for path in ("", "live"):
        said = text(ada.get(f"/rollouts/{row.pk}/{path}"))
        assert "n-1: draining, held by budget cart" in said
        assert "and 3 more nodes" in said


def test_the_pace_is_what_was_verified_in_the_time(shop):
    row = running(shop, *(deleted(f"n-{number}") for number in range(4)))
    now = Rollout.objects.get(pk=row.pk).started_at + timedelta(hours=1)
    assert pace(rollout_detail(row.pk), now=now).ends_at is None
    for step in ("s001", "s002"):
        verified(row, step)
    found = pace(rollout_detail(row.pk), now=now)
    assert (found.done, found.steps, found.per_hour, found.elapsed) == (2, 4, 2.0, timedelta(hours=1))
    assert found.ends_at == now + timedelta(hours=1)


def test_a_taint_that_took_a_second_does_not_tell_how_long_its_nodes_take(ada, shop):
    row = running(shop, taint(), Step(id="", title="Watch until 6 nodes went"))
    verified(row, "s001")
    assert pace(rollout_detail(row.pk), now=timezone.now()).ends_at is None
    said = text(ada.get(f"/rollouts/{row.pk}/"))
    assert "Projected end not known: the steps that are left are not like those that are done" in said


@pytest.mark.parametrize(("seconds", "words"), [(0, "waits 0 s."), (42, "waits 42 s."), (None, "")])
def test_how_long_the_oldest_pod_waits_is_never_a_question_mark(ada, shop, seconds, words):
    said = text(ada.get(f"/rollouts/{running(shop, picture=a_picture(oldest_pending_seconds=seconds)).pk}/"))
    assert ("waits ? s" in said, words in said, "the oldest Pending pod" in said) == (False, True, bool(words))


@pytest.mark.parametrize(("state", "told"), [("aborted", True), ("failed", True), ("succeeded", False)])
def test_a_rollout_that_stopped_short_says_what_goes_on_without_it(ada, shop, state, told):
    row = running(shop, state=state)
    a_line(row)
    page = ada.get(f"/rollouts/{row.pk}/")
    said = text(page)
    assert ("Karpenter itself goes on with what the applied steps started" in said) is told
    assert ("See what is left to do" in said, f"/clusters/{shop.pk}/" in links(page)) == (told, True)


def test_who_aborts_is_told_that_karpenter_goes_on(ada, shop):
    said = text(ada.get(f"/rollouts/{running(shop).pk}/"))
    assert "Karpenter itself goes on with what they started, such as drift." in said


def test_a_paused_rollout_has_no_projected_end(shop):
    row = running(shop, deleted("a"), deleted("b"), state="paused")
    verified(row, "s001")
    assert pace(rollout_detail(row.pk), now=timezone.now()).ends_at is None
    assert pace(rollout_detail(a_rollout(a_cluster("other")).pk), now=timezone.now()) is None


def samples(*counts, limit=None):
    start = timezone.now()
    return [
        CounterSample(
            taken_at=start + timedelta(seconds=10 * number), ready_nodes=5, pending_pods=count, held_pods=0,
            pending_limit=limit,
        )
        for number, count in enumerate(counts)
    ]  # fmt: skip


def test_a_counter_is_drawn_in_steps_with_gaps():
    ready, pending, held = counter_lines(samples(0, 2, None, 1, limit=4))
    assert pending.path == "M0.0 79.0H200.0V40.0M600.0 59.5"
    assert (pending.now, pending.most, pending.allowed) == (1, 2, 4)
    assert (pending.limit, ready.limit) == ("M0.0 1.0H200.0V1.0H400.0V1.0H600.0V1.0",) * 2
    assert (held.limit, held.most) == ("", 0)


def test_the_highest_count_is_one_that_was_counted():
    assert [line.most for line in counter_lines(samples(None, None))] == [5, None, 0]


def test_one_sample_is_no_line():
    assert counter_lines(samples(1)) == ()


def test_long_runs_are_thinned_with_the_newest_sample(shop):
    row = running(shop)
    RolloutSample.objects.bulk_create(
        RolloutSample(rollout=row, taken_at=timezone.now(), pending_pods=number) for number in range(1000)
    )
    found = samples_of(row.pk)
    assert (len(found) <= MAX_SAMPLES, found[-1].pending_pods, found[0].pending_pods < 6) == (True, 999, True)


def test_the_live_answer_holds_the_state_of_every_shown_step(ada, shop):
    row = running(shop, deleted("a"), deleted("b"))
    verified(row, "s001", reason="gate passed")
    body = ada.get(f"/rollouts/{row.pk}/live").content.decode()
    for part in ("state", "board", "s001-head", "s001-lines", "s002-head", "s002-lines"):
        assert body.count(f'data-part="{part}"') == 1
    assert "gate passed" in body


def test_the_receipt_for_the_ticket(ada, shop):  # the page, and the same as Markdown
    row = running(shop, remove(title="Delete Node a|b"), state="succeeded", ticket="OPS-7")
    ended = Rollout.objects.get(pk=row.pk).started_at + timedelta(hours=1)
    Rollout.objects.filter(pk=row.pk).update(finished_at=ended)
    an_approval(row, User.objects.create_user("cleo"))
    verified(row, "s001")
    for pending in (1, 7, 2):
        RolloutSample.objects.create(rollout=row, taken_at=timezone.now(), pending_pods=pending, held_pods=0)
    page = text(ada.get(f"/rollouts/{row.pk}/"))
    assert "Receipt for the change ticket" in page
    assert "Duration 1 h" in page
    answer = ada.get(f"/rollouts/{row.pk}/receipt.md")
    assert answer["Content-Type"] == "text/markdown; charset=utf-8"
    lines = answer.content.decode().splitlines()
    assert lines[0] == "# Taint Provisioners and let drift replace their nodes: succeeded"
    for line in (
        "| Ticket | OPS-7 |", "| Approved by | cleo |", "| Duration from the start | 1 h |", "| Steps done | 1 of 1 |",
        "| Requests sent | 1 |", "| Requests refused | 0 |", "| Most Pending pods | 7 |",
        "| Least Ready nodes | not counted |", "| Most pods held back at once | 0 |",
    ):  # fmt: skip
        assert line in lines
    assert lines[-1].startswith("| s001 | Delete Node a\\|b | done | 2026-")


def test_a_hostile_title_stays_text_in_the_receipt(ada, shop):  # it would mention people in a ticket, and turn around
    row = running(shop, remove(title="Delete @ops ![x](y) ~a~ \u202e$b$"), state="succeeded", ticket="@all &lt;")
    told = ada.get(f"/rollouts/{row.pk}/receipt.md").content.decode()
    assert r"| s001 | Delete \@ops \!\[x\](y) \~a\~ \\u202e\$b\$ |" in told
    assert r"| Ticket | \@all \&lt; |" in told


@pytest.mark.parametrize("state", ["previewed", "approved", "running", "paused"])
def test_before_the_end_there_is_no_receipt(ada, shop, state):
    row = a_rollout(shop, state=state)
    assert "Receipt" not in text(ada.get(f"/rollouts/{row.pk}/"))
    assert ada.get(f"/rollouts/{row.pk}/receipt.md").status_code == 404


def test_pause_and_abort_say_what_follows(ada, shop):
    said = text(ada.get(f"/rollouts/{running(shop, deleted('a')).pk}/"))
    assert "The cluster stays locked for this rollout until it is resumed or aborted." in said
    assert "Finished steps are not undone: 0 of 1 steps" in said


@pytest.mark.parametrize(("state", "counted"), [("running", "Shown after"), ("succeeded", "No nodes were counted")])
def test_a_run_that_ended_waits_for_no_count(ada, shop, state, counted):
    row = running(shop, state=state)
    Rollout.objects.filter(pk=row.pk).update(finished_at=timezone.now() if state == "succeeded" else None)
    assert counted in text(ada.get(f"/rollouts/{row.pk}/"))


def test_who_can_approve_is_told_to_the_author(ada, shop):
    people = User.objects.create_user
    author = User.objects.get(username="ada")
    entitled(people("cleo"), "approve_rollout")
    people("gone", is_active=False, is_superuser=True)
    entitled(people("ben"), "operate_rollout")
    here, elsewhere = groups.create_group("here"), groups.create_group("elsewhere")
    groups.add_to_group(here, [shop.pk])
    for name, over, role in (
        ("dora", here, "approver"), ("eve", elsewhere, "approver"), ("fay", None, "admin"), ("gus", None, "operator"),
    ):  # fmt: skip
        Grant.objects.create(person=people(name), over_id=over, role=role)
    assert approvers_of(shop.pk, author=author.pk) == ("cleo", "dora", "fay")
    row = a_rollout(shop, remove(), state="awaiting_approval", author=author)
    assert "Can approve: cleo, dora, fay ." in text(ada.get(f"/rollouts/{row.pk}/"))


def test_nobody_who_can_approve_is_said(ada, shop):
    row = a_rollout(shop, remove(), state="awaiting_approval", author=User.objects.get(username="ada"))
    assert "Nobody else may approve plans of this cluster." in text(ada.get(f"/rollouts/{row.pk}/"))


@pytest.mark.parametrize("lacks", [False, True])
def test_pods_that_could_not_be_read_are_not_counted_as_free(ada, shop, lacks):
    row = a_rollout(shop, state="running", picture=a_picture(held_unread=lacks))
    words = text(ada.get(f"/rollouts/{row.pk}/"))
    assert ("more may be held back" in words, "not counted" in words) == (lacks, lacks)
