"""Idempotency-Key: done once, answered twice (A11)."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from migrations_app.models.account import ApiIdempotency, ApiToken
from migrations_app.use_cases.runtime import idempotency
from tests.api.conftest import Tool

BODY = {"name": "ci", "scopes": ["read"]}


def test_the_second_request_gets_the_first_ones_answer(api: Tool) -> None:
    first, second = (api("POST", "tokens", BODY, idempotency_key="k-1") for _ in range(2))
    assert (first.status_code, "Idempotency-Replayed" in first, second["Idempotency-Replayed"]) == (201, False, "true")
    for name in ("Location", "ETag"):
        assert second[name] == first[name]
    once = first.json() | {"secret": ""}  # a secret is shown once
    assert (second.status_code, second.json(), ApiToken.objects.filter(name="ci").count()) == (201, once, 1)


def test_the_order_of_fields_does_not_matter(api: Tool) -> None:
    first = api("POST", "tokens", BODY, idempotency_key="k-1")
    again = api("POST", "tokens", dict(reversed(BODY.items())), idempotency_key="k-1")
    assert (again.json(), again["Idempotency-Replayed"]) == (first.json() | {"secret": ""}, "true")


def test_the_secret_is_not_kept_in_clear(api: Tool) -> None:
    secret = api("POST", "tokens", BODY, idempotency_key="k-1").json()["secret"]
    assert secret.encode() not in bytes(ApiIdempotency.objects.get().sealed or b"")


@pytest.mark.parametrize(("path", "body"), [("tokens", BODY | {"days": 2}), ("clusters", BODY)])
def test_another_request_under_the_key_is_refused(api: Tool, path: str, body: Any) -> None:
    api("POST", "tokens", BODY, idempotency_key="k-1")
    said = api("POST", path, body, idempotency_key="k-1")
    assert (said.status_code, said.json()["code"]) == (422, "key_reused")


def test_another_query_under_the_key_is_another_request(api: Tool) -> None:
    api("POST", "tokens?a=1&b=2", BODY, idempotency_key="k-1")
    said = api("POST", "tokens?a=2&b=2", BODY, idempotency_key="k-1")
    assert (said.status_code, said.json()["code"]) == (422, "key_reused")
    assert "Idempotency-Replayed" in api("POST", "tokens?b=2&a=1", BODY, idempotency_key="k-1")


def test_keys_are_ones_own(api: Tool, cleo: User) -> None:
    api("POST", "tokens", BODY, idempotency_key="k-1")
    assert "Idempotency-Replayed" not in Tool(cleo)("POST", "tokens", BODY, idempotency_key="k-1")


def test_a_refused_request_may_be_corrected(api: Tool) -> None:
    assert api("POST", "tokens", BODY | {"days": 91}, idempotency_key="k-1").status_code == 400
    assert api("POST", "tokens", BODY, idempotency_key="k-1").status_code == 201


def test_while_the_first_is_under_way_the_second_waits(api: Tool, ada: User) -> None:
    first = api("POST", "tokens", BODY, idempotency_key="k-1")
    ApiIdempotency.objects.update(sealed=None, status=None)
    said = api("POST", "tokens", BODY, idempotency_key="k-1")
    assert (first.status_code, said.status_code, said.json()["code"]) == (201, 409, "in_progress")


def test_an_abandoned_request_may_be_sent_again(api: Tool) -> None:
    api("POST", "tokens", BODY, idempotency_key="k-1")
    row = ApiIdempotency.objects.get()
    ApiIdempotency.objects.update(sealed=None, status=None, created_at=row.created_at - idempotency.REQUEST_LOST_AFTER)
    assert "Idempotency-Replayed" not in api("POST", "tokens", BODY, idempotency_key="k-1")


def test_answers_are_forgotten_after_a_day(api: Tool) -> None:
    api("POST", "tokens", BODY, idempotency_key="k-1")
    row = ApiIdempotency.objects.get()
    ApiIdempotency.objects.update(created_at=row.created_at - idempotency.RESPONSE_LIFETIME)
    assert "Idempotency-Replayed" not in api("POST", "tokens", BODY, idempotency_key="k-1")
    assert ApiIdempotency.objects.count() == 1


@pytest.mark.parametrize("key", ["", "x" * 129, "a b"])
def test_a_key_that_is_none(api: Tool, key: str) -> None:
    said = api("POST", "tokens", BODY, idempotency_key=key)
    assert (said.status_code, ApiIdempotency.objects.count()) == (400, 0)


CHANNEL = {"name": "ops", "kind": "webhook", "target": "https://hooks.example/x", "events": ["scan.failed"]}


def test_every_secret_is_shown_once_and_by_no_replay(api: Tool) -> None:
    """One policy for what is made once: tokens and secrets of channels. accounts/test_people.py has passwords."""
    made = api("POST", "channels", CHANNEL)
    program = api("POST", "service-accounts", {"name": "ci", "role": "viewer", "everywhere": True, "scopes": ["read"]})
    asked = {"tokens": BODY, "channels": CHANNEL | {"name": "night"}, f"{made['Location']}/secret": {}}
    asked[f"{program['Location']}/tokens"] = BODY | {"days": None}
    far = api("POST", "clusters", {"name": "far", "source": "agent"}).json()["id"]
    asked[f"clusters/{far}/agent"] = {}
    for number, (path, body) in enumerate(asked.items()):
        first, second = (api("POST", path, body, idempotency_key=f"k-{number}") for _ in range(2))
        assert (first.status_code, first.json()["secret"] != "", second["Idempotency-Replayed"]) == (201, True, "true")
        assert second.json() == first.json() | {"secret": ""}, path


def test_whoever_can_answer_with_a_secret_is_replayed_without_it(api: Tool) -> None:
    """An endpoint of tomorrow that shows a secret is found by the published document."""
    document = api("GET", "schema/?format=json").json()
    showing = {
        (path.removeprefix("/api/v1/"), method)
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if "responses" in operation and "secret" in _fields(operation, document)
    }
    assert showing == {
        ("tokens", "post"), ("channels", "post"), ("channels/{id}/secret", "post"), ("people", "post"),
        ("service-accounts/{id}/tokens", "post"), ("clusters/{id}/agent", "post"),
    }  # fmt: skip


def _fields(operation: dict[str, Any], document: dict[str, Any]) -> set[str]:
    """Names of the fields of the answers that say it was done."""
    found: set[str] = set()
    for status, answer in operation["responses"].items():
        for content in answer.get("content", {}).values() if status.startswith("2") else ():
            name = content["schema"].get("$ref", "").rpartition("/")[2]
            found |= set(document["components"]["schemas"].get(name, content["schema"]).get("properties", {}))
    return found
