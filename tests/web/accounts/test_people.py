"""The page of people: who opens it, and what it changes."""

import re

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from migrations_app.models.account import Grant
from migrations_app.models.cluster import ClusterGroup
from tests.builders.rows import a_cluster

pytestmark = pytest.mark.django_db


def change(client, **said):
    return client.post(reverse("people-change"), said)


def test_only_those_who_may_appoint_open_it(ada, ben, cleo, dan):
    pages = [client.get(reverse("people")).status_code for client in (ada, ben, cleo, dan)]
    changes = [change(client, do="account", name="x").status_code for client in (ben, cleo, dan)]
    assert (pages, changes) == ([200, 403, 403, 302], [403, 403, 302])
    assert not User.objects.filter(username="x").exists()


def test_an_account_is_made_and_its_password_shown_once(ada):
    answer = change(ada, do="account", name="eve").content.decode()
    password = re.search(r"<code>(.+?)</code>", answer)[1]
    assert User.objects.get(username="eve").check_password(password)
    assert password not in ada.get(reverse("people")).content.decode()


def test_roles_are_given_and_taken_back(ada, ben):
    group = ClusterGroup.objects.create(name="shop")
    assert change(ada, do="join", name="ben", team="night").status_code == 302
    assert change(ada, do="give", to="team:night", role="operator", over=str(group.pk)).status_code == 302
    row = Grant.objects.get(team__name="night")
    shown = ada.get(reverse("people")).content.decode()
    assert (row.over_id, row.created_by, "team night" in shown) == (group.pk, "ada", True)
    assert change(ada, do="take_back", grant=str(row.pk)).status_code == 302
    assert change(ada, do="leave", name="ben", team="night").status_code == 302
    assert not Grant.objects.filter(pk=row.pk).exists()


def test_a_sample_person_is_not_said_to_sign_in_with_sso(ada):
    for name in ("sample-operator", "erin"):
        User.objects.create_user(name, last_login=timezone.now())
    said = ada.get(reverse("people")).content.decode()
    assert (said.count("sample person, without a password"), said.count("SSO")) == (1, 1)


def test_an_account_is_closed_and_opened(ada, ben):
    assert change(ada, do="close", name="ben").status_code == 302
    assert ben.get("/").status_code == 302
    assert "closed" in ada.get(reverse("people")).content.decode()
    assert change(ada, do="open", name="ben").status_code == 302
    assert User.objects.get(username="ben").is_active


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({}, 400),
        ({"do": "give", "to": "person:nobody", "role": "viewer"}, 404),
        ({"do": "give", "to": "person:ada", "role": "viewer", "over": "x"}, 404),
        ({"do": "take_back", "grant": ""}, 404),
        ({"do": "close", "name": "ada"}, 409),
    ],
)
def test_what_cannot_be_done_is_said(ada, said, status):
    answer = change(ada, **said)
    assert (answer.status_code, "Action failed" in answer.content.decode()) == (status, True)


def test_a_name_that_is_taken_stays_in_its_field(ada, ben):
    html = change(ada, do="account", name="ben").content.decode()
    field = re.search(r'<input[^>]*id="account-name"[^>]*>', html)[0]
    assert 'value="ben"' in field
    after_another = re.search(
        r'<input[^>]*id="account-name"[^>]*>', change(ada, do="close", name="ada").content.decode()
    )[0]
    assert 'value=""' in after_another


def test_an_account_without_a_role_sees_nothing(ada, ben):
    cluster = a_cluster("secret-name")
    Grant.objects.all().delete()
    assert "secret-name" not in ben.get("/").content.decode()
    assert ben.get(reverse("cluster", args=[cluster.pk])).status_code == 404
