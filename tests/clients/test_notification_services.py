"""Messages for Teams, PagerDuty, Opsgenie and Jira: as their documents ask, whatever a cluster calls its things."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from migrations_app.clients.addresses import OutboundPolicy
from migrations_app.clients.notification_services import (
    KEYED,
    SERVICES,
    ServiceMessage,
    ServiceTarget,
    jira_issue,
    jira_place,
    opsgenie_alert,
    pagerduty_event,
    post_message,
    read_target,
    teams_card,
)
from migrations_app.clients.secret import Secret
from migrations_app.errors import AddressRefused, InvalidInput, ReadError
from tests.trust.addresses import INSIDE_4, INSIDE_6, as_the_system_does, spelling

TEXT = {"type": "string"}


def _object(needed: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An object of these fields and no others."""
    fields = needed | more
    return {"type": "object", "properties": fields, "required": list(needed), "additionalProperties": False}


def _text(longest: int) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": longest}


# As the services' public documents have it: Adaptive Cards 1.4 in a message, Events API v2, Create Alert, Create issue.
RUN = _object({"type": {"const": "TextRun"}, "text": _text(20_000)}, weight={"enum": ["Bolder"]})
CARD = _object(
    {
        "$schema": TEXT,
        "type": {"const": "AdaptiveCard"},
        "version": {"const": "1.4"},
        "body": {
            "type": "array",
            "minItems": 1,
            "items": _object(
                {"type": {"const": "RichTextBlock"}, "inlines": {"type": "array", "items": RUN, "minItems": 1}}
            ),
        },
        "msteams": _object({"width": {"const": "Full"}}),
    }
)
ATTACHED = _object({"contentType": {"const": "application/vnd.microsoft.card.adaptive"}, "contentUrl": {"type": "null"},
                    "content": CARD})  # fmt: skip
SCHEMAS = {
    "teams": _object(
        {
            "type": {"const": "message"},
            "attachments": {"type": "array", "items": ATTACHED, "minItems": 1, "maxItems": 1},
        }
    ),
    "pagerduty": _object(
        {
            "routing_key": {"type": "string", "pattern": "^[0-9a-z]{32}$"},
            "event_action": {"enum": ["trigger", "acknowledge", "resolve"]},
            "dedup_key": _text(255),
            "client": TEXT,
            "payload": _object(
                {
                    "summary": _text(1024),
                    "source": TEXT,
                    "severity": {"enum": ["critical", "error", "warning", "info"]},
                    "custom_details": {"type": "object"},
                }
            ),
        }
    ),
    "opsgenie": _object(
        {
            "message": _text(130),
            "alias": _text(512),
            "description": _text(15_000),
            "source": _text(100),
            "tags": {"type": "array", "items": _text(50), "maxItems": 20},
            "priority": {"enum": ["P1", "P2", "P3", "P4", "P5"]},
        }
    ),
    "jira": _object(
        {
            "fields": _object(
                {
                    "project": _object({"key": _text(64)}),
                    "issuetype": _object({"name": _text(60)}),
                    "summary": {"type": "string", "minLength": 1, "maxLength": 254, "pattern": "^[^\n\r]*$"},
                    "description": _text(32_767),
                    "labels": {"type": "array", "items": {"type": "string", "pattern": "^[^ ]{1,255}$"}},
                }
            )
        }
    ),
}
KEY = "0123456789abcdef0123456789abcdef"
TARGET = ServiceTarget("https://jira.example/?project=OPS&type=Task", Secret(KEY))
LARGEST = {"teams": 28_000, "pagerduty": 512_000}
"""Bytes of a whole message that the service takes."""


def _message(**told: Any) -> ServiceMessage:
    usual = {
        "id": "e-1",
        "title": "Scans fail: shop",
        "text": "Scans fail: shop",
        "severity": "warning",
        "again": False,
    }
    return ServiceMessage(**usual | told)


def _body(service: str, message: ServiceMessage) -> dict[str, Any]:
    if service == "jira":
        return jira_issue(jira_place(TARGET.url), message)
    makers: dict[str, Callable[..., Any]] = {
        "teams": teams_card, "pagerduty": pagerduty_event, "opsgenie": opsgenie_alert,
    }  # fmt: skip
    return makers[service](TARGET, message)[0]


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize(
    "told",
    [
        {},
        {"severity": "critical", "again": True},
        {"title": "x" * 600, "text": "\n".join(["y" * 600] * 1000)},
        {
            "title": "[click](https://evil.example) <at>all</at> {noformat} *b*",
            "text": "{noformat}{color:red} @all\n\n-",
        },
        {"id": "x" * 80},
    ],
)
def test_every_message_is_one_that_the_service_takes(service: str, told: dict[str, Any]) -> None:
    body = _body(service, _message(**told))
    assert [one.message for one in Draft202012Validator(SCHEMAS[service]).iter_errors(body)] == []
    assert len(json.dumps(body).encode()) <= LARGEST.get(service, 60_000)


def test_the_judges_of_this_test_refuse_what_is_wrong() -> None:
    for service in SERVICES:
        assert list(Draft202012Validator(SCHEMAS[service]).iter_errors(_body(service, _message()) | {"more": 1}))


def test_names_from_clusters_are_text_and_nothing_else() -> None:
    hostile = "[click](https://evil.example) <at>all</at>"
    card = _body("teams", _message(title=hostile, text=hostile))["attachments"][0]["content"]
    assert {(block["type"], run["type"]) for block in card["body"] for run in block["inlines"]} == {
        ("RichTextBlock", "TextRun")
    }  # neither reads Markdown
    issue = _body("jira", _message(text="a {noformat} *b*"))["fields"]
    assert issue["description"].count("{noformat}") == 2


@pytest.mark.parametrize(
    ("service", "url", "key", "where"),
    [
        ("teams", "https://x.example/hook", "surplus-key", "key"),
        ("pagerduty", "https://x.example/v2/enqueue", "", "key"),
        ("opsgenie", "https://x.example/v2/alerts", "has a space in it", "key"),
        ("opsgenie", "https://x.example/v2/alerts", "line\r\nbreak-of-header", "key"),
        ("jira", "https://x.example/?project=OPS", "x" * 501, "key"),
        ("jira", "https://x.example/", KEY, "target"),
        ("jira", "https://x.example/?project=ops", KEY, "target"),
        ("jira", "https://x.example/?project=OPS&project=B", KEY, "target"),
        ("jira", "https://x.example/?project=OPS&jql=1", KEY, "target"),
        ("jira", "https://x.example/?project=OPS&type=%22", KEY, "target"),
        ("jira", "http://x.example/?project=OPS", KEY, "target"),
        ("pagerduty", "https://user@x.example/", KEY, "target"),
    ],
)
def test_addresses_and_keys_that_cannot_be_used_are_refused_without_being_told(
    service: str, url: str, key: str, where: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_target(service, url, key=key)
    assert (refused.value.where, "x.example" in str(refused.value), key not in str(refused.value) or not key) == (
        where, False, True,
    )  # fmt: skip


@pytest.mark.parametrize("service", SERVICES)
def test_no_spelling_leads_to_this_machine_or_to_a_metadata_service(service: str) -> None:  # T03, K05
    dice = random.Random(18)
    reach, ends = OutboundPolicy(), {"refused": 0, "no url": 0}
    for _ in range(300):
        url = spelling(dice)
        given = f"{url.removesuffix('?a=b')}?project=OPS" if service == "jira" else url
        message = _message(again=dice.random() < 0.5)
        target = ServiceTarget(given, Secret(KEY))
        try:
            post_message(service, target, message=message, reach=reach, resolver=as_the_system_does)
        except AddressRefused:
            ends["refused"] += 1
        except (InvalidInput, ReadError):
            ends["no url"] += 1
        else:
            pytest.fail(f"{given} was reached")
    for host in (*INSIDE_4, *(f"[{one}]" for one in INSIDE_6)):
        target = ServiceTarget(f"https://{host}/?project=OPS", Secret(KEY))
        with pytest.raises(AddressRefused):
            post_message(service, target, message=_message(), reach=reach, resolver=as_the_system_does)
    assert all(count > 5 for count in ends.values()), ends


def test_services_with_a_key_are_services() -> None:
    assert set(KEYED) < set(SERVICES)
