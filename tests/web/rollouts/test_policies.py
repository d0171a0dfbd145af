"""Policies, the kill switch and the password again, in the hands of those who may and those who may not."""

import pytest
from axes.models import AccessAttempt

from migrations_app.errors import InvalidInput
from migrations_app.models.audit import AuditEvent
from migrations_app.models.policy import KillSwitch, Policy
from migrations_app.queries.rollouts.policies import kill_switch_state, policy_row
from migrations_app.use_cases.accounts.sign_in import SESSION_KEY, fresh_until
from migrations_app.use_cases.audit.log import sealed
from migrations_app.web.rollouts import policies
from tests.web.conftest import PASSWORD
from tests.web.pages import text
from tests.web.rollouts.conftest import Hand

pytestmark = pytest.mark.django_db
FORM = {
    "version": "1", "approvals_low": "0", "approvals_medium": "1", "approvals_high": "2", "approvals_destructive": "2",
    "which": "some", "actions": ["taint_and_drift"], "windows": "Mon-Fri 22:00-04:00", "batch": "3", "per_hour": "90",
    "pool_percent": "20", "frozen_why": "",
}  # fmt: skip


@pytest.fixture
def hanna(db):
    return Hand("hanna", "administer_policy")


def test_a_policy_is_changed_and_shown(gil):
    answer = gil.post("/policy", FORM)
    row = policy_row(None)
    assert (answer.url, row.version, row.approvals["high"], row.actions) == ("/policy", 2, 2, ("taint_and_drift",))
    assert row.windows == ({"days": [0, 1, 2, 3, 4], "from": "22:00", "to": "04:00"},)
    page = gil.get("/policy")
    assert ("Mon-Fri 22:00-04:00" in page.content.decode(), "Version 2" in text(page)) == (True, True)


@pytest.mark.parametrize("chosen", [True, False])
def test_whether_a_campaign_covers_deletions_is_chosen_each_time(gil, chosen):
    Policy.objects.create(campaigns_destroy=not chosen)
    gil.post("/policy", FORM | ({"campaigns_destroy": "on"} if chosen else {}))
    assert policy_row(None).campaigns_destroy is chosen
    box = gil.get("/policy").content.decode().split('name="campaigns_destroy"')[1].split(">")[0]
    assert ("checked" in box) is chosen


def test_a_cluster_gets_its_own_and_gives_it_up(gil, shop):
    path = f"/clusters/{shop.pk}/policy"
    assert "Uses the global policy" in text(gil.get(path))
    gil.post(path, FORM)
    assert ("This cluster has a policy of its own." in text(gil.get(path)), policy_row(shop.pk).own) == (True, True)
    assert "shop version 2" in text(gil.get("/policy"))
    gil.post(path, FORM | {"version": "2", "do": "drop"})
    assert policy_row(shop.pk).own is False


@pytest.mark.parametrize(
    ("said", "status", "words"),
    [
        ({"approvals_destructive": "0"}, 400, "Destructive: 1 to 9 approvals"),
        ({"approvals_low": "x"}, 400, "A whole number is needed"),
        ({"windows": "whenever"}, 400, "is not a window"),
        ({"frozen": "on"}, 400, "Give the reason for the freeze"),
        ({"version": "7"}, 409, "The policy was changed meanwhile"),
        ({"actions": ["no_such"]}, 400, "There is no action"),
        ({"batch": "0"}, 400, "1 to 100"),
    ],
)
def test_what_is_refused_stays_in_the_form(gil, said, status, words):
    answer = gil.post("/policy", FORM | said)
    assert (answer.status_code, words in text(answer), Policy.objects.count()) == (status, True, 0)
    assert 'value="90"' in answer.content.decode()


@pytest.mark.parametrize(
    ("line", "days"),
    [
        ("Mon-Fri 22:00-04:00", [0, 1, 2, 3, 4]),
        ("sat,sun 1:00-2:00", [5, 6]),
        ("Fri-Mon 10:00-11:00", [0, 4, 5, 6]),
        ("10:00-11:00", [0, 1, 2, 3, 4, 5, 6]),
        ("Tuesday 10:00-11:00", [1]),
    ],
)
def test_windows_are_read_as_people_write_them(line, days):
    (found,) = policies.parse_windows(line)
    assert found["days"] == days
    assert policies.parse_windows(policies.windows_text([found])) == (found,)


@pytest.mark.parametrize("line", ["Mon", "22:00", "Foo 10:00-11:00", "Mon 10-11", "Mon 10:00-11:00 extra", "-"])
def test_odd_windows_are_named(line):
    with pytest.raises(InvalidInput) as refused:
        policies.parse_windows(line)
    assert line in refused.value.message


def test_two_people_lift_the_kill_switch(ada, gil, hanna):  # A36
    assert ada.post("/kill-switch", {"do": "stop", "why": "pods are lost"}).status_code == 302
    assert "pods are lost" in text(ada.get("/kill-switch"))
    assert ada.post("/kill-switch", {"do": "ask"}).status_code == 403
    gil.post("/kill-switch", {"do": "ask"})
    alone = gil.post("/kill-switch", {"do": "lift"})
    assert (alone.status_code, "second_person" in text(alone), kill_switch_state().on) == (403, True, True)
    assert "A second person has to turn it off." in text(gil.get("/kill-switch"))
    hanna.post("/kill-switch", {"do": "lift"})
    assert kill_switch_state().on is False


def test_no_reason_no_stop(gil):
    answer = gil.post("/kill-switch", {"do": "stop", "why": " "})
    assert (answer.status_code, KillSwitch.objects.filter(on=True).exists()) == (400, False)


def test_a_word_that_is_none_of_ours_does_nothing(gil):
    assert gil.post("/kill-switch", {"do": "explode"}).status_code == 200
    assert kill_switch_state().on is False


def test_the_password_again_counts_for_ten_minutes(cleo):  # A44
    before = cleo.client.session.session_key
    answer = cleo.post("/sign-in-again", {"password": PASSWORD, "next": "/rollouts/waiting"})
    session = cleo.client.session
    assert (answer.url, session.session_key != before) == ("/rollouts/waiting", True)
    assert fresh_until(session[SESSION_KEY]).isoformat(timespec="minutes") == "2026-11-21T12:10+00:00"
    assert AuditEvent.objects.filter(verb="sign_in.again", outcome="right", actor="cleo").count() == 1


@pytest.mark.parametrize("password", ["", "wrong", PASSWORD + " "])
def test_a_wrong_password_counts_for_nothing(cleo, password):
    answer = cleo.post("/sign-in-again", {"password": password})
    assert (answer.status_code, SESSION_KEY in cleo.client.session) == (422, False)


def test_wrong_tries_are_throttled_as_at_the_sign_in(cleo):  # T28
    told = [cleo.post("/sign-in-again", {"password": "wrong"}).status_code for _ in range(10)]
    assert (told[0], told[-1]) == (422, 429)
    assert cleo.post("/sign-in-again", {"password": PASSWORD}).status_code == 429
    assert (SESSION_KEY in cleo.client.session, AccessAttempt.objects.get().username) == (False, sealed("cleo"))


@pytest.mark.parametrize("wanted", ["https://evil.example/", "//evil.example", "javascript:alert(1)", "x", "\\\\evil"])
def test_it_leads_nowhere_else(cleo, wanted):  # T30
    assert cleo.post("/sign-in-again", {"password": PASSWORD, "next": wanted}).url == "/"


@pytest.mark.parametrize("kept", [None, 5, "", "soon", "2026-11-21T12:00:00"])
def test_what_is_no_time_of_ours_is_not_fresh(kept):
    assert fresh_until(kept) is None


def test_signing_out_ends_it(cleo):
    cleo.again()
    cleo.post("/logout")
    cleo.client.force_login(cleo.user, backend="django.contrib.auth.backends.ModelBackend")
    assert SESSION_KEY not in cleo.client.session
