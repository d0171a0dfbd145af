"""The page of what waits for people in a campaign: what it shows, what its two forms do, and what stays chosen."""

import msgspec
import pytest
from django.urls import reverse

from migrations_app.journeys.evidence import CheckSeen, StepEvidence
from migrations_app.models.audit import AuditEvent
from migrations_app.models.campaign import CampaignMember
from migrations_app.models.cluster import Cluster
from migrations_app.models.journey import JourneyRollout
from migrations_app.models.rollout import Rollout
from tests.builders.campaigns import a_campaign
from tests.builders.journeys import a_journey
from tests.builders.rollouts import a_rollout, entitled, remove, taint
from tests.builders.rows import a_cluster

pytestmark = pytest.mark.django_db
WORK = JourneyRollout.Purpose.WORK
SAID = "the quotas were compared"


@pytest.fixture
def woken(monkeypatch):
    """The campaigns and journeys that a worker was woken for."""
    found = []
    monkeypatch.setattr("migrations_app.web.campaigns.pending_decisions.enqueue_campaign", found.append)
    monkeypatch.setattr("migrations_app.web.campaigns.pending_decisions.enqueue_journey", found.append)
    return found


@pytest.fixture
def operator(django_user_model):
    return entitled(django_user_model.objects.create_user("ada"), "operate_rollout", "view_cluster")


@pytest.fixture
def approver(django_user_model):
    return entitled(django_user_model.objects.create_user("cleo"), "approve_rollout", "view_cluster")


@pytest.fixture
def row(operator):
    return a_campaign(a_cluster("blue"), a_cluster("green"), state="running", author=operator)


def waits(operator, name: str, *, at: int = 0, **columns):
    """The journey of that cluster, at the step of that place."""
    journey = a_journey(Cluster.objects.get(name=name), state="running", author=operator, at=at, **columns)
    CampaignMember.objects.filter(cluster_name=name).update(state="running", journey=journey)
    return journey


def to_confirm(operator, name: str):
    journey = waits(operator, name, wait_code="tick_needed", needs_person=True)
    seen = StepEvidence(
        verdict="unknown", checks=(CheckSeen("iam_change_known", "manual", f"Look at the role of {name}"),)
    )
    journey.steps.filter(place=0).update(evidence=msgspec.to_builtins(seen))
    return journey


def to_approve(operator, name: str, step=None, **columns):
    journey = waits(operator, name, at=1)
    made = a_rollout(journey.cluster, step or taint(), state="awaiting_approval", author=operator, **columns)
    JourneyRollout.objects.create(step=journey.steps.get(place=1), rollout=made, purpose=WORK)
    return made


def page(client, row) -> str:
    answer = client.get(reverse("campaign-waiting", args=[row.pk]))
    assert answer.status_code == 200
    return text(answer)


def text(answer) -> str:
    return " ".join(answer.content.decode().split())


def sent(client, row, keys, **said):
    return client.post(reverse("campaign-decide", args=[row.pk]), {"decision": keys, **said}, follow=True)


def keys_in(answer: str) -> dict[str, bool]:
    """The key of each decision on the page, and whether it is chosen."""
    boxes = [box.split(">")[0] for box in answer.split('name="decision"')[1:]]
    return {box.split('"')[1]: "checked" in box for box in boxes}


def test_steps_are_confirmed_on_every_cluster_with_one_note(
    client, row, operator, woken, django_capture_on_commit_callbacks
):
    journeys = [to_confirm(operator, name) for name in ("blue", "green")]
    client.force_login(operator)
    told = page(client, row)
    assert [f"Look at the role of {name}" in told for name in ("blue", "green")] == [True, True]
    assert ("For an operator" in told, "For an approver" in told) == (True, False)
    assert list(keys_in(told).values()) == [True, True]
    with django_capture_on_commit_callbacks(execute=True):
        answer = sent(client, row, list(keys_in(told)), note=SAID)
    assert "2 of 2 decided." in text(answer)
    assert [journey.steps.get(place=0).note for journey in journeys] == [SAID, SAID]
    assert sorted(woken) == sorted([row.pk, *(journey.pk for journey in journeys)])
    assert AuditEvent.objects.filter(verb="journey.step_ticked").count() == 2
    assert "Nothing waits for a person." in page(client, row)


def test_without_a_note_nothing_is_confirmed_and_each_says_why(client, row, operator, woken):
    journey = to_confirm(operator, "blue")
    client.force_login(operator)
    answer = sent(client, row, list(keys_in(page(client, row))), note=" ")
    assert "0 of 1 decided." in text(answer)
    assert "not decided: a reason is needed" in text(answer)
    assert journey.steps.get(place=0).state == "running"


def test_plans_are_approved_each_with_its_event_and_the_name_typed_once(client, row, operator, approver, woken):
    plans = [to_approve(operator, name) for name in ("blue", "green")]
    client.force_login(approver)
    told = page(client, row)
    assert all(reverse("rollout", args=[plan.pk]) in told and plan.digest[:12] in told for plan in plans)
    sent(client, row, list(keys_in(told)), typed=row.name, note="seen")
    assert list(Rollout.objects.values_list("state", flat=True)) == ["approved", "approved"]
    assert AuditEvent.objects.filter(verb="rollout.yes", plan_digest__in=[plan.digest for plan in plans]).count() == 2
    assert AuditEvent.objects.filter(verb="campaign.decided").count() == 1


def test_what_a_person_did_not_choose_stays_so_where_the_form_is_refused(client, row, operator, approver, woken):
    plans = {name: to_approve(operator, name) for name in ("blue", "green")}
    client.force_login(approver)
    blue = next(key for key in keys_in(page(client, row)) if str(plans["blue"].pk) in key)
    answer = sent(client, row, [blue], typed="to v2", note="seen")
    told = text(answer)
    assert (answer.status_code, "name_not_typed" in told, 'value="seen"' in told) == (400, True, True)
    assert {key: chosen for key, chosen in keys_in(told).items() if chosen} == {blue: True}
    assert len(keys_in(told)) == 2
    sent(client, row, [key for key, chosen in keys_in(told).items() if chosen], typed=row.name)
    assert {name: Rollout.objects.get(pk=plan.pk).state for name, plan in plans.items()} == {
        "blue": "approved", "green": "awaiting_approval",
    }  # fmt: skip


def test_a_plan_that_was_made_anew_is_another_question_even_with_the_same_digest(
    client, row, operator, approver, woken
):
    old = to_approve(operator, "blue")
    client.force_login(approver)
    shown = list(keys_in(page(client, row)))
    Rollout.objects.filter(pk=old.pk).update(state="expired")
    new = a_rollout(old.cluster, taint(), state="awaiting_approval", author=operator, nonce="m" * 32)
    JourneyRollout.objects.create(step=old.journey_part.step, rollout=new, purpose=WORK)
    assert new.digest == old.digest
    answer = sent(client, row, shown, typed=row.name)
    assert "0 of 1 decided." in text(answer)
    assert Rollout.objects.get(pk=new.pk).state == "awaiting_approval"


def test_the_author_and_who_did_not_sign_in_again_approve_nothing(client, row, approver, woken, django_user_model):
    both = entitled(django_user_model.objects.create_user("eve"), "operate_rollout", "approve_rollout", "view_cluster")
    mine = to_approve(both, "blue")
    gone = to_approve(both, "green", remove(risk="destructive"))
    for who, why in ((both, "the author of a plan can not approve it"), (approver, "sign in again to approve")):
        client.force_login(who)
        keys = [key for key in keys_in(page(client, row)) if str(mine.pk if who is both else gone.pk) in key]
        assert why in text(sent(client, row, keys, typed=row.name))
    assert set(Rollout.objects.values_list("state", flat=True)) == {"awaiting_approval"}


def test_a_step_of_a_plan_in_doubt_is_accepted_by_itself(client, row, operator, approver, woken):
    made = to_approve(operator, "blue", provable={"s001": "no dry run"})
    client.force_login(approver)
    told = page(client, row)
    field = f"accepted-{made.pk}"
    assert (f'name="{field}"' in told, "s001: no dry run" in told) == (True, True)
    assert "s001" in text(sent(client, row, list(keys_in(told)), typed=row.name))
    assert Rollout.objects.get(pk=made.pk).state == "awaiting_approval"
    sent(client, row, list(keys_in(told)), typed=row.name, **{field: "s001"})
    assert Rollout.objects.get(pk=made.pk).state == "approved"


def test_a_cluster_that_was_renamed_is_still_decided_on(client, row, operator, approver, woken):
    made = to_approve(operator, "blue", cluster_name="azure")
    client.force_login(approver)
    told = page(client, row)
    assert "azure" in told
    sent(client, row, list(keys_in(told)), typed=row.name)
    assert Rollout.objects.get(pk=made.pk).state == "approved"


def test_each_form_is_for_who_may_send_it(client, row, operator, approver, woken):
    to_confirm(operator, "blue")
    to_approve(operator, "green")
    for who, wanted in ((operator, (False, True)), (approver, (True, False))):
        client.force_login(who)
        told = page(client, row)
        forms = [told.split(f'id="{name}"')[1].split("</form>")[0] for name in ("others", "plans")]
        assert tuple("disabled" in form.split("<button")[1] for form in forms) == wanted


def test_what_was_not_shown_before_is_accepted_by_an_operator(client, row, operator, woken):
    journey = waits(operator, "blue", at=1)
    type(journey).objects.filter(pk=journey.pk).update(state="paused", cause_code="plan_not_shown")
    made = a_rollout(journey.cluster, taint(), state="previewed", author=operator)
    JourneyRollout.objects.create(step=journey.steps.get(place=1), rollout=made, purpose=WORK)
    client.force_login(operator)
    told = page(client, row)
    sent(client, row, list(keys_in(told)), note=SAID)
    journey.refresh_from_db()
    assert (journey.state, journey.steps.get(place=1).accepted) == ("running", True)


def test_work_that_is_not_decided_here_is_named_with_its_upgrade(client, row, operator):
    """The board says that these clusters need a person, so the list of what waits for people names them as well."""
    outside = waits(operator, "blue", at=2, wait_code="work_outside", needs_person=True)
    to_confirm(operator, "green")
    client.force_login(operator)
    told = page(client, row)
    assert told.count(reverse("journey", args=[outside.pk])) == 1
    assert "Upgrade the controller to 1.0.14" in told
    assert "Waits for the work to be done with your own tool" in told
    assert ("Nothing waits for a person." in told, len(keys_in(told))) == (False, 1)


def test_an_upgrade_that_stopped_is_named_with_its_cause(client, row, operator):
    journey = waits(operator, "blue", cause_code="audit_blocked")
    type(journey).objects.filter(pk=journey.pk).update(state="paused")  # which needs no person by its own column
    client.force_login(operator)
    told = page(client, row)
    assert reverse("journey", args=[journey.pk]) in told
    assert ("Nothing waits for a person." in told, keys_in(told)) == (False, {})


def test_an_upgrade_that_was_paused_with_its_campaign_is_not_named(client, row, operator):
    journey = waits(operator, "blue", cause_code="asked")
    type(journey).objects.filter(pk=journey.pk).update(state="paused")
    CampaignMember.objects.filter(journey=journey).update(paused_with=True)
    client.force_login(operator)
    assert "Nothing waits for a person." in page(client, row)


def test_an_upgrade_that_needs_nobody_is_not_named(client, row, operator):
    waits(operator, "blue", at=3, wait_code="time")
    client.force_login(operator)
    assert "Nothing waits for a person." in page(client, row)
