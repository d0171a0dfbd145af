"""The audit log for tools: pages, filters, sparse answers, the export; its own scope and right."""

import uuid

import pytest
from django.contrib.auth.models import Permission, User

from migrations_app.audit_verify import verify
from migrations_app.models.audit import AuditEvent
from migrations_app.use_cases.audit.log import Actor
from tests.api.conftest import Tool
from tests.use_cases.audit.signed_log import write

pytestmark = pytest.mark.django_db


@pytest.fixture
def auditor(ada: User) -> Tool:
    """Ada's client with the scope of the audit log; the token itself is event 1."""
    return Tool(ada, "audit")


def numbers(answer) -> list[int]:
    return [row["seq"] for row in answer.json()["results"]]


def test_an_event_as_it_was_written(auditor):
    write(verb="policy.changed", object="all clusters", detail={"low": [0, 1], "password": "x"})
    (told, *_) = auditor("GET", "audit").json()["results"]
    row = AuditEvent.objects.get(pk=2)
    assert told["detail"] == {"low": [0, 1], "password": told["detail"]["password"]}
    assert told["detail"]["password"].startswith("hmac:")
    assert {name: value for name, value in told.items() if name != "detail"} == {
        name: getattr(row, name) for name in told if name != "detail"
    }
    assert len(told) == 19


def test_pages_lose_and_repeat_nothing(auditor):
    write(25)
    walked, address = [], "audit?limit=7"
    while address:
        answer = auditor("GET", address)
        walked += numbers(answer)
        address = answer.json()["next"]
    assert walked == list(range(26, 0, -1))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("verb=rollout", [3, 2]),
        ("verb=rollout.approved&actor=bob", [3]),
        (f"cluster={uuid.UUID(int=7)}", [2]),
        ("correlation=r-1", [2]),
        ("plan=ddd", [3]),
        ("text=blue", [3]),
        ("outcome=refused", [3]),
        ("until=2020-01-01T00:00:00Z", []),
        ("since=2020-01-01T00:00:00Z&verb=token", [1]),
    ],
)
def test_filters(auditor, query, expected):
    write(verb="rollout.running", cluster_id=str(uuid.UUID(int=7)), correlation="r-1")
    write(verb="rollout.approved", actor=Actor(name="bob"), plan_digest="d" * 64, object="Blue", outcome="refused")
    assert numbers(auditor("GET", f"audit?{query}")) == expected


def test_sparse_answers(auditor):
    write()
    assert auditor("GET", "audit?fields=seq,verb").json()["results"] == [
        {"seq": 2, "verb": "test.done"}, {"seq": 1, "verb": "token.made"},
    ]  # fmt: skip
    answer = auditor("GET", "audit?fields=seq,nonsense")
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_input")


@pytest.mark.parametrize("query", ["colour=red", "since=yesterday", "cluster=shop", "limit=501", "actor=%00"])
def test_what_is_no_filter_is_refused(auditor, query):
    assert auditor("GET", f"audit?{query}").status_code == 400


def test_the_export_can_be_proven(auditor):  # A54
    write(30)
    answer = auditor("GET", "audit/export")
    lines = b"".join(answer.streaming_content).splitlines(keepends=True)
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/x-ndjson")
    assert verify(lines).events == 31
    part = b"".join(auditor("GET", "audit/export?first=5&last=9").streaming_content).splitlines(keepends=True)
    assert part == lines[4:9]


@pytest.mark.parametrize("path", ["audit", "audit/export", "audit/"])
def test_scope_and_right_are_both_needed(api, ben, path):  # T13
    assert api("GET", path).json()["detail"] == "the token lacks the scope audit"
    reader = Tool(ben, "audit")
    assert reader("GET", path).json()["detail"] == "the account lacks the permission view_auditevent"
    ben.user_permissions.add(Permission.objects.get(codename="view_auditevent"))
    assert reader("GET", path).status_code == 200


def test_nothing_but_reading_is_served(auditor):
    for method in ("POST", "PATCH", "DELETE", "PUT"):
        assert auditor(method, "audit", {}).status_code == 405


def test_what_the_api_changes_is_recorded_with_token_and_request(api, ada):
    made = api("POST", "tokens", {"name": "ci", "scopes": ["read"], "days": 7}, x_request_id="req-77")
    event = AuditEvent.objects.get(object="ci")
    assert (event.verb, event.actor, event.method, event.correlation) == ("token.made", "ada", "token", "req-77")
    assert (len(event.token_id), event.address) == (32, "127.0.0.1")
    secret = made.json()["secret"]
    assert secret not in "".join(AuditEvent.objects.values_list("detail", flat=True))
    api("DELETE", made["Location"], if_match=made["ETag"])
    assert AuditEvent.objects.order_by("-seq").first().verb == "token.revoked"
