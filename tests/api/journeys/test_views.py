"""Journeys over REST: what is answered, what is taken, and what is left to people."""

import pytest

from migrations_app.models.journey import Journey
from tests.builders.journeys import a_journey
from tests.builders.rows import a_cluster

pytestmark = pytest.mark.django_db
LIST = "/api/v1/journeys"


@pytest.fixture
def shop():
    return a_cluster("shop")


@pytest.fixture
def ada(client, admin_user):
    client.force_login(admin_user)
    return admin_user


def posted(client, path, body=None, *, version=None, key="k" * 20):
    headers = {"Idempotency-Key": key} | ({"If-Match": f'"v{version}"'} if version else {})
    return client.post(path, body or {}, content_type="application/json", headers=headers)


def of(row, *words: str) -> str:
    return "/".join((LIST, str(row.pk), *words))


def test_one_journey_with_its_steps(client, ada, shop):
    row = a_journey(shop, state="running", author=ada, at=2, wait_code="work_outside", needs_person=True)
    answer = client.get(of(row))
    told = answer.json()
    assert (answer["ETag"], told["state"], told["done"], told["total"]) == ('"v1"', "running", 2, 4)
    assert [(one["id"], one["kind"], one["state"]) for one in told["steps"]] == [
        ("j01", "person", "done"),
        ("j02", "rollout", "done"),
        ("j03", "outside", "running"),
        ("j04", "wait", "waiting"),
    ]
    assert (told["wait_code"], told["needs_person"], told["risk"], told["needed"]) == ("work_outside", True, "high", 1)


def test_the_list_is_filtered_by_cluster_and_state(client, ada, shop):
    mine, other = a_journey(shop, state="running"), a_journey(a_cluster("other"), state="succeeded")

    def ids(query):
        return [one["id"] for one in client.get(f"{LIST}?{query}").json()["results"]]

    assert ids(f"cluster={shop.pk}") == [str(mine.pk)]
    assert (ids("state=ended"), ids("state=under_way")) == ([str(other.pk)], [str(mine.pk)])


def test_a_draft_is_made_once_for_one_key(client, ada, shop):  # A11
    body = {"cluster": str(shop.pk), "covers": "medium", "soak_seconds": 0}
    first, again = posted(client, LIST, body), posted(client, LIST, body)
    assert (first.status_code, again.json()["id"]) == (202, first.json()["id"])
    row = Journey.objects.get()
    assert (row.covers, row.choices["soak_seconds"], first["Location"].endswith(str(row.pk))) == ("medium", 0, True)


@pytest.mark.parametrize(
    "wrong", [{"covers": "destructive"}, {"soak_seconds": -1}, {"colour": 1}, {"parameters": {"roll_nodes": 1}}]
)
def test_odd_drafts_are_refused(client, ada, shop, wrong):  # T12
    assert posted(client, LIST, {"cluster": str(shop.pk)} | wrong).status_code == 400


def test_a_step_is_skipped_at_the_version_that_was_read(client, ada, shop):  # R33
    row = a_journey(shop, state="running", author=ada)
    body = {"step": "j01", "reason": "done before"}
    assert posted(client, of(row, "skip"), body, version=9).status_code == 412
    told = posted(client, of(row, "skip"), body, version=1, key="l" * 20).json()
    assert [one["state"] for one in told["steps"]] == ["skipped", "ready", "waiting", "waiting"]


@pytest.mark.parametrize(
    ("word", "body", "code"),
    [
        ("skip", {"step": "j02", "reason": "x"}, "protects"),
        ("skip", {"step": "j99", "reason": "x"}, "unknown_step"),
        ("take_back", {"step": "j04", "reason": "x"}, "not_reached"),
        ("resume", {}, "moved"),
        ("start", {"digest": "0" * 64}, "digest_moved"),
        ("tick", {"step": "j02", "note": "x"}, "moved"),
    ],
)
def test_refusals_have_their_codes(client, ada, shop, word, body, code):
    row = a_journey(shop, state="running", author=ada, at=1)
    answer = posted(client, of(row, word), body, version=1)
    assert (answer.json()["code"], answer.status_code in (400, 409)) == (code, True)


def test_it_is_taken_back_to_a_step_that_was_looked_at_before(client, ada, shop):
    row = a_journey(shop, state="running", author=ada, at=2)
    way = client.get(of(row, "way_back"), {"to": "j01"}).json()
    assert [(one["step"], one["how"]) for one in way] == [("j03", "nothing"), ("j02", "nothing"), ("j01", "person")]
    assert client.get(of(row, "way_back"), {"to": "j99"}).json()["code"] == "unknown_step"
    assert client.get(of(row, "way_back")).status_code == 400
    body = {"step": "j01", "reason": "the dashboards are red"}
    told = posted(client, of(row, "take_back"), body, version=1, key="b" * 20).json()
    assert [one["state"] for one in told["steps"]] == ["done", "undoing", "waiting", "waiting"]
    assert (told["going_back"]["to"], told["going_back"]["reason"]) == ("j01", "the dashboards are red")


def test_a_pause_holds_what_karpenter_does_by_itself(client, ada, shop):
    row = a_journey(shop, state="running", author=ada, at=1)
    assert client.get(of(row)).json()["disruption_hold"] is None
    told = posted(client, of(row, "pause"), {"hold_disruption": True}, version=1).json()
    hold = told["disruption_hold"]
    assert (told["state"], hold["open"], hold["asked_for"], hold["by"], hold["rollout"]) == (
        "paused", True, "held", ada.username, None,
    )  # fmt: skip
    again = posted(client, of(row, "disruption"), {"asked_for": "held"}, version=told["version"], key="l" * 20)
    assert (again.status_code, again.json()["code"]) == (409, "moved")
    told = posted(client, of(row, "resume"), {}, version=told["version"], key="m" * 20).json()
    hold = told["disruption_hold"]
    assert (told["state"], hold["asked_for"], hold["resumes"]) == ("paused", "released", True)
    odd = posted(client, of(row, "disruption"), {"asked_for": "x"}, version=told["version"], key="n" * 20)
    assert odd.status_code == 400


def test_nobody_approves_over_rest(client, ada, shop):  # A42
    row = a_journey(shop, state="awaiting_approval")
    answer = posted(client, of(row, "approve"))
    assert (answer.status_code, answer.json()["code"]) == (403, "person_needed")
