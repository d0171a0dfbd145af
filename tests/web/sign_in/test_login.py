"""Sign-in, brute force, sign-out, and the one-time password."""

import re
from datetime import timedelta

import pytest
import time_machine
from axes.models import AccessAttempt
from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from karpdash.sign_in.sessions import stored_key
from migrations_app.models.account import TemporaryPassword
from migrations_app.models.audit import AuditEvent
from migrations_app.use_cases.accounts import sign_in as sign_in_rules
from migrations_app.use_cases.accounts import tokens
from tests.builders.rows import NOW
from tests.web.conftest import PASSWORD
from tests.web.pages import text

pytestmark = pytest.mark.django_db
FRESH = "another quiet river 7"


@pytest.fixture
def eve(db):
    return get_user_model().objects.create_user("eve", password=PASSWORD)


def sign_in(client, password=PASSWORD, **more):
    return client.post("/login", {"username": "eve", "password": password, **more})


def test_the_right_password_leads_to_where_one_wanted(eve, dan):
    assert sign_in(dan).url == "/"
    assert dan.get("/login").url == "/"


def test_next_is_followed_inside_only(eve, dan):
    assert sign_in(dan, next="/catalogue/").url == "/catalogue/"
    dan.logout()
    assert sign_in(dan, next="https://evil.example/").url == "/"


def test_the_session_is_new_after_the_sign_in(eve, dan):
    dan.get("/login")
    dan.cookies["sessionid"] = "planted"
    sign_in(dan)
    assert dan.cookies["sessionid"].value not in ("", "planted")


def test_a_wrong_password_says_nothing_about_the_name(eve, dan):
    known, unknown = sign_in(dan, "wrong"), dan.post("/login", {"username": "nobody", "password": "wrong"})
    assert "Wrong username or password" in text(known)
    assert text(known).replace("eve", "") == text(unknown).replace("nobody", "")


def test_ten_wrong_tries_lock_that_name_only(eve, dan, settings):
    answers = [sign_in(dan, "wrong").status_code for _ in range(settings.AXES_FAILURE_LIMIT)]
    assert (answers[:-1], answers[-1]) == ([200] * 9, 429)
    locked = sign_in(dan)
    assert (locked.status_code, "Too many wrong tries" in text(locked)) == (429, True)
    get_user_model().objects.create_user("fred", password=PASSWORD)
    assert dan.post("/login", {"username": "fred", "password": PASSWORD}).status_code == 302


def test_sign_out_ends_the_session(ada):
    answer = ada.post("/logout")
    assert (answer.url, answer.headers["Clear-Site-Data"]) == ("/login", '"cache"')
    assert ada.get("/").status_code == 302


def test_the_one_time_password_must_be_replaced(eve, dan):
    TemporaryPassword.objects.create(user=eve)
    assert sign_in(dan).url == "/"
    page = dan.get("/", follow=True)
    assert "Choose your own password" in text(page)
    assert "must contain at least 12 characters. Your password" in text(page)
    assert "&lt;" not in page.content.decode()
    assert fields(page) == ["new_password1", "new_password2"]
    answer = dan.post("/password", {"new_password1": FRESH, "new_password2": FRESH})
    assert (answer.url, TemporaryPassword.objects.count()) == ("/", 0)
    assert "Your password is changed." in text(dan.get("/"))
    assert fields(dan.get("/password")) == ["old_password", "new_password1", "new_password2"]


def fields(page) -> list[str]:
    return re.findall(r"<input type=\"password\" name=\"(\w+)\"", page.content.decode())


@pytest.mark.parametrize("marked", ["before the sign-in", "after it"])
def test_the_one_time_password_is_asked_for_in_a_session_that_is_older(eve, dan, marked):
    """A session that somebody left open, or that began with another password, sets no new one."""
    if marked == "before the sign-in":
        TemporaryPassword.objects.create(user=eve)
    with time_machine.travel(timezone.now() - timedelta(minutes=11 if marked == "before the sign-in" else 1)):
        sign_in(dan)
    TemporaryPassword.objects.get_or_create(user=eve)
    assert fields(dan.get("/password")) == ["old_password", "new_password1", "new_password2"]
    answer = dan.post("/password", {"new_password1": FRESH, "new_password2": FRESH})
    assert (list(answer.context["form"].errors), TemporaryPassword.objects.count()) == (["old_password"], 1)


def test_a_weak_password_is_refused_and_the_old_one_stays_marked(eve, dan):
    TemporaryPassword.objects.create(user=eve)
    sign_in(dan)
    answer = dan.post("/password", {"old_password": PASSWORD, "new_password1": "short", "new_password2": "short"})
    assert list(answer.context["form"].errors) == ["new_password1"]
    assert "too short" in text(answer)
    assert TemporaryPassword.objects.count() == 1


def test_the_one_time_password_cannot_stay(eve, dan):
    TemporaryPassword.objects.create(user=eve)
    sign_in(dan)
    answer = dan.post("/password", {"old_password": PASSWORD, "new_password1": PASSWORD, "new_password2": PASSWORD})
    assert ("choose another" in text(answer), TemporaryPassword.objects.count()) == (True, 1)


@pytest.mark.parametrize("chosen", [" velum quay ampere ", "\u00e9t\u00e9 velum quay " + "x" * 200])
def test_a_password_counts_as_it_was_typed(eve, dan, chosen):
    sign_in(dan)
    dan.post("/password", {"old_password": PASSWORD, "new_password1": chosen, "new_password2": chosen})
    dan.logout()
    wrong = [sign_in(dan, other).status_code for other in (chosen.strip()[:-1], chosen.upper(), chosen[:72] + "-")]
    assert (wrong, sign_in(dan, chosen).url) == ([200] * 3, "/")


@pytest.mark.parametrize("path", ["/login", "/password", "/sign-in-again"])
def test_fields_of_passwords_are_masked_and_open_to_password_managers(eve, dan, path):
    if path != "/login":
        sign_in(dan)
    fields = re.findall(r"<input[^>]*name=\"[^\"]*password[^\"]*\"[^>]*>", dan.get(path).content.decode())
    assert fields != []
    assert [field for field in fields if 'type="password"' not in field or "-password" not in field] == []
    assert [field for field in fields if "onpaste" in field or 'autocomplete="off"' in field] == []


def test_signing_in_again_gives_the_session_another_key(eve, dan):
    sign_in(dan)
    before = dan.cookies["sessionid"].value
    dan.post("/sign-in-again", {"password": PASSWORD})
    assert dan.cookies["sessionid"].value != before
    thief = Client()
    thief.cookies["sessionid"] = before
    assert (thief.get("/").status_code, dan.get("/").status_code) == (302, 200)


def test_a_disabled_person_is_out_at_once(eve, dan):
    sign_in(dan)
    get_user_model().objects.filter(pk=eve.pk).update(is_active=False)
    assert dan.get("/").status_code == 302


def change(client, old, **more):
    return client.post("/password", {"old_password": old, "new_password1": FRESH, "new_password2": FRESH, **more})


def test_wrong_old_passwords_are_counted_like_wrong_sign_ins(eve, dan, settings):  # T27
    sign_in(dan)
    answers = [change(dan, "wrong").status_code for _ in range(settings.AXES_FAILURE_LIMIT)]
    assert (answers[:-1], answers[-1]) == ([200] * 9, 429)
    assert change(dan, PASSWORD).status_code == 429
    assert sign_in(Client()).status_code == 429


def test_every_spelling_of_a_name_shares_the_tries(eve, dan, settings):
    spellings = ["eve", "EVE", "e\u00adve", "\ufeffeve", "ev\uff45", " eve"]
    for number in range(settings.AXES_FAILURE_LIMIT):
        dan.post("/login", {"username": spellings[number % len(spellings)], "password": "wrong"})
    assert sign_in(dan).status_code == 429


def test_the_table_of_sessions_holds_no_key_of_a_cookie(eve, dan):
    sign_in(dan)
    key = dan.cookies["sessionid"].value
    kept = Session.objects.get()
    assert kept.session_key == stored_key(key) != key
    thief = Client()
    thief.cookies["sessionid"] = kept.session_key
    assert (thief.get("/").status_code, dan.get("/").status_code) == (302, 200)
    dan.logout()
    assert Session.objects.count() == 0


@pytest.mark.parametrize(("chosen", "left"), [({}, True), ({"end_tokens": "on"}, False)])
def test_a_new_password_ends_tokens_where_that_is_chosen(eve, dan, chosen, left):
    secret = tokens.issue(eve, name="ci", scopes=["read"], days=1).secret
    sign_in(dan)
    assert change(dan, PASSWORD, **chosen).status_code == 302
    assert (tokens.authenticate(secret) is not None) is left


def test_names_of_any_kind_are_refused_and_kept_nowhere(eve, dan):
    """A password typed into the field of the name, and a name that PostgreSQL could not store."""
    for name in ("hunter2-hunter2", "e\0ve", "x" * 5000):
        assert dan.post("/login", {"username": name, "password": "wrong"}).status_code == 200
    assert "hunter2" not in repr(list(AccessAttempt.objects.values())) + repr(list(AuditEvent.objects.values()))


def test_no_wrong_password_is_kept(eve, dan):
    sign_in(dan, "guess-one-11")
    sign_in(dan)
    change(dan, "guess-two-22")
    dan.post("/sign-in-again", {"password": "guess-three-33"})
    kept = list(AccessAttempt.objects.values_list("path_info", "post_data"))
    assert len(kept) == 1
    assert sum(kept[0][1].count(field) for field in ("password=*", "old_password=*")) >= 2
    assert not any(word in repr(kept) for word in ("guess", FRESH, "eve"))


def many_names_tried(client):
    """Wrong passwords for as many names as an address may try."""
    for number in range(sign_in_rules.MAX_WRONG_PASSWORDS):
        answer = client.post("/login", {"username": f"name-{number}", "password": "wrong"})
        assert answer.status_code == 200


def later(**after):
    """The clock stands still, that much after noon."""
    return time_machine.travel(NOW + timedelta(**after), tick=False)


def test_many_names_from_one_address_are_slowed_not_locked(eve, dan):  # T28
    pause = sign_in_rules.LOCKOUT_PAUSE.seconds
    with later():
        many_names_tried(dan)
        refused = sign_in(dan)
        assert (refused.status_code, refused["Retry-After"], "Please wait" in text(refused)) == (429, str(pause), True)
        assert sign_in(Client(REMOTE_ADDR="192.0.2.7")).status_code == 302
    with later(seconds=pause - 1):
        assert sign_in(dan)["Retry-After"] == "1"
    with later(seconds=pause):
        assert sign_in(Client(), "wrong").status_code == 200  # one try, and the next pause begins
        assert sign_in(Client()).status_code == 429
    with later(seconds=2 * pause):
        assert sign_in(Client()).status_code == 302
    with later(minutes=20):
        assert [sign_in(Client(), "wrong").status_code for _ in range(2)] == [200, 200]


def test_a_browser_that_has_signed_in_does_not_wait_for_others(eve, dan):
    own = Client()
    with later():
        sign_in(own)
        own.post("/logout")
        many_names_tried(dan)
        assert (sign_in(dan).status_code, sign_in(own).status_code) == (429, 302)
        own.post("/logout")
        assert own.post("/login", {"username": "fred", "password": "x"}).status_code == 429  # for that name alone
        own.cookies["signed_in_here"] = own.cookies["signed_in_here"].value.replace("hmac:", "hmac:0")
        assert sign_in(own).status_code == 429


def test_a_new_password_ends_the_other_sessions(eve, dan):
    other = Client()
    sign_in(other)
    sign_in(dan)
    assert change(dan, PASSWORD).status_code == 302
    assert (dan.get("/").status_code, other.get("/").status_code) == (200, 302)


def test_no_script_reads_a_cookie_and_no_other_site_sends_one(eve, dan):
    dan.get("/login")
    sign_in(dan)
    told = {name: (bool(one["httponly"]), one["samesite"], one["path"]) for name, one in dan.cookies.items()}
    assert told == dict.fromkeys(("csrftoken", "sessionid", "signed_in_here"), (True, "Lax", "/"))
