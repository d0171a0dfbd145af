"""What the forms do: the straight way through, the double submit, the stale page, and the words of each refusal."""

import pytest
from django.contrib.auth.models import Permission, User

from migrations_app.models.policy import KillSwitch
from migrations_app.models.rollout import Approval, Rollout, RolloutBackup
from tests.builders.rollouts import NONCE, a_line, a_rollout, an_approval, remove, taint
from tests.web.pages import text

pytestmark = pytest.mark.django_db
KEY = "k" * 22


def act(who, row, name, **said):
    told = {"version": row.version, "digest": row.digest, "nonce": NONCE, "form_key": f"{KEY}-{name}-{who.user.pk}"}
    told |= {"confirmed": "yes"} if name == "start" else {}
    return who.post(f"/rollouts/{row.pk}/{name}", told | said)


def state(row):
    row.refresh_from_db()
    return row.state


def test_the_straight_way(ada, cleo, shop, woken):
    answer = ada.post(f"/clusters/{shop.pk}/rollouts/new?action=taint_and_drift",
                      {"provisioners": "default", "by": "drift", "seconds": "600", "ticket": "OPS-1"})  # fmt: skip
    row = Rollout.objects.get()
    assert (answer.url, row.state, row.author, woken) == (
        f"/rollouts/{row.pk}/", "draft", ada.user, [(row.pk, "prepare_rollout")],
    )  # fmt: skip
    assert row.parameters == {"provisioners": ["default"], "by": "drift", "seconds": 600}
    Rollout.objects.filter(pk=row.pk).delete()
    row = a_rollout(shop, author=ada.user)
    assert act(ada, row, "ask").url == f"/rollouts/{row.pk}/"
    assert state(row) == "awaiting_approval"
    act(cleo, row, "approve", nonce=row.nonce)
    assert state(row) == "approved"
    act(ada, row, "start")
    assert (state(row), row.started_by_name, woken[-1]) == ("running", "ada", (row.pk, "advance_rollout"))
    act(cleo, row, "pause")
    row.refresh_from_db()
    assert row.stop_request == "pause"


def test_sent_twice_it_is_done_once_and_leads_to_the_same_place(ada, shop, woken):  # R33, A11
    said = {"provisioners": "default", "by": "drift", "seconds": "600", "form_key": KEY}
    path = f"/clusters/{shop.pk}/rollouts/new?action=taint_and_drift"
    first, second = ada.post(path, said), ada.post(path, said)
    assert (second.url, Rollout.objects.count(), len(woken)) == (first.url, 1, 1)


def test_a_double_click_on_start_starts_once(ada, cleo, shop, woken):  # R33
    row = a_rollout(shop, state="approved", author=ada.user)
    an_approval(row, cleo.user)
    assert [act(ada, row, "start").status_code for _ in range(2)] == [302, 302]
    assert (state(row), row.version, len(woken)) == ("running", 2, 1)


def test_two_tabs_start_once_and_the_second_sees_what_holds(ada, cleo, shop, woken):  # R33
    row = a_rollout(shop, state="approved", author=ada.user)
    an_approval(row, cleo.user)
    act(ada, row, "start")
    late = act(ada, row, "start", form_key="t" * 22)
    assert (late.status_code, "Action failed: the rollout was changed meanwhile: it is running now" in text(late)) == (
        409,
        True,
    )
    assert "Pause after this step" in text(late)
    assert len(woken) == 1


def test_a_key_with_other_content_is_refused(ada, cleo, shop):  # A11
    row = a_rollout(shop, state="approved", author=ada.user)
    an_approval(row, cleo.user)
    act(ada, row, "start", form_key=KEY)
    assert act(ada, row, "start", form_key=KEY, digest="0" * 64).status_code == 400


@pytest.mark.parametrize(
    ("name", "said", "status", "words"),
    [
        ("approve", {"digest": "0" * 64}, 409, "the plan has changed since this page was loaded"),
        ("approve", {"nonce": "0" * 32}, 409, "this form is stale; reload the page"),
        ("approve", {"typed": ""}, 400, "type the cluster's name"),
        ("approve", {"accepted": []}, 400, "these steps need acknowledgement, one by one: s001"),
        ("start", {}, 409, "a plan that is awaiting approval cannot be started"),
        ("resume", {}, 409, "cannot be resumed"),
        ("pause", {}, 409, "cannot be asked to pause"),
        ("settle", {"then": "failed", "reason": "x"}, 409, "cannot be settled"),
        ("settle", {"then": "failed"}, 400, "a reason is needed"),
        ("roll-back", {}, 409, "cannot be rolled back"),
        ("ask", {"version": 9}, 409, "the rollout was changed meanwhile"),
        ("ask", {"version": "x"}, 409, "the rollout was changed meanwhile"),
        ("reject", {"version": 9}, 409, "the rollout was changed meanwhile"),
    ],
)
def test_refusals_say_why_and_show_what_holds(eve, shop, name, said, status, words):
    row = a_rollout(shop, remove(), state="awaiting_approval", provable={"s001": "a webhook"})
    answer = act(eve, row, name, **({"typed": "shop", "accepted": ["s001"]} | said))
    assert (answer.status_code, words in text(answer), state(row)) == (status, True, "awaiting_approval")
    assert ("Waiting for approval" in text(answer), Approval.objects.count()) == (True, 0)


def test_the_author_is_refused_also_by_a_made_up_form(eve, shop):  # A42
    row = a_rollout(shop, state="awaiting_approval", author=eve.user)
    answer = act(eve, row, "approve")
    assert (answer.status_code, "second_person" in text(answer), Approval.objects.count()) == (403, True, 0)


def test_an_approval_with_everything(cleo, shop):
    row = a_rollout(shop, remove(), taint(), state="awaiting_approval", provable={"s001": "x", "s002": "y"})
    answer = act(cleo, row, "approve", typed="shop", accepted=["s001", "s002"], reason="seen")
    assert (answer.status_code, state(row), row.accepted) == (302, "approved", ["s001", "s002"])


def test_a_destructive_plan_needs_two_with_fresh_passwords(cleo, eve, shop):  # A43, A44
    row = a_rollout(shop, remove(risk="destructive"), state="awaiting_approval")
    assert act(cleo, row, "approve", typed="shop").status_code == 403
    cleo.again()
    assert act(cleo, row, "approve", typed="shop", form_key="2" * 22).status_code == 302
    assert state(row) == "awaiting_approval"
    eve.again()
    act(eve, row, "approve", typed="shop")
    assert state(row) == "approved"
    assert list(Approval.objects.values_list("approver_name", "step_up")) == [("cleo", True), ("eve", True)]


def test_alone_in_an_emergency(eve, shop):  # A45
    row = a_rollout(shop, state="awaiting_approval", author=eve.user)
    said = {"typed": "shop", "reason": "the fleet is down"}
    assert act(eve, row, "approve-alone", **said).status_code == 403
    eve.again()
    assert act(eve, row, "approve-alone", typed="shop", form_key="1" * 22).status_code == 400
    assert act(eve, row, "approve-alone", **said, form_key="2" * 22).status_code == 302
    assert (state(row), Approval.objects.get().break_glass) == ("approved", True)


def test_saying_no_and_withdrawing(ada, cleo, shop):
    first, second = a_rollout(shop, author=ada.user), a_rollout(shop, state="awaiting_approval", author=ada.user)
    act(ada, first, "reject", reason="changed my mind")
    act(cleo, second, "reject", reason="not today")
    assert (state(first), state(second), second.cause) == ("expired", "rejected", "not today")


def test_settle_and_take_back(ada, shop, woken):
    row = a_rollout(shop, state="needs_attention", author=ada.user)
    act(ada, row, "settle", then="failed", reason="looked at it")
    assert state(row) == "failed"
    a_line(row)
    answer = act(ada, row, "roll-back")
    made = Rollout.objects.get(rolls_back=row)
    assert (answer.url, made.action, woken) == (
        f"/rollouts/{made.pk}/", "roll_back", [(made.pk, "prepare_rollout")],
    )  # fmt: skip


def test_going_on_and_ending(ada, cleo, shop, woken):
    row = a_rollout(shop, state="paused", author=ada.user)
    an_approval(row, cleo.user)
    act(ada, row, "resume")
    assert (state(row), woken) == ("running", [(row.pk, "advance_rollout")])
    act(ada, row, "abort")
    row.refresh_from_db()
    assert (row.state, row.stop_request) == ("running", "abort")


def test_a_start_that_nobody_confirmed_changes_nothing(ada, cleo, shop):
    row = a_rollout(shop, state="approved", author=ada.user)
    an_approval(row, cleo.user)
    answer = act(ada, row, "start", confirmed="")
    assert (answer.status_code, "confirm that the change begins now" in text(answer)) == (400, True)
    assert (state(row), "Yes, change shop now" in text(answer)) == ("approved", True)


def test_the_kill_switch_stops_the_start_of_what_was_approved(ada, cleo, shop):  # A36
    row = a_rollout(shop, state="approved", author=ada.user)
    an_approval(row, cleo.user)
    KillSwitch.objects.create(on=True)
    answer = act(ada, row, "start")
    assert (answer.status_code, "kill_switch" in text(answer), state(row)) == (409, True, "approved")


@pytest.mark.parametrize(
    ("said", "status", "words"),
    [
        ({"seconds": "1"}, 302, ""),
        ({"by": "x" * 300}, 400, "enter a short text"),
        ({"provisioners": "\n".join(f"p{n}" for n in range(501))}, 400, "at most 500 at once"),
    ],
)
def test_choices_that_cannot_be_are_told_beside_the_field(ada, shop, woken, said, status, words):
    answer = ada.post(f"/clusters/{shop.pk}/rollouts/new?action=taint_and_drift", {"by": "drift"} | said)
    assert (answer.status_code, words in text(answer)) == (status, True)
    assert Rollout.objects.count() == int(status == 302)


@pytest.mark.parametrize("action", ["", "no_such", "roll_back"])
def test_no_form_for_an_action_that_is_not_chosen_here(ada, shop, action):
    assert ada.get(f"/clusters/{shop.pk}/rollouts/new?action={action}").status_code == 404


def test_exports_come_as_one_file_for_those_who_act(ada, ben, shop, settings):
    from migrations_app.use_cases.rollouts.backups import store_backup

    row = a_rollout(shop, author=ada.user)
    target = taint().change.target
    store_backup(
        row, target, read={"apiVersion": "v1", "kind": "Provisioner", "metadata": {"name": "default", "uid": "u"}}
    )
    answer = ada.get(f"/rollouts/{row.pk}/exports")
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/yaml; charset=utf-8")
    assert answer["Content-Disposition"] == f'attachment; filename="rollout-{row.pk}.yaml"'
    assert ("kind: Provisioner" in answer.content.decode(), "uid" in answer.content.decode()) == (True, False)
    assert ben.get(f"/rollouts/{row.pk}/exports").status_code == 403
    RolloutBackup.objects.all().delete()
    assert ada.get(f"/rollouts/{row.pk}/exports").status_code == 404


def test_rights_that_were_taken_away_count_at_once(cleo, shop):  # A41, T28
    row = a_rollout(shop, state="awaiting_approval")
    User.objects.get(pk=cleo.user.pk).user_permissions.set(Permission.objects.filter(codename="view_cluster"))
    assert act(cleo, row, "approve").status_code == 403
    User.objects.get(pk=cleo.user.pk).user_permissions.clear()
    assert act(cleo, row, "approve").status_code == 404
    assert state(row) == "awaiting_approval"
