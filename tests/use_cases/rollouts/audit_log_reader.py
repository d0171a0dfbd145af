"""Reads the API server's audit log and compares karpdash's requests with the journal and karpdash's audit log."""

import re
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any

CHANGING = ("create", "update", "patch", "delete", "deletecollection")
_PURPOSE = re.compile(r"^karpdash/\S+ action=(\S+) step=(s\d+) attempt=(\d+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One request of karpdash that would change something, as the API server recorded it."""

    step: str
    attempt: int
    verb: str
    code: int
    audit_id: str
    at: datetime

    @property
    def took_effect(self) -> bool:
        return 200 <= self.code < 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the journal, and when its intent was recorded in karpdash's audit log."""

    step: str
    number: int
    verb: str
    outcome: str
    audit_id: str
    recorded_at: datetime | None


def requests(events: list[dict[str, Any]], *, of: str) -> list[Seen]:
    """Returns the requests of this rollout, in order, identified by their User-Agent (K16). Every changing request of
    karpdash has to name a purpose.
    """
    found = []
    for event in events:
        agent = event.get("userAgent", "")
        if event["verb"] not in CHANGING or not agent.startswith("karpdash/") or _asks(event):
            continue
        purpose = _PURPOSE.match(agent)
        assert purpose, f"a change without a purpose: {agent}"
        if purpose[1] != of:
            continue
        found.append(
            Seen(
                step=purpose[2],
                attempt=int(purpose[3]),
                verb=event["verb"],
                code=event["responseStatus"]["code"],
                audit_id=event["auditID"],
                at=datetime.fromisoformat(event["requestReceivedTimestamp"].replace("Z", "+00:00")),
            )
        )
    return found


def complaints(seen: list[Seen], lines: list[Line]) -> list[str]:
    """Returns what contradicts at most one effective application of each step, each with a prior intent (A25, R02)."""
    effects = Counter(one.step for one in seen if one.took_effect)
    sent = [line for line in lines if line.verb not in ("gate", "skip")]
    applied = {line.step for line in sent if line.outcome == "applied"}
    said = [f"{step} took effect {many} times" for step, many in effects.items() if many > 1]
    said += [f"{step} took effect and the journal does not know" for step in effects if step not in applied]
    said += [f"{step} is said to be applied and never was" for step in sorted(applied) if step not in effects]
    return said + [words for one in seen if (words := _unfounded(one, seen, sent))]


def _unfounded(one: Seen, seen: list[Seen], lines: list[Line]) -> str:
    """Returns what is wrong with the intent of this request; empty if nothing is."""
    name = f"{one.step} attempt {one.attempt}"
    line = next((line for line in lines if (line.step, line.number) == (one.step, one.attempt)), None)
    if line is None or line.recorded_at is None:
        return f"{name} has no intent"
    if line.recorded_at > one.at:
        return f"{name} was sent before its intent was recorded"
    copies = {other.audit_id for other in seen if (other.step, other.attempt) == (one.step, one.attempt)}
    return f"{name} names another request" if line.audit_id and line.audit_id not in copies else ""


def _asks(event: dict[str, Any]) -> bool:
    reference = event.get("objectRef", {})
    # Of the deletion of a custom resource this server logs no body: there our own word has to do.
    asked = {"dryRun": ["All"]} if " dry-run delete" in event["userAgent"] else {}
    body = event.get("requestObject", asked) or {}
    return (
        reference.get("resource") == "selfsubjectaccessreviews"
        or "dryRun=All" in event.get("requestURI", "")
        or body.get("dryRun") == ["All"]
    )
