"""The events of clusters and rollouts that channels may receive: their titles, severity, text, and which of them
merge."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from migrations_app.manifests.text_lines import one_line
from migrations_app.redaction import replace_secrets

EventFacts: TypeAlias = Mapping[str, Any]
"""A CloudEvent: `id`, `type`, `subject`, `time` and `data`."""

TITLES: Mapping[str, str] = {
    "scan.failed": "Scans fail",
    "scan.recovered": "Scans recovered",
    "hop.verdict_changed": "Verdict changed",
    "check.new_blocker": "New blocker",
    "plan.approval_requested": "Approval requested",
    "rollout.paused": "Rollout paused",
    "rollout.needs_attention": "Rollout needs attention",
    "rollout.failed": "Rollout failed",
    "rollout.completed": "Rollout done",
    "rollout.break_glass": "Approved by one person alone",
    "journey.approval_requested": "Approval of an upgrade wanted",
    "journey.needs_person": "Upgrade needs a person",
    "journey.paused": "Upgrade stopped",
    "journey.completed": "Upgrade done",
    "campaign.approval_requested": "Approval of a campaign wanted",
    "campaign.needs_person": "Campaign needs a person",
    "campaign.paused": "Campaign stopped",
    "campaign.completed": "Campaign done",
    "waiver.expiring": "Waiver ends soon",
    "waiver.ended": "Waiver ended",
    "kill_switch.on": "All changes are stopped",
    "kill_switch.off": "Kill switch turned off",
}
TEST = "karpdash.test"
EVENTS: tuple[str, ...] = tuple(TITLES)
"""The types of events that a channel may subscribe to."""
URGENT = frozenset(
    {"plan.approval_requested", "rollout.paused", "rollout.needs_attention", "rollout.failed", "rollout.break_glass",
     "journey.approval_requested", "journey.needs_person", "journey.paused", "campaign.approval_requested",
     "campaign.needs_person", "campaign.paused", "kill_switch.on", "kill_switch.off", TEST}
)  # fmt: skip
"""Types that are sent at once, without waiting for more events to merge: a person has to act."""
TO_PEOPLE = frozenset({"rollout.break_glass", "kill_switch.on"})
"""Types that every approver and administrator receives, whatever channels there are (A45)."""
CRITICAL = frozenset({"rollout.needs_attention", "rollout.failed", "rollout.break_glass", "kill_switch.on"})
GOOD = frozenset({"scan.recovered", "rollout.completed", "journey.completed", "campaign.completed", "kill_switch.off",
                  "waiver.ended", TEST})  # fmt: skip
"""Types that are good news: severity info."""
MAX_NAMED = 5
"""How many subjects of one type a text names; the others are counted."""
LONGEST_LINE = 600
_MERGE_SUBJECTS = {"scan.failed": "scan", "scan.recovered": "scan", "hop.verdict_changed": "verdict",
            "check.new_blocker": "blocker"}  # fmt: skip
"""By type, what events of it are about; two events about the same thing of one cluster may merge."""


def merge_key(event: EventFacts) -> str:
    """Returns what the event is about; two events with the same key may become one. Empty if it never merges."""
    kind = _MERGE_SUBJECTS.get(event["type"], "")
    return f"{kind}:{event['data'].get('cluster', '')}" if kind else ""


def merged(waiting: EventFacts, newer: EventFacts) -> EventFacts | None:
    """Returns one event for two with the same key; None if the newer one brings back the state before the waiting
    one."""
    waiting_data, newer_data = waiting["data"], newer["data"]
    if waiting["type"] != newer["type"]:
        return None
    if newer["type"] == "hop.verdict_changed":
        before = {"was": waiting_data.get("was"), "was_hop": waiting_data.get("was_hop")}
        is_back = (newer_data.get("hop"), newer_data.get("verdict")) == (before["was_hop"], before["was"])
        return None if is_back else {**newer, "data": {**newer_data, **before}}
    if newer["type"] == "check.new_blocker":
        checks = sorted({*waiting_data.get("checks", ()), *newer_data.get("checks", ())})
        return {**newer, "data": {**newer_data, "checks": checks}}
    return newer


def text_of(events: Sequence[EventFacts]) -> str:
    """Returns the events as text, one line each; many of one type become one line with their number."""
    return "\n".join(line for kind in dict.fromkeys(event["type"] for event in events) for line in _lines(kind, events))


def severity_of(events: Iterable[EventFacts]) -> str:
    """Returns critical, error, warning or info: the severity of the worst event."""
    kinds = {event["type"] for event in events}
    if kinds & CRITICAL:
        return "critical"
    if kinds & (URGENT - GOOD):
        return "error"
    return "info" if kinds <= GOOD else "warning"


def headline(events: Sequence[EventFacts]) -> str:
    """Returns one line about all events, for the subject of a mail."""
    first = events[0]
    kinds = tuple(dict.fromkeys(event["type"] for event in events))
    if len(kinds) > 1:
        return _line(f"{_title(first['type'])} and {len(events) - 1} more")
    many = f"{len(events)} clusters" if _by_cluster(events) else str(len(events))
    return _line(f"{_title(first['type'])}: {first['subject'] if len(events) == 1 else many}")


def _lines(kind: str, events: Iterable[EventFacts]) -> list[str]:
    events_of_type = [event for event in events if event["type"] == kind]
    if len(events_of_type) <= MAX_NAMED:
        return [_line(f"{_title(kind)}: {event['subject']} {_detail(event)}") for event in events_of_type]
    names = list(dict.fromkeys(event["subject"] for event in events_of_type))
    rest = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    count = f"{len(names)} clusters" if _by_cluster(events_of_type) else f"{len(events_of_type)} times"
    return [_line(f"{_title(kind)}: {count}: {', '.join(names[:MAX_NAMED])}{rest}")]


def _by_cluster(events: Iterable[EventFacts]) -> bool:
    return all(event["data"].get("cluster") for event in events)


def _title(kind: str) -> str:
    return TITLES.get(kind, "A test of this channel")


_WORDS = ("verdict", "was", "hop", "checks", "code", "title", "why", "by", "check", "owner", "ends_at", "url")


def _detail(event: EventFacts) -> str:
    data = event["data"]
    pairs = [(name, data[name]) for name in _WORDS if data.get(name)]
    texts = [f"{name} {', '.join(map(str, value)) if isinstance(value, list) else value}" for name, value in pairs]
    return f"({'; '.join(texts)})" if texts else ""


def _line(text: str) -> str:
    """Returns the text on one line without control characters and secrets, whatever names a cluster has."""
    return " ".join(one_line(replace_secrets(text)).split())[:LONGEST_LINE]
