"""News about clusters and rollouts, as values: what may be told, what tells of the same matter, and in which words."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from migrations_app.redaction import replace

Event: TypeAlias = Mapping[str, Any]
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
    "kill_switch.off": "Kill switch lifted",
}
TEST = "karpdash.test"
EVENTS: tuple[str, ...] = tuple(TITLES)
"""What a channel may ask for."""
URGENT = frozenset(
    {"plan.approval_requested", "rollout.paused", "rollout.needs_attention", "rollout.failed", "rollout.break_glass",
     "journey.approval_requested", "journey.needs_person", "journey.paused", "campaign.approval_requested",
     "campaign.needs_person", "campaign.paused", "kill_switch.on", "kill_switch.off", TEST}
)  # fmt: skip
"""What waits for no more of it: somebody has to do something."""
TO_PEOPLE = frozenset({"rollout.break_glass", "kill_switch.on"})
"""What everybody who approves or administers is told, whatever channels there are (A45)."""
CRITICAL = frozenset({"rollout.needs_attention", "rollout.failed", "rollout.break_glass", "kill_switch.on"})
GOOD = frozenset({"scan.recovered", "rollout.completed", "journey.completed", "campaign.completed", "kill_switch.off",
                  "waiver.ended", TEST})  # fmt: skip
"""What wakes nobody."""
NAMED = 5
"""So many subjects of a kind are named in a text; the rest is counted."""
LONGEST_LINE = 600
_MATTERS = {"scan.failed": "scan", "scan.recovered": "scan", "hop.verdict_changed": "verdict",
            "check.new_blocker": "blocker"}  # fmt: skip


def merge_key(event: Event) -> str:
    """What the event is about: two of the same matter may become one; empty for what stands alone."""
    kind = _MATTERS.get(event["type"], "")
    return f"{kind}:{event['data'].get('cluster', '')}" if kind else ""


def merged(waiting: Event, newer: Event) -> Event | None:
    """One event instead of two of the same matter; None when the two together are no news: back where it was."""
    old, new = waiting["data"], newer["data"]
    if waiting["type"] != newer["type"]:
        return None
    if newer["type"] == "hop.verdict_changed":
        before = {"was": old.get("was"), "was_hop": old.get("was_hop")}
        same = (new.get("hop"), new.get("verdict")) == (before["was_hop"], before["was"])
        return None if same else {**newer, "data": {**new, **before}}
    if newer["type"] == "check.new_blocker":
        checks = sorted({*old.get("checks", ()), *new.get("checks", ())})
        return {**newer, "data": {**new, "checks": checks}}
    return newer


def text_of(events: Sequence[Event]) -> str:
    """The events for people, one line each; many of one kind become one line that counts them."""
    return "\n".join(line for kind in dict.fromkeys(event["type"] for event in events) for line in _lines(kind, events))


def severity_of(events: Iterable[Event]) -> str:
    """critical, error, warning or info: that of the worst of the events."""
    kinds = {event["type"] for event in events}
    if kinds & CRITICAL:
        return "critical"
    if kinds & (URGENT - GOOD):
        return "error"
    return "info" if kinds <= GOOD else "warning"


def headline(events: Sequence[Event]) -> str:
    """One line that says what a message is about, for the subject of a mail."""
    first = events[0]
    kinds = tuple(dict.fromkeys(event["type"] for event in events))
    if len(kinds) > 1:
        return _line(f"{_title(first['type'])} and {len(events) - 1} more")
    many = f"{len(events)} clusters" if _by_cluster(events) else str(len(events))
    return _line(f"{_title(first['type'])}: {first['subject'] if len(events) == 1 else many}")


def _lines(kind: str, events: Iterable[Event]) -> list[str]:
    these = [event for event in events if event["type"] == kind]
    if len(these) <= NAMED:
        return [_line(f"{_title(kind)}: {event['subject']} {_detail(event)}") for event in these]
    names = list(dict.fromkeys(event["subject"] for event in these))
    rest = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    count = f"{len(names)} clusters" if _by_cluster(these) else f"{len(these)} times"
    return [_line(f"{_title(kind)}: {count}: {', '.join(names[:NAMED])}{rest}")]


def _by_cluster(events: Iterable[Event]) -> bool:
    return all(event["data"].get("cluster") for event in events)


def _title(kind: str) -> str:
    return TITLES.get(kind, "A test of this channel")


_WORDS = ("verdict", "was", "hop", "checks", "code", "title", "why", "by", "check", "owner", "ends_at", "url")


def _detail(event: Event) -> str:
    data = event["data"]
    pairs = [(name, data[name]) for name in _WORDS if data.get(name)]
    texts = [f"{name} {', '.join(map(str, value)) if isinstance(value, list) else value}" for name, value in pairs]
    return f"({'; '.join(texts)})" if texts else ""


def _line(text: str) -> str:
    """One line of plain characters, without secrets, whatever a cluster called its things."""
    plain = "".join(sign if sign.isprintable() else " " for sign in replace(text))
    return " ".join(plain.split())[:LONGEST_LINE]
