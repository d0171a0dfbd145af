"""Pages of journeys: what each state shows and offers, and what the forms do."""

import pytest
from django.urls import reverse

from migrations_app.journeys.plan import COVERABLE
from migrations_app.models.journey import Journey, JourneyHold, JourneyRollout, JourneyStepRow
from migrations_app.templatetags.journey_tags import WAITS
from tests.builders.journeys import a_journey
from tests.builders.rollouts import a_rollout, entitled
from tests.builders.rows import a_cluster, a_report, a_snapshot

pytestmark = pytest.mark.django_db
OPERATE, APPROVE = "operate_rollout", "approve_rollout"


@pytest.fixture
def woken(monkeypatch):
    """The journeys that a worker was woken for."""
    found = []
    monkeypatch.setattr("migrations_app.web.journeys.commands.enqueue_journey", found.append)
    return found


@pytest.fixture
def shop():
    cluster = a_cluster("shop")
    a_snapshot(cluster, a_report("shop"))
    return cluster


@pytest.fixture
def ada(client, django_user_model):
    user = entitled(django_user_model.objects.create_user("ada"), OPERATE, "view_cluster")
    client.force_login(user)
    return user


@pytest.fixture
def cleo(client, django_user_model):
    user = entitled(django_user_model.objects.create_user("cleo"), APPROVE, "view_cluster")
    client.force_login(user)
    return user


def text(answer) -> str:
    return " ".join(answer.content.decode().split())


def shown(client, row) -> str:
    answer = client.get(reverse("journey", args=[row.pk]))
    assert answer.status_code == 200
    return text(answer)


def sent(client, name, row, **more):
    return client.post(reverse(f"journey-{name}", args=[row.pk]), {"version": row.version, **more})


FORMS = {
    "previewed": {"ask", "reject"},
    "awaiting_approval": {"approve", "reject"},
    "approved": {"start", "reject"},
    "running": {"pause", "abort"},
    "paused": {"resume", "abort", "disruption"},
    "succeeded": set(),
    "aborted": set(),
}


@pytest.mark.parametrize("state", FORMS)
def test_each_state_offers_what_can_be_done_in_it(client, shop, ada, state):
    row = a_journey(shop, state=state, author=ada, at=2)
    page = shown(client, row)
    every = {"ask", "approve", "reject", "start", "pause", "resume", "abort", "tick", "skip", "retry", "accept",
             "disruption"}  # fmt: skip
    found = {name for name in every if f'action="{reverse(f"journey-{name}", args=[row.pk])}"' in page}
    assert found == FORMS[state]


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("previewed", "Read the steps below, then ask for approval."),
        ("awaiting_approval", "Another person reads the steps below, and approves or rejects them."),
        ("approved", "It is approved: start it."),
        ("paused", "It is paused at <strong>Upgrade the CRDs</strong>: resume it, or end it."),
    ],
)
def test_what_is_next_is_what_its_state_waits_for(client, shop, ada, state, words):
    """Before it is started, the first step is not next: nothing of it may be done yet."""
    page = shown(client, a_journey(shop, state=state, author=ada, at=1))
    place = page.index('id="next-title"')
    assert words in page[place : place + 300]


def test_the_steps_are_one_list_with_their_state(client, shop, ada):
    page = shown(
        client, a_journey(shop, state="running", author=ada, at=2, wait_code="work_outside", needs_person=True)
    )
    assert "Upgrade 0.37.8 to 1.0.14" in page
    assert [page.count(f"</svg>{word}</span>") for word in ("Done", "In progress", "Waiting")] == [2, 1, 1]
    assert "Upgrade the controller to 1.0.14</strong>: waits for the work to be done with your own tool" in page
    assert "Needs a person" in page
    assert "helm upgrade karpenter" in page


def test_a_tick_goes_with_its_note(client, shop, ada, woken, django_capture_on_commit_callbacks):
    row = a_journey(shop, state="running", author=ada, wait_code="tick_needed", needs_person=True)
    assert "Confirm: Add the IAM permissions of the new version" in shown(client, row)
    with django_capture_on_commit_callbacks(execute=True):
        answer = sent(client, "tick", row, step="j01", note="attached")
    assert (answer.status_code, woken) == (302, [row.pk])
    step = JourneyStepRow.objects.get(journey=row, place=0)
    assert (step.state, step.by_name, step.note) == ("done", "ada", "attached")


def test_a_refusal_is_shown_above_the_state_of_now(client, shop, ada):
    row = a_journey(shop, state="running", author=ada, at=1)
    answer = sent(client, "skip", row, step="j02", reason="no time")
    assert answer.status_code == 409
    assert "this step protects the cluster and is never skipped" in text(answer)


def test_a_stale_form_is_refused(client, shop, ada):  # R33
    row = a_journey(shop, state="running", author=ada)
    Journey.objects.filter(pk=row.pk).update(version=7)
    answer = sent(client, "pause", row)
    assert (answer.status_code, "the journey was changed meanwhile" in text(answer)) == (409, True)


def test_an_approver_types_the_name_of_the_cluster(client, shop, cleo):
    row = a_journey(shop, state="awaiting_approval")
    assert 'name="typed"' in shown(client, row)
    told = {"digest": row.digest, "nonce": row.nonce}
    assert sent(client, "approve", row, **told, typed="shop-prod").status_code == 400
    assert sent(client, "approve", row, **told, typed="shop").status_code == 302
    row.refresh_from_db()
    assert row.state == "approved"


def test_the_author_sees_why_they_do_not_approve(client, shop, ada):
    page = shown(client, a_journey(shop, state="awaiting_approval", author=entitled(ada, APPROVE)))
    assert "The author of a plan can not approve it" in page


def test_the_upgrade_of_a_cluster_is_planned_once(client, shop, ada, woken, django_capture_on_commit_callbacks):
    address = reverse("cluster-journey", args=[shop.pk])
    assert "Plan the next upgrade step by step" in text(client.get(address))
    said = {"covers": "high", "minutes": "5", "source": "mine"}
    with django_capture_on_commit_callbacks(execute=True):
        answer = client.post(reverse("cluster-journey-plan", args=[shop.pk]), said)
    row = Journey.objects.get()
    assert (answer.url, woken) == (reverse("journey", args=[row.pk]), [row.pk])
    assert (row.covers, row.choices) == (
        "high", {"parameters": {"upgrade_crds": {"source": "mine"}}, "soak_seconds": 300},
    )  # fmt: skip
    assert client.get(address).url == reverse("journey", args=[row.pk])
    again = client.post(reverse("cluster-journey-plan", args=[shop.pk]), said)
    assert (again.status_code, "journey_open" in text(again)) == (409, True)
    assert 'value="high" selected' in text(again)


@pytest.mark.parametrize("minutes", ["soon", "-1", "1441"])
def test_a_refused_plan_keeps_what_was_typed(client, shop, ada, woken, minutes):
    typed = {"minutes": minutes, "source": "charts/a", "ticket": "OPS-7"}
    answer = client.post(reverse("cluster-journey-plan", args=[shop.pk]), typed)
    html = answer.content.decode()
    words = "“Minutes that the new release runs before the work after it” takes a whole number from 0 to 1440"
    assert (answer.status_code, html.count('class="problem"'), words in text(answer)) == (400, 1, True)
    assert [f'value="{value}"' in html for value in typed.values()] == [True] * 3
    assert not Journey.objects.exists()


def test_nobody_covers_plans_of_high_risk_without_choosing_to(client, shop, ada, woken):
    page = text(client.get(reverse("cluster-journey", args=[shop.pk])))
    assert [limit for limit in COVERABLE if f'value="{limit}" selected' in page] == ["medium"]
    client.post(reverse("cluster-journey-plan", args=[shop.pk]), {"minutes": "5"})
    assert Journey.objects.get().covers == "medium"


def test_the_list_and_the_strip_name_what_is_in_progress(client, shop, ada):
    a_journey(shop, state="running", author=ada, at=2, needs_person=True)
    page = text(client.get(reverse("journeys")))
    assert "0.37.8 to 1.0.14" in page
    assert "Upgrades in progress" in text(client.get(reverse("fleet")))
    assert "No upgrade is in that state" in text(client.get(reverse("journeys") + "?state=ended"))


def test_waiting_journeys_are_counted_for_approvers(client, shop, cleo):
    a_journey(shop, state="awaiting_approval")
    assert "1 upgrade waits for your approval" in text(client.get(reverse("fleet")))
    assert "Waiting for your approval" in text(client.get(reverse("journeys")))


def test_the_live_part_is_not_sent_twice(client, shop, ada):
    row = a_journey(shop, state="running", author=ada)
    address = reverse("journey-live", args=[row.pk])
    first = client.get(address)
    assert (first.status_code, first["X-Rollout-Version"]) == (200, "1")
    assert client.get(address, headers={"If-None-Match": first["ETag"]}).status_code == 304


@pytest.fixture
def begun(shop, ada):
    """A running journey whose first step is done; the second one is its turn."""
    return a_journey(shop, state="running", author=ada, at=1)


def test_the_way_back_is_shown_before_it_is_taken(client, begun):
    first = JourneyStepRow.objects.get(journey=begun, place=0)
    body = shown(client, begun)
    assert ("Roll back to a step" in body, "journey-take-back" in body, "Show what is undone" in body) == (
        True, False, True,
    )  # fmt: skip
    assert f'value="{first.step}"' in body
    answer = client.get(reverse("journey", args=[begun.pk]), {"back": first.step})
    body = text(answer)
    assert reverse("journey-take-back", args=[begun.pk]) in body
    assert first.definition["title"] in body
    told = client.get(reverse("journey", args=[begun.pk]), {"back": "j99"})
    assert reverse("journey-take-back", args=[begun.pk]) not in text(told)


def test_it_is_taken_back_with_a_reason(client, begun, woken, django_capture_on_commit_callbacks):
    first = JourneyStepRow.objects.get(journey=begun, place=0)
    assert sent(client, "take-back", begun, step=first.step, reason="").status_code == 400
    assert sent(client, "take-back", begun, step="j99", reason="red").status_code == 400
    with django_capture_on_commit_callbacks(execute=True):
        answer = sent(client, "take-back", begun, step=first.step, reason="the dashboards are red")
    assert answer.status_code == 302
    assert woken == [begun.pk]
    first.refresh_from_db()
    assert first.state == "undoing"
    body = shown(client, begun)
    for words in ("Rolling back to step", "the dashboards are red", "Being rolled back"):
        assert words in body, words


def test_who_only_approves_takes_nothing_back(client, begun, cleo):
    first = JourneyStepRow.objects.get(journey=begun, place=0)
    assert sent(client, "take-back", begun, step=first.step, reason="red").status_code == 403


def test_a_pause_holds_what_karpenter_does_by_itself_where_it_is_asked_for(client, shop, ada):
    row = a_journey(shop, state="running", author=ada, at=1)
    assert "Also hold Karpenter's own disruption" in shown(client, row)
    assert sent(client, "pause", row, hold_disruption="on").status_code == 302
    held = JourneyHold.objects.get()
    assert (held.journey_id, held.asked_for, held.by_name) == (row.pk, "held", "ada")
    body = shown(client, row)
    for words in ("own disruption is not held yet", "it is begun next", "Restore the budgets", "data-polled"):
        assert words in body, words
    row.refresh_from_db()
    assert sent(client, "disruption", row, asked_for="held").status_code == 409
    assert sent(client, "resume", row).status_code == 302
    body = shown(client, row)
    for words in ("The budgets of Karpenter are being restored", "Then the upgrade resumes automatically"):
        assert words in body, words
    assert f'action="{reverse("journey-resume", args=[row.pk])}"' not in body
    assert "Stay paused" in body


def test_an_approver_is_not_offered_the_hold(client, shop, cleo):
    body = shown(client, a_journey(shop, state="running", at=1))
    assert ("Pause" in body, "hold_disruption" in body) == (True, False)


def test_a_plain_pause_holds_nothing(client, shop, ada):
    row = a_journey(shop, state="running", author=ada, at=1)
    assert sent(client, "pause", row).status_code == 302
    assert JourneyHold.objects.count() == 0
    row.refresh_from_db()
    assert sent(client, "disruption", row, asked_for="held").status_code == 302
    assert JourneyHold.objects.get().asked_for == "held"


def test_a_paused_rollout_of_an_upgrade_leads_to_the_hold_of_that_upgrade(client, shop, ada):
    row = a_journey(shop, state="paused", author=ada, at=1)
    made = a_rollout(shop, state="paused", author=ada)
    alone = a_rollout(a_cluster("alone"), state="paused", author=ada)
    JourneyRollout.objects.create(step=row.steps.first(), rollout=made, purpose="work")
    body = client.get(f"/rollouts/{made.pk}/").content.decode()
    assert ("Hold that at its upgrade" in body, "action=hold_disruption" in body) == (True, False)
    assert "action=hold_disruption" in client.get(f"/rollouts/{alone.pk}/").content.decode()


def test_a_restoring_that_stopped_is_no_longer_shown_as_going_on(client, shop, ada):
    row = a_journey(shop, state="paused", author=ada, at=1)
    made = a_rollout(shop, state="aborted", author=ada)
    JourneyRollout.objects.create(step=row.steps.first(), rollout=made, purpose="release")
    JourneyHold.objects.create(
        journey=row, asked_for="released", resumes=True, begun_at=row.made_at, wait_code="rollout_aborted"
    )
    body = shown(client, row)
    assert ("The budgets of Karpenter were not restored" in body, "Then the upgrade resumes" in body) == (True, False)
    assert "Restore the budgets" in body
    assert "Stay paused" not in body


def test_what_is_held_is_told_with_the_time_of_which_that_is_known(client, shop, ada):
    row = a_journey(shop, state="paused", author=ada, at=1)
    made = a_rollout(shop, state="succeeded", author=ada, finished_at=row.made_at)
    JourneyRollout.objects.create(step=row.steps.first(), rollout=made, purpose="hold")
    JourneyHold.objects.create(journey=row, begun_at=row.made_at, wait_code="held")
    assert "as of <time" in " ".join(shown(client, row).split())


def test_a_start_that_nobody_confirmed_changes_nothing(client, shop, ada):
    row = a_journey(shop, state="approved", author=ada)
    assert 'name="confirmed"' in shown(client, row)
    answer = sent(client, "start", row, digest=row.digest)
    row.refresh_from_db()
    assert (answer.status_code, row.state) == (400, "approved")
    assert "confirm that the change begins now" in text(answer)


def test_a_step_that_waits_says_when_it_is_over(client, shop, ada):
    row = a_journey(shop, state="running", author=ada, at=3, wait_code="time")
    page = shown(client, row)
    assert "Time: 10 min" in page
    assert "It is over <time" in page
    assert "in 10 minutes" in page


def test_what_has_to_be_true_afterwards_is_not_said_to_be_true(client, shop, ada):
    assert "Has to be true afterwards:" in shown(client, a_journey(shop, author=ada))


@pytest.mark.parametrize(("at", "offered"), [(0, True), (1, False), (2, True), (3, False)])
def test_work_of_others_is_shown_by_a_scan_that_is_asked_for_here(client, shop, ada, at, offered):
    entitled(ada, "add_scan")
    row = a_journey(shop, state="running", author=ada, at=at)
    assert ("Scan now" in shown(client, row)) is offered


def test_who_may_not_scan_is_offered_none(client, shop, ada):
    assert "Scan now" not in shown(client, a_journey(shop, state="running", author=ada, at=2))


def test_a_scan_that_was_asked_for_on_the_page_leads_back_to_it(client, shop, ada):
    entitled(ada, "add_scan")
    row = a_journey(shop, state="running", author=ada, at=2)
    page = reverse("journey", args=[row.pk])
    scan = reverse("cluster-scan", args=[shop.pk])
    assert client.post(scan, {"journey": str(row.pk)}).url == page
    assert client.post(scan, {"journey": "//evil.example"}).url == reverse("cluster", args=[shop.pk])


def test_a_journey_that_is_done_leads_to_what_comes_next_and_offers_no_empty_box(client, shop, ada):
    page = shown(client, a_journey(shop, state="succeeded", author=ada))
    link = f'<a href="{reverse("cluster", args=[shop.pk])}">What the next upgrade needs</a>'
    assert (link in page, 'id="acts-title"' in page) == (True, False)
    assert 'id="acts-title"' in shown(client, a_journey(a_cluster("other"), author=ada))


@pytest.mark.parametrize("code", sorted(WAITS))
def test_what_is_waited_for_is_a_thing_and_no_sentence(code):
    """Pages write "waits for" before it."""
    words = WAITS[code].partition(",")[0].partition(":")[0].split()
    assert words[0] in ("the", "its", "a", "another")
    assert not {"is", "are", "has"} & set(words)


def test_a_cause_ends_with_one_full_stop(client, shop, ada):
    page = shown(client, a_journey(shop, state="expired", author=ada, cause_code="withdrawn"))
    assert ("It was withdrawn." in page, "withdrawn.." in page) == (True, False)
