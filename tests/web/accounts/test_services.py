"""The pages of service accounts: made, changed, given tokens that are shown once, and ended."""

import re

import pytest
from django.urls import reverse

from migrations_app.models.cluster import ClusterGroup
from migrations_app.models.service import ServiceAccountRow, ServiceToken
from migrations_app.queries.accounts.services import service_of
from migrations_app.use_cases.accounts.service_tokens import authenticate

pytestmark = pytest.mark.django_db
NEW = {"name": "ci", "purpose": "pipelines", "role": "operator", "over": "everywhere", "scopes": ["read", "metrics"]}


@pytest.fixture
def page(ada):
    assert ada.post(reverse("services"), NEW).status_code == 302
    return reverse("service", args=[ServiceAccountRow.objects.get().pk])


def test_only_those_who_may_appoint_open_them(ada, ben, cleo, page):
    for address in (reverse("services"), page):
        assert [client.get(address).status_code for client in (ada, ben, cleo)] == [200, 403, 403]
    assert ben.post(reverse("services"), NEW | {"name": "x"}).status_code == 403
    assert ServiceAccountRow.objects.count() == 1


def test_one_is_made_and_listed(ada, page):
    row = service_of(ServiceAccountRow.objects.get().pk)
    assert (row.account, row.role, row.everywhere, row.scopes, row.networks) == (
        "service:ci", "operator", True, ("metrics", "read"), (),
    )  # fmt: skip
    listed = ada.get(reverse("services")).content.decode()
    assert ("pipelines" in listed, page in listed) == (True, True)
    assert "service:ci" not in ada.get(reverse("people")).content.decode()


def test_a_token_is_shown_once_and_revoked(ada, page):
    said = {"do": "token", "token_name": "x", "days": "", "endless": "on", "token_scopes": ["metrics"]}
    answer = ada.post(page, said).content.decode()
    secret = re.search(r"<code>(kd_.+?)</code>", answer)[1]
    assert (authenticate(secret, address="192.0.2.1").scopes, "without an end" in answer) == (("metrics",), True)
    assert secret not in ada.get(page).content.decode()
    row = ServiceToken.objects.get()
    assert ada.post(reverse("service-token-revoke", args=[row.pk])).url == page
    assert authenticate(secret, address="192.0.2.1") is None
    assert "revoked" in ada.get(page).content.decode()


def test_it_is_changed_and_a_stale_page_is_told(ada, page):
    group = ClusterGroup.objects.create(name="shop")
    said = NEW | {"do": "change", "version": "1", "over": "groups", "groups": [str(group.pk)], "networks": "192.0.2.7"}
    assert ada.post(page, said).status_code == 302
    row = service_of(ServiceAccountRow.objects.get().pk)
    assert (row.groups, row.networks, row.version) == ((group.pk,), ("192.0.2.7/32",), 2)
    again = ada.post(page, said)
    assert (again.status_code, "changed meanwhile" in again.content.decode()) == (409, True)


def test_a_group_beyond_the_offered_ones_stays(ada, page, monkeypatch):
    monkeypatch.setattr("migrations_app.queries.accounts.people.MAX_ACCOUNTS", 1)
    first, middle, last = (ClusterGroup.objects.create(name=name) for name in ("a", "m", "z"))
    said = NEW | {"do": "change", "version": "1", "over": "groups", "groups": [str(first.pk), str(last.pk)]}
    assert ada.post(page, said).status_code == 302
    shown = ada.get(page).content.decode()
    assert [(str(row.pk) in shown) for row in (first, middle, last)] == [True, False, True]
    assert "1 more group is not offered here" in shown
    listed = ada.get(reverse("services")).content.decode()
    assert "2 more groups are not offered here" in listed
    people = ada.get(reverse("people")).content.decode()
    assert "2 more groups are not offered here" in people


def test_a_list_that_is_cut_says_so(ada, page, monkeypatch):
    account = ServiceAccountRow.objects.get().pk
    for name in ("x", "y"):
        ada.post(page, {"do": "token", "token_name": name, "days": "9", "token_scopes": ["metrics"]})
        ada.post(reverse("services"), NEW | {"name": name})
    addresses = (reverse("services"), reverse("service", args=[account]))
    for limit, told in ((200, False), (1, True)):
        monkeypatch.setattr("migrations_app.web.accounts.services.MAX_SERVICES", limit)
        assert ["There are more" in ada.get(path).content.decode() for path in addresses] == [told, told]


def test_it_ends_when_its_name_is_typed(ada, page):
    slip = ada.post(page, {"do": "end", "typed": "cd"})
    assert (slip.status_code, ServiceAccountRow.objects.get().ended_at) == (400, None)
    assert ada.post(page, {"do": "end", "typed": "ci"}).status_code == 302
    shown = ada.get(page).content.decode()
    assert (ServiceAccountRow.objects.get().ended_at is None, "End the service account" in shown) == (False, False)


@pytest.mark.parametrize(
    "said",
    [{"scopes": []}, {"networks": "10.0.0.1/8"}, {"over": "groups"}, {"role": "approver"}, {"name": "A"}],
)
def test_what_is_none_is_told_and_the_form_keeps_what_was_typed(ada, said):
    answer = ada.post(reverse("services"), NEW | said)
    assert (answer.status_code, ServiceAccountRow.objects.exists()) == (400, False)
    assert ("Action failed" in answer.content.decode(), 'value="pipelines"' in answer.content.decode()) == (True, True)
