"""A rehearsal on the page of its plan: asked for with one click, told with its timeline, shown to who approves."""

import re
from datetime import timedelta

import msgspec
import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.models.policy import Policy
from migrations_app.models.rehearsal import Rehearsal, RunRecord
from migrations_app.rehearsals.document import RehearsalPlay, stored
from migrations_app.rehearsals.play import Failure
from migrations_app.rehearsals.result import RehearsalMoment
from migrations_app.use_cases.rehearsal_runs.compare_run import keep_comparison
from migrations_app.web.rollouts.rehearsal import MAX_ROWS, _moments, timeline_lines
from tests.builders.rehearsals import a_rehearsal, played
from tests.builders.rollouts import a_rollout, taint
from tests.web.pages import text

pytestmark = pytest.mark.django_db
FAILURES = (Failure("full_zone"), Failure("nodes_never_ready"), Failure("webhook_down"))


def page(who, row):
    return who.get(f"/rollouts/{row.pk}/")


@pytest.fixture
def row(shop, ada):
    return a_rollout(shop, author=ada.user)


def test_one_click_asks_for_it_and_the_page_waits(ada, row):
    answer = ada.post(f"/rollouts/{row.pk}/rehearse", {"failures": ["full_zone", "webhook_down", "odd"]})
    assert (answer.status_code, answer["Location"]) == (302, f"/rollouts/{row.pk}/")
    found = Rehearsal.objects.get()
    assert (found.failures, found.state, found.requested_by) == (
        [["full_zone", ""], ["webhook_down", ""]], "queued", "ada",
    )  # fmt: skip
    answer = page(ada, row)
    assert ("Waiting for a worker" in text(answer), "data-polled" in answer.content.decode()) == (True, True)


def test_the_page_is_read_anew_when_a_rehearsal_moves(ada, row):
    def version():
        return ada.get(f"/rollouts/{row.pk}/live")["X-Rollout-Version"]

    before = version()
    made = a_rehearsal(row, state="queued")
    queued = version()
    Rehearsal.objects.filter(pk=made.pk).update(state="running")
    assert len({before, queued, version()}) == 3
    assert f'data-version="{version()}"' in page(ada, row).content.decode()


def test_the_result_tells_the_end_the_peak_and_what_is_not_known(ada, row):
    a_rehearsal(row, *FAILURES)
    answer = page(ada, row)
    said, result = text(answer), played(*FAILURES)[0].result
    stopped = played(*FAILURES)[2].result.stopped
    told = (
        "As the cluster is: ends after",
        "No capacity in zone eu-central-1a: ends after",
        f"No new node becomes Ready: stops at step {stopped.step} (gate) after",
        "No webhook of Karpenter answers: not played",
        "The cluster has no webhook of Karpenter. no_webhook",
        f"nodes at the peak {result.nodes_peak} 8 before",
        "quotas and free addresses of AWS were not read",
        "NodePool/ web : at most",
        f"Stops at step {stopped.step} ,",
        "Pods that find no place",
    )
    assert [words for words in told if words not in said] == []
    assert len(re.findall(r'<path class="run-value', answer.content.decode())) == 9


def test_names_of_a_cluster_cannot_run_in_the_page(ada, row):  # T08
    calm = played()[0]
    hostile = "<script>alert(1)</script>\u202e"
    drained = msgspec.structs.replace(calm.result, assumptions=(hostile,), drained=(hostile,))
    a_rehearsal(row, result=stored([RehearsalPlay(scenario="none", zone="", result=drained)]))
    body = page(ada, row).content.decode()
    assert ("<script>alert" in body, "\u202e" in body, "&lt;script&gt;alert" in body) == (False, False, True)


def test_a_failed_one_says_why(ada, row):
    a_rehearsal(row, state="failed")
    assert "the worker ended worker_lost" in text(page(ada, row))


def test_one_of_another_plan_is_out_of_date(ada, row):
    a_rehearsal(row, digest="0" * 64)
    assert "Out of date: it was played with another plan" in text(page(ada, row))


def test_who_approves_sees_it_beside_the_button(cleo, shop, ada):
    row = a_rollout(shop, state="awaiting_approval", author=ada.user)
    aside = page(cleo, row).content.decode().partition('aria-label="Actions"')[2]
    assert "This plan was not rehearsed" in aside
    a_rehearsal(row, *FAILURES[:2])
    said = text(page(cleo, row))
    step = played(*FAILURES[:2])[2].result.stopped.step
    told = ("Rehearsed as the cluster is: ends after", f"stops at step {step} (gate)")
    assert [words for words in told if words not in said] == []


def test_a_demanded_one_is_named_at_the_button_that_waits_for_it(cleo, shop, ada):  # A46
    Policy.objects.create(rehearsals=["medium"])
    row = a_rollout(shop, state="awaiting_approval", author=ada.user)
    said = text(page(cleo, row))
    assert "The policy asks for a rehearsal of plans of medium risk, and this plan has none that ended" in said
    answer = cleo.post(f"/rollouts/{row.pk}/approve", {"digest": row.digest, "nonce": row.nonce, "version": 1})
    assert (answer.status_code, "rehearsal_missing" in text(answer)) == (409, True)
    a_rehearsal(row)
    answer = cleo.post(f"/rollouts/{row.pk}/approve", {"digest": row.digest, "nonce": row.nonce, "version": 1})
    assert answer.status_code == 302


def test_who_may_not_prepare_sees_it_and_cannot_ask(ben, cleo, row):
    a_rehearsal(row)
    for who in (ben, cleo):
        body = page(who, row).content.decode()
        assert ("ends after" in body, "may not prepare plans" in body) == (True, True)
        assert who.post(f"/rollouts/{row.pk}/rehearse").status_code == 403
    assert Rehearsal.objects.count() == 1


def test_a_plan_that_cannot_be_rehearsed_says_so(ada, shop):
    step = taint()
    target = msgspec.structs.replace(step.change.target, kind="Deployment")
    moved = msgspec.structs.replace(step, change=msgspec.structs.replace(step.change, target=target))
    row = a_rollout(shop, moved, author=ada.user)
    words = "This plan cannot be rehearsed: changes of Deployment are not rehearsed: its pods start anew"
    assert words in text(page(ada, row))
    assert ada.post(f"/rollouts/{row.pk}/rehearse").status_code == 400


MOMENTS = st.lists(
    st.builds(
        RehearsalMoment, seconds=st.integers(0, 10**6), nodes=st.integers(0, 3000), draining=st.integers(0, 50),
        coming=st.integers(0, 50), waiting=st.integers(0, 10**5),
    ),
    max_size=300,
).map(lambda found: sorted(found, key=lambda one: one.seconds))  # fmt: skip


@given(moments=MOMENTS)
def test_any_timeline_is_drawn_inside_its_picture_and_the_table_keeps_both_ends(moments):
    lines = timeline_lines(moments)
    assert len(lines) == (3 if len(moments) > 1 else 0)
    for line in lines:
        numbers = [float(one) for one in re.findall(r"-?\d+\.\d", line.path)]
        assert all(0 <= one <= 600 for one in numbers)
        assert line.path.startswith("M")
    rows = _moments(moments)
    assert len(rows) <= MAX_ROWS + 1
    assert [at for at, _ in rows] == sorted(at for at, _ in rows)
    if moments:
        assert (rows[0][1], rows[-1][1]) == (moments[0], moments[-1])
        assert rows[0][0] == timedelta(seconds=moments[0].seconds)


def test_after_the_run_both_stand_side_by_side_on_the_page_and_the_receipt(ada, shop):
    now = timezone.now()
    row = a_rollout(shop, state="succeeded", author=ada.user, started_at=now - timedelta(hours=1), finished_at=now)
    a_rehearsal(row)
    peak = played()[0].result.nodes_peak
    RunRecord.objects.create(rollout=row, seen={"looks": 3, "nodes_peak": peak + 1})
    assert "Rehearsal and run" not in text(page(ada, row))
    keep_comparison(row.pk)
    said = text(page(ada, row))
    assert f"Nodes at the peak {peak} at least {peak + 1} more than foretold" in said
    assert "Duration from the first request 9 min 35 s 1 h more than foretold" in said
    receipt = ada.get(f"/rollouts/{row.pk}/receipt.md").content.decode()
    told = f"| Nodes at the peak: rehearsal, then run | {peak}; at least {peak + 1} (more than foretold) |"
    assert told in receipt
