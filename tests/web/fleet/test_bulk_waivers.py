"""What is done with several clusters of the fleet's list at once: a waiver on each, and a file of them."""

from datetime import timedelta

import pytest
from django.utils import timezone

from migrations_app.models.policy import Waiver
from tests.builders.rows import a_cluster, a_report, a_snapshot
from tests.web.pages import text

pytestmark = pytest.mark.django_db
WAIVE, EXPORT = "/fleet/waive-chosen", "/fleet/export-chosen"
CHECK = "legacy_provisioners_gone"


@pytest.fixture
def three():
    """Two clusters on which the check fails, and one that was never scanned."""
    rows = [a_cluster(name) for name in ("alpha", "beta", "gamma")]
    for row in rows[:2]:
        a_snapshot(row, a_report(row.name))
    return rows


def said(rows, **more):
    day = (timezone.now() + timedelta(days=30)).date().isoformat()
    sent = {"cluster": [row.pk for row in rows], "query": "view=flat&cursor=x", "check": CHECK, "hop": "",
            "reason": "gone next week", "owner": "team shop", "ends_on": day, "do": "waive"}  # fmt: skip
    return sent | more


def waivers():
    return sorted(Waiver.objects.values_list("check_id", "cluster__name", "reason", "owner_name", "made_by_name"))


def test_the_form_offers_what_fails_and_keeps_what_was_chosen(ada, three):
    answer = ada.post(WAIVE, {"cluster": [row.pk for row in three], "query": "view=flat"})
    page = answer.content.decode()
    assert (answer.status_code, waivers()) == (200, [])
    assert "Waive a check of 3 clusters" in text(answer)
    assert f'<option value="{CHECK}">' in page
    assert "(on 2 of 3)" in text(answer)
    assert [str(row.pk) in page for row in three] == [True] * 3
    assert "For all clusters" not in text(answer)


def test_a_waiver_is_made_where_the_check_fails(ada, three):
    answer = ada.post(WAIVE, said(three), follow=True)
    assert answer.redirect_chain == [("/?view=flat", 302)]
    assert waivers() == [(CHECK, name, "gone next week", "team shop", "ada") for name in ("alpha", "beta")]
    assert f"{CHECK} is waived on 2 clusters." in text(answer)
    assert "1 chosen cluster does not fail it." in text(answer)
    again = ada.post(WAIVE, said(three[:2]), follow=True)
    assert "Not waived on 2 clusters: this check is waived here already" in text(again)
    assert len(waivers()) == 2


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"reason": ""}, "This field is required"),
        ({"check": "no_such"}, "is not one of the available choices"),
        ({"ends_on": "2020-01-01"}, "the end date must be in the future"),
    ],
)
def test_what_was_typed_wrong_waives_nothing_and_keeps_the_rest(ada, three, more, words):
    answer = ada.post(WAIVE, said(three, **more))
    assert (answer.status_code, waivers()) == (422, [])
    assert words in text(answer)
    assert "team shop" in answer.content.decode()


def test_nothing_that_fails_and_too_many_are_said(ada, three, monkeypatch):
    assert "No check fails on the chosen clusters" in text(ada.post(WAIVE, said(three[2:]), follow=True))
    monkeypatch.setattr("migrations_app.web.fleet.bulk_waivers.MAX_WAIVERS", 2)
    assert "At most 2 clusters" in text(ada.post(WAIVE, said(three), follow=True))
    assert waivers() == []


def test_who_may_look_waives_nothing(ben, three):
    assert (ben.post(WAIVE, said(three)).status_code, waivers()) == (403, [])


def test_the_chosen_clusters_are_a_file(ben, three):
    answer = ben.post(EXPORT, {"cluster": [three[0].pk, three[2].pk], "query": ""})
    names = [line.split(",")[0] for line in answer.content.decode().splitlines()]
    assert sorted(names) == ["alpha", "cluster", "gamma"]
    assert answer["Content-Disposition"].startswith('attachment; filename="fleet-')
    every = ben.post(EXPORT, {"every": "on", "query": "q=beta"}).content.decode()
    assert [line.split(",")[0] for line in every.splitlines()] == ["cluster", "beta"]
    assert "Choose clusters first" in text(ben.post(EXPORT, {"query": ""}, follow=True))
