"""Reads reports of this and earlier versions from the database, and splits old ones so that shared texts are stored
once."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from migrations_app.readiness.report import Report

SHARED = ("id", "phase", "title", "why", "sources")
"""Fields of a finding that come from the catalogue: half of a report, and equal in all reports of one karpdash
version."""
NOTHING_SHARED = b"[]"
Answers = Mapping[tuple[str, str], str]
"""The status of each finding, by check and hop."""


class SplitReport(NamedTuple):
    """A report as JSON in two parts: `texts` has each combination of the shared fields once; in `rest` the id of a
    finding is the index of its own there. Both are JSON; with empty texts `rest` is the whole report."""

    rest: bytes
    texts: bytes


class _Answer(msgspec.Struct, frozen=True):
    id: str
    hop: str
    status: str


class _Answers(msgspec.Struct, frozen=True):
    checks: tuple[_Answer, ...]


def read_report(text: bytes) -> Report:
    """Returns the report. In old ones a change can only be one of Helm values, without a type.

    Raises msgspec.ValidationError if the text is no report.
    """
    try:
        return msgspec.json.decode(text, type=Report)
    except msgspec.ValidationError:
        plain = msgspec.json.decode(text)
    for finding in plain.get("checks", ()) if isinstance(plain, dict) else ():
        for remedy in finding.get("remedies", ()):
            change = remedy.get("change")
            if isinstance(change, dict):
                change.setdefault("type", "helm")
    return msgspec.convert(plain, Report)


def split_report(text: bytes) -> SplitReport:
    """Returns both parts; a report that could not be joined again byte for byte stays whole.

    Raises msgspec.DecodeError if the text is no JSON.
    """
    plain = msgspec.json.decode(text)
    findings: Any = plain.get("checks") if isinstance(plain, dict) else None
    if not isinstance(findings, list) or not all(isinstance(row, dict) and {*SHARED} <= {*row} for row in findings):
        return SplitReport(text, NOTHING_SHARED)
    places: dict[bytes, int] = {}
    for finding in findings:
        words = msgspec.json.encode([finding[name] for name in SHARED])
        finding |= dict.fromkeys(SHARED)
        finding["id"] = places.setdefault(words, len(places))
    texts = msgspec.json.encode([msgspec.Raw(words) for words in places])
    split = SplitReport(msgspec.json.encode(plain), texts)
    return split if whole_report(split) == text else SplitReport(text, NOTHING_SHARED)


def whole_report(halves: SplitReport) -> bytes:
    """Returns the JSON of the report before it was split."""
    texts: list[list[Any]] = msgspec.json.decode(halves.texts)
    if not texts:
        return halves.rest
    plain = msgspec.json.decode(halves.rest)
    for finding in plain["checks"]:
        finding |= zip(SHARED, texts[finding["id"]], strict=True)
    return msgspec.json.encode(plain)


def answers_of(text: bytes) -> Answers:
    """Returns the status of each finding, before waivers; reads nothing else. Raises msgspec.DecodeError."""
    checks = msgspec.json.decode(text, type=_Answers).checks
    return {(finding.id, finding.hop): finding.status for finding in checks}


def answers_as_text(answers: Answers) -> bytes:
    return msgspec.json.encode([(*key, status) for key, status in answers.items()])


def answers_from(text: bytes) -> Answers:
    """Returns the answers that `answers_as_text` wrote."""
    lines = msgspec.json.decode(text, type=tuple[tuple[str, str, str], ...])
    return {(check, hop): status for check, hop, status in lines}
