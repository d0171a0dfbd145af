"""A failing check is waived on its page, stays in sight, and is taken back from the list."""

import uuid
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.urls import reverse

from migrations_app.models.policy import Waiver
from tests.builders.rows import NOW, a_cluster, a_finding, a_report, a_snapshot
from tests.web.conftest import signed_in
from tests.web.pages import text

pytestmark = pytest.mark.django_db
BLOCKER, WARNING = "legacy_provisioners_gone", "budgets_let_nodes_go"


@pytest.fixture
def shop(db):
    row = a_cluster("shop")
    a_snapshot(row, a_report("shop", checks=(a_finding(BLOCKER), a_finding(WARNING, severity="warning"))))
    return row


@pytest.fixture
def ann(db):
    """May change clusters, and sets no policies."""
    user = get_user_model().objects.create_user("ann")
    user.user_permissions.add(Permission.objects.get(codename="change_cluster"))
    return signed_in(user)


def waive(client, shop, check=BLOCKER, **told):
    usual = {"check": check, "reason": "moved in May", "owner": "team shop", "ends_on": NOW.date() + timedelta(days=30)}
    return client.post(f"/clusters/{shop.pk}/waive", usual | told)


def link_to(answer, check):
    return f"waive?check={check}" in answer.content.decode()


def test_a_failing_check_is_waived_and_stays_in_sight(ada, shop):
    page = ada.get(f"/clusters/{shop.pk}/")
    assert (link_to(page, BLOCKER), link_to(page, WARNING)) == (True, True)
    assert waive(ada, shop).url == f"/clusters/{shop.pk}/"
    after = ada.get(f"/clusters/{shop.pk}/")
    assert "accepted by team shop until 2026-12-21: moved in May" in text(after)
    assert (link_to(after, BLOCKER), "Its waiver" in text(after)) == (False, True)
    assert "Ready, with warnings" in text(after) or "ready" in text(after).lower()


def test_the_form_knows_the_check_and_who_asks(ada, shop):
    page = ada.get(f"/clusters/{shop.pk}/waive?check={WARNING}").content.decode()
    assert (f'value="{WARNING}"' in page, 'value="ada"' in page, 'value="2027-02-19"' in page) == (True, True, True)


def test_a_waiver_of_one_hop_names_it_in_the_list(ada, shop):
    page = ada.get(f"/clusters/{shop.pk}/waive?check={WARNING}&hop=1.0").content.decode()
    assert '<option value="1.0" selected>1.0</option>' in page
    assert waive(ada, shop, hop="0.99").status_code == 422
    assert waive(ada, shop, hop="1.0").status_code == 302
    assert "for the upgrade 1.0" in text(ada.get("/waivers/"))
    assert link_to(ada.get(f"/clusters/{shop.pk}/"), BLOCKER), "it fails at another hop"


def said_of_waiver(client, shop, check, **told):
    answer = waive(client, shop, check, **told)
    return text(client.get(answer.url)).partition(" Close ")[0]


def test_a_waiver_that_covers_nothing_is_not_called_waived(ada, shop):
    a_snapshot(shop, a_report("shop", checks=(a_finding(BLOCKER), a_finding(WARNING, status="unknown"))))
    assert "The check is waived." in said_of_waiver(ada, shop, BLOCKER)
    told = said_of_waiver(ada, shop, BLOCKER, hop="1.0")
    words = ("waives nothing in shop now", "does not fail there at 1.0", "The check is waived")
    assert [part in told for part in words] == [True, True, False]
    told = said_of_waiver(ada, shop, WARNING)
    assert (f"{WARNING} is unknown there" in told, "The check is waived" in told) == (True, False)


def test_a_cluster_that_was_never_scanned_fails_nothing_that_could_be_waived(ada):
    assert f"{BLOCKER} is unknown there" in said_of_waiver(ada, a_cluster("new"), BLOCKER)


def test_a_check_is_waived_only_for_hops_at_which_it_is_asked(ada, shop):
    refused = waive(ada, shop, "alpha_crds_outlive_chart", hop="1.14")
    words = "This check is not asked at hop 1.14."
    assert (refused.status_code, words in text(refused), Waiver.objects.count()) == (422, True, 0)


def test_ann_waives_warnings_only(ann, shop):
    page = ann.get(f"/clusters/{shop.pk}/")
    assert (link_to(page, BLOCKER), link_to(page, WARNING)) == (False, True)
    refused = waive(ann, shop)
    assert (refused.status_code, Waiver.objects.count()) == (422, 0)
    assert "The account may not accept what blocks" in text(refused)
    assert waive(ann, shop, WARNING, everywhere="on").status_code == 422
    assert (waive(ann, shop, WARNING).status_code, Waiver.objects.get().check_id) == (302, WARNING)


def test_ben_sees_no_way_in_and_gets_none(ben, shop):
    page = ben.get(f"/clusters/{shop.pk}/")
    assert (link_to(page, WARNING), waive(ben, shop).status_code, Waiver.objects.count()) == (False, 403, 0)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"reason": ""}, "This field is required."),
        ({"check": "no_such"}, "There is no check"),
        ({"ends_on": "2020-01-01"}, "The end date must be in the future."),
        ({"ends_on": "2029-01-01"}, "A waiver lasts a year at most."),
    ],
)
def test_what_is_wrong_stands_at_its_field(ada, shop, told, said):
    answer = waive(ada, shop, **told)
    assert (answer.status_code, said in text(answer), Waiver.objects.count()) == (422, True, 0)


def test_the_list_tells_how_long_and_revokes(ada, ben, shop):
    waive(ada, shop, ends_on=NOW.date() + timedelta(days=3))
    row = Waiver.objects.get()
    listed = text(ben.get(f"/clusters/{shop.pk}/waivers"))
    assert ("3 days left" in listed, "moved in May" in listed, "Revoke" in listed) == (True, True, False)
    assert "3 days left" in text(ben.get("/waivers/"))
    answer = ada.post(reverse("waiver-revoke", args=[row.pk]), follow=True)
    assert answer.redirect_chain[0][0] == f"/clusters/{shop.pk}/waivers"
    assert "by ada" in text(answer)
    assert "accepted by" not in text(ada.get(f"/clusters/{shop.pk}/"))


@pytest.mark.parametrize(("name", "status"), [("ben", 403), ("cleo", 403), ("dan", 302)])
def test_others_revoke_nothing(request, ada, shop, name, status):
    waive(ada, shop)
    row = Waiver.objects.get()
    other = request.getfixturevalue(name)
    assert other.post(reverse("waiver-revoke", args=[row.pk])).status_code == status
    row.refresh_from_db()
    assert row.revoked_at is None


def test_ann_does_not_revoke_what_holds_everywhere(ada, ann, shop):
    waive(ada, shop, WARNING, everywhere="on")
    row = Waiver.objects.get()
    answer = ann.post(reverse("waiver-revoke", args=[row.pk]), follow=True)
    row.refresh_from_db()
    assert (row.cluster_id, row.revoked_at, "Not revoked" in text(answer)) == (None, None, True)


def test_nothing_is_revoked_on_get_or_where_there_is_nothing(ada):
    absent = reverse("waiver-revoke", args=[uuid.UUID(int=1)])
    assert (ada.get(absent).status_code, ada.post(absent).status_code) == (405, 404)


def test_empty_lists_say_so(ben, shop):
    assert "No failing check of this cluster is accepted." in text(ben.get(f"/clusters/{shop.pk}/waivers"))
    assert "No waivers" in text(ben.get("/waivers/?after=nonsense"))
