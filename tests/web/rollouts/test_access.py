"""Who may open what, in the cast's own hands; and no change without the token or from another site."""

import uuid

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from migrations_app.models.rollout import Rollout
from tests.builders.rollouts import a_rollout
from tests.web.rollouts.addresses import ACTS, DECLARED, FORMS

pytestmark = pytest.mark.django_db


def address(name, row):
    if name in ("rollouts", "rollouts-waiting", "policy", "kill-switch", "sign-in-again"):
        return reverse(name)
    return reverse(name, args=[row.cluster_id if name.startswith("cluster") else row.pk])


def opened(name, row):
    return address(name, row) + ("?action=taint_and_drift" if name == "cluster-rollout-new" else "")


@pytest.fixture
def row(shop):
    return a_rollout(shop)


@pytest.mark.parametrize("name", sorted(DECLARED))
def test_dan_is_sent_to_the_sign_in(row, name):
    assert Client().get(address(name, row)).url.startswith("/login?next=")
    assert Client().post(address(name, row)).url.startswith("/login?next=")


@pytest.mark.parametrize("name", sorted(set(DECLARED) - set(ACTS)))
def test_ben_may_look_and_no_more(ben, row, name):
    if name == "rollout-receipt":  # there is one at the end alone
        row = a_rollout(row.cluster, state="succeeded", finished_at=timezone.now())
    expected = 200 if DECLARED[name] == "look" else 403
    assert ben.get(opened(name, row)).status_code == expected


@pytest.mark.parametrize("name", ACTS)
def test_ben_does_nothing(ben, row, name):
    assert ben.post(address(name, row)).status_code == 403
    assert list(Rollout.objects.values_list("state", "version")) == [("previewed", 1)]


@pytest.mark.parametrize("name", ACTS)
def test_no_effect_on_get(eve, row, name):
    assert eve.get(address(name, row)).status_code == 405
    assert Rollout.objects.get().version == 1


@pytest.mark.parametrize("name", [*ACTS, *FORMS])
def test_no_change_without_the_token(eve, gil, row, name):  # T09
    who = gil if "policy" in name else eve
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = who.client.cookies
    assert strict.post(opened(name, row)).status_code == 403
    assert Rollout.objects.get().version == 1


@pytest.mark.parametrize("name", [*ACTS, *FORMS])
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_no_change_from_another_site(eve, row, name, site):  # T09
    assert eve.post(opened(name, row), headers={"Sec-Fetch-Site": site}).status_code == 403
    assert Rollout.objects.get().version == 1


@pytest.mark.parametrize("name", sorted(set(ACTS) | {"rollout", "rollout-live", "rollout-exports"}))
def test_what_is_not_there_is_a_404(eve, row, name):
    nowhere = reverse(name, args=[uuid.UUID(int=7)])
    assert (eve.post if name in ACTS else eve.get)(nowhere).status_code == 404


def test_an_approver_starts_nothing_and_an_operator_approves_nothing(ada, cleo, shop):
    row = a_rollout(shop, state="approved", author=ada.user)
    assert cleo.post(f"/rollouts/{row.pk}/start").status_code == 403
    assert ada.post(f"/rollouts/{row.pk}/approve").status_code == 403


@pytest.mark.parametrize("path", ["/rollouts/", "/policy", "/kill-switch"])
def test_pages_are_not_kept_and_load_nothing_foreign(gil, path):
    headers = gil.get(path).headers
    assert ("no-store" in headers["Cache-Control"], "unsafe" in headers["Content-Security-Policy"]) == (True, False)
