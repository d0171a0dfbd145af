"""Sends notifications to services with a message format of their own: Teams, PagerDuty, Opsgenie and Jira.

Each request goes through the guarded client (K05, T03); docs/decisions/0012 says why no library does this. A message
that is sent again keeps its id, so that the service recognises it: no message becomes two incidents or issues.
"""

import base64
import hashlib
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

import msgspec

from migrations_app.clients import webhooks
from migrations_app.clients.addresses import OutboundPolicy, Resolver, ask_resolver
from migrations_app.clients.http import CallBounds, send
from migrations_app.clients.secret import Secret
from migrations_app.clients.webhooks import read_address
from migrations_app.errors import InvalidInput, InvalidResponse, ServerFailed

KEYED = ("pagerduty", "opsgenie", "jira")
"""Services that need a key besides their address."""
LONGEST_KEY = 500
MAX_SEARCH_BYTES = 262_144
PRIORITIES = {"critical": "P1", "error": "P2", "warning": "P3", "info": "P5"}
_JSON = {"Content-Type": "application/json"}
_PROJECT = re.compile(r"[A-Z][A-Z0-9_]{1,63}")
_TYPE = re.compile(r"[\w][\w .-]{0,59}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceMessage:
    """`id` is the id of its first event; `severity` is critical, error, warning or info. `again`: it is a retry."""

    id: str
    title: str
    text: str
    severity: str
    again: bool


@dataclass(frozen=True, slots=True)
class ServiceTarget:
    """Where to send: an address, and a key for the services that need one."""

    url: str
    key: Secret


@dataclass(frozen=True, slots=True)
class JiraPlace:
    """The parts of the address of a Jira channel."""

    root: str
    project: str
    kind: str


def read_target(service: str, url: str, *, key: str) -> None:
    """Raises InvalidInput for an address or a key that cannot be used; the message contains neither."""
    read_address(url)
    if service == "jira":
        jira_place(url)
    if service not in KEYED:
        if key:
            raise InvalidInput("is only for PagerDuty, Opsgenie and Jira", where="key", code="bad_key")
        return
    if not 8 <= len(key) <= LONGEST_KEY or not key.isascii() or not key.isprintable() or " " in key:
        raise InvalidInput(f"8 to {LONGEST_KEY} characters without spaces", where="key", code="bad_key")


def jira_place(url: str) -> JiraPlace:
    """The parts of `https://host/path?project=OPS&type=Task`. Raises InvalidInput."""
    parts = read_address(url)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    parameters = dict(pairs)
    is_valid = set(parameters) <= {"project", "type"} and len(parameters) == len(pairs)
    kind = parameters.get("type", "Task")
    if not is_valid or not _PROJECT.fullmatch(parameters.get("project", "")) or not _TYPE.fullmatch(kind):
        raise InvalidInput("must be https://host/?project=KEY&type=Task", where="target", code="bad_target")
    return JiraPlace(f"https://{parts.netloc}{parts.path.rstrip('/')}", parameters["project"], kind)


def post_message(
    service: str,
    target: ServiceTarget,
    *,
    message: ServiceMessage,
    reach: OutboundPolicy,
    resolver: Resolver = ask_resolver,
) -> None:
    """Sends one message; any 2xx status means received. Raises InvalidInput for the address, and ReadError."""
    if service == "jira":
        _to_jira(target, message, reach=reach, resolver=resolver)
        return
    body, headers = _BODIES[service](target, message)
    webhooks.post(target.url, msgspec.json.encode(body), headers=_JSON | headers, reach=reach, resolver=resolver)


def teams_card(_target: ServiceTarget, message: ServiceMessage) -> tuple[dict[str, Any], dict[str, str]]:
    """A message with an Adaptive Card, for the trigger "When a Teams webhook request is received".

    It uses text runs, because text blocks read Markdown, in which a name from a cluster could be a link.
    """
    lines = [_run(message.title[:400], weight="Bolder"), *(_run(line) for line in message.text[:16_000].split("\n"))]
    body = [{"type": "RichTextBlock", "inlines": [line]} for line in lines]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body[:100],
        "msteams": {"width": "Full"},
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}, {}


def pagerduty_event(target: ServiceTarget, message: ServiceMessage) -> tuple[dict[str, Any], dict[str, str]]:
    """An event of the Events API v2; events with the same `dedup_key` belong to one incident."""
    payload = {
        "summary": message.title[:1024],
        "source": "karpdash",
        "severity": message.severity,
        "custom_details": {"text": message.text[:60_000]},
    }
    event = {"routing_key": target.key.reveal(), "event_action": "trigger", "dedup_key": message.id}
    return {**event, "client": "karpdash", "payload": payload}, {}


def opsgenie_alert(target: ServiceTarget, message: ServiceMessage) -> tuple[dict[str, Any], dict[str, str]]:
    """An alert of Opsgenie or Jira Service Management; there is only one open alert with the same `alias`."""
    body = {
        "message": message.title[:130],
        "alias": message.id[:512],
        "description": message.text[:15_000],
        "source": "karpdash",
        "tags": ["karpdash"],
        "priority": PRIORITIES[message.severity],
    }
    return body, {"Authorization": f"GenieKey {target.key.reveal()}"}


_BODIES: Mapping[str, Callable[[ServiceTarget, ServiceMessage], tuple[dict[str, Any], dict[str, str]]]] = {
    "teams": teams_card,
    "pagerduty": pagerduty_event,
    "opsgenie": opsgenie_alert,
}
SERVICES = (*_BODIES, "jira")


def jira_issue(place: JiraPlace, message: ServiceMessage) -> dict[str, Any]:
    """An issue with a label of its own, by which it is found again. The text is shown as it is, without markup."""
    text = message.text[:30_000].replace("{noformat}", "{ noformat }")
    fields = {
        "project": {"key": place.project},
        "issuetype": {"name": place.kind},
        "summary": message.title[:250],
        "description": f"{{noformat}}\n{text}\n{{noformat}}",
        "labels": ["karpdash", issue_label(message.id)],
    }
    return {"fields": fields}


def issue_label(message_id: str) -> str:
    """The label of the one issue of a message."""
    return f"karpdash-{hashlib.sha256(message_id.encode()).hexdigest()[:24]}"


def _run(text: str, **style: str) -> dict[str, str]:
    return {"type": "TextRun", "text": text or " ", **style}


def _to_jira(target: ServiceTarget, message: ServiceMessage, *, reach: OutboundPolicy, resolver: Resolver) -> None:
    """Creates the issue, unless an earlier attempt did: Jira has no idempotency key."""
    place = jira_place(target.url)
    headers = _JSON | {"Authorization": _authorization(target.key)}
    bounds = CallBounds(
        server="webhook",
        reach=reach,
        ends=time.monotonic() + webhooks.TIMEOUT_SECONDS,
        most=MAX_SEARCH_BYTES,
        any_status=True,
        resolver=resolver,
    )
    if message.again and _issue_exists(place, message.id, headers=headers, bounds=bounds):
        return
    body = msgspec.json.encode(jira_issue(place, message))
    webhooks.post(f"{place.root}/rest/api/2/issue", body, headers=headers, reach=reach, resolver=resolver)


def _authorization(key: Secret) -> str:
    """Basic for `mail:token` of Jira Cloud, else Bearer for a personal access token."""
    text = key.reveal()
    return f"Basic {base64.b64encode(text.encode()).decode()}" if ":" in text else f"Bearer {text}"


def _issue_exists(place: JiraPlace, message_id: str, *, headers: Mapping[str, str], bounds: CallBounds) -> bool:
    """Whether an issue of the message exists. Jira Cloud has `search/jql`, Jira Data Center `search`."""
    search = urlencode({"jql": f'labels = "{issue_label(message_id)}"', "fields": "key", "maxResults": "1"})
    search_headers = {"User-Agent": "karpdash", **headers}
    for path in ("search/jql", "search"):
        answer = send("GET", f"{place.root}/rest/api/2/{path}?{search}", bounds=bounds, headers=search_headers)
        if answer.status not in (404, 405, 410):
            break
    if answer.status != 200:
        raise ServerFailed(f"webhook: the server answered {answer.status}", code=f"sink_{answer.status}")
    try:
        return bool(msgspec.json.decode(answer.body, type=_SearchResult).issues)
    except msgspec.MsgspecError:
        raise InvalidResponse("webhook: the answer to the search cannot be read") from None


class _SearchResult(msgspec.Struct):
    issues: list[Any]
