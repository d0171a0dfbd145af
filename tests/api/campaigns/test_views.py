"""Campaigns over REST: what is answered, what is taken, and what is left to people."""

import pytest

from migrations_app.models.campaign import Campaign, CampaignMember
from tests.builders.campaigns import a_campaign
from tests.builders.rows import a_cluster

pytestmark = pytest.mark.django_db
LIST = "/api/v1/campaigns"


@pytest.fixture
def fleet():
    return [a_cluster("blue"), a_cluster("green")]


@pytest.fixture
def ada(client, admin_user):
    client.force_login(admin_user)
    return admin_user


def posted(client, path, body=None, *, version=None, key="k" * 20):
    headers = {"Idempotency-Key": key} | ({"If-Match": f'"v{version}"'} if version else {})
    return client.post(path, body or {}, content_type="application/json", headers=headers)


def of(row, *words: str) -> str:
    return "/".join((LIST, str(row.pk), *words))


def test_one_campaign_with_its_waves_and_what_it_would_do(client, ada, fleet):
    row = a_campaign(*fleet, state="running", author=ada)
    answer = client.get(of(row))
    told = answer.json()
    assert (answer["ETag"], told["state"], told["done"], told["total"], told["risk"]) == (
        '"v1"', "running", 0, 2, "high",
    )  # fmt: skip
    assert [(one["number"], one["counts"], one["opened_at"] is None) for one in told["waves"]] == [
        (1, {"waiting": 1}, False), (2, {"waiting": 1}, True),
    ]  # fmt: skip
    assert (told["forecast"]["nodes"], told["forecast"]["minutes"], told["needed"]) == (12, 92, 1)
    assert told["recipe"]["limits"] == {"at_once": 5, "per_region": 0, "per_environment": 0}


def test_its_clusters_are_a_list_of_their_own(client, ada, fleet):
    row = a_campaign(*fleet, state="running", author=ada)
    CampaignMember.objects.filter(cluster_name="blue").update(state="out", cause_code="scan_old")
    rows = client.get(of(row, "clusters")).json()["results"]
    assert [(one["name"], one["state"], one["cause_code"], one["lands"]) for one in rows] == [
        ("green", "waiting", "", "1.0.14"), ("blue", "out", "scan_old", "1.0.14"),
    ]  # fmt: skip
    page = client.get(of(row, "clusters") + "?limit=1").json()
    assert (len(page["results"]), client.get(page["next"]).json()["results"][0]["name"]) == (1, "blue")
    assert [one["name"] for one in client.get(of(row, "clusters") + "?state=out").json()["results"]] == ["blue"]


def test_a_draft_is_made_once_for_one_key(client, ada, fleet):  # A11
    body = {"name": "to 1.0", "to": "1.0", "waves": [1, 0], "selection": {"clusters": [str(fleet[0].pk)]}}
    first, again = posted(client, LIST, body), posted(client, LIST, body)
    assert (first.status_code, again.json()["id"]) == (202, first.json()["id"])
    row = Campaign.objects.get()
    assert (row.members.get().cluster_name, row.recipe["waves"], row.author) == ("blue", [1, 0], ada)
    assert first["Location"].endswith(of(row))


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"name": "x", "to": "soon"}, "bad_parameter"),
        ({"name": "x", "selection": {"environments": ["none"]}}, "no_clusters"),
        ({"name": "x", "parameters": {"fly": {}}}, "unknown_action"),
        ({"name": "x", "limits": {"at_once": 0}}, "invalid"),
        ({"name": "x", "windows": [{"days": [0], "from": "22:00", "to": "22:00"}]}, "bad_window"),
    ],
)
def test_what_is_not_a_recipe_is_refused(client, ada, fleet, body, code):
    answer = posted(client, LIST, body)
    assert (answer.status_code, answer.json()["code"]) == (400, code)


def test_it_is_asked_for_started_paused_resumed_and_ended(client, ada, fleet):
    row = a_campaign(*fleet, author=ada, risk="")
    assert posted(client, of(row, "ask"), version=1).json()["state"] == "approved"
    row.refresh_from_db()
    wrong = posted(client, of(row, "start"), {"digest": "x"}, version=row.version, key="a" * 20)
    assert (wrong.status_code, wrong.json()["code"]) == (409, "digest_moved")
    told = posted(client, of(row, "start"), {"digest": row.digest}, version=row.version, key="b" * 20).json()
    for word, state in (("pause", "paused"), ("resume", "running"), ("abort", "aborted")):
        row.refresh_from_db()
        told = posted(client, of(row, word), version=row.version, key=word * 5).json()
        assert told["state"] == state
    stale = posted(client, of(row, "pause"), version=1, key="c" * 20)
    assert (stale.status_code, stale.json()["code"]) == (412, "stale")


def test_programs_never_approve(client, ada, fleet):  # A42
    row = a_campaign(*fleet, state="awaiting_approval")
    answer = posted(client, of(row, "approve"), {"digest": row.digest})
    assert (answer.status_code, answer.json()["code"]) == (403, "person_needed")


def test_a_cluster_is_left_out(client, ada, fleet):
    row = a_campaign(*fleet, state="paused", author=ada)
    member = CampaignMember.objects.get(cluster_name="green")
    told = {"member": member.pk, "reason": "rebuilt"}
    assert posted(client, of(row, "leave-out"), told, version=1).status_code == 202
    member.refresh_from_db()
    assert (member.state, member.cause) == ("out", "rebuilt")
