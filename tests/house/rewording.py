"""Replaces every sentence of a scan by another one, to show that decisions, groups and remedies do not depend on
sentences.
"""

import hashlib
import re
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import fields, replace
from functools import partial
from typing import Any
from unittest import mock

import msgspec

from migrations_app.checks import runner
from migrations_app.checks.base import Check, Evidence, LowerBound, ManualCheck, NotApplicable, Remedy, Unknown
from migrations_app.checks.registry import all_checks
from migrations_app.collect.collect import CollectResult
from migrations_app.inventory.parts import NOT_ASKED, Seen, Unseen
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.next_step import group_findings
from migrations_app.readiness.report import Report
from migrations_app.readiness.runbook.runbook import runbook

REWORDED = "otherwise said"
_COMMENT = re.compile(r"(^|\s+)#(\s.*)?$")


def other(text: str) -> str:
    """Returns another sentence; equal ones stay equal, and no piece of the old one is left."""
    return f"{REWORDED} {hashlib.sha256(text.encode()).hexdigest()[:8]}" if text else ""


def reworded(collected: CollectResult) -> Report:
    """Returns the report of a scan in which all sentences of checks and of unread parts are replaced."""
    with ExitStack() as stack:
        for name, runner_text in _RUNNER_TEXTS.items():
            stack.enter_context(mock.patch.object(runner, name, partial(_reworded_text, runner_text)))
        return evaluate(_unread(collected), checks=tuple(map(_check, all_checks()))).report


_RUNNER_TEXTS = {name: getattr(runner, name) for name in ("could_not_read", "reported_at", "recreated_at")}


def _reworded_text(runner_text: Callable[..., Any], *told: Any) -> Any:
    return _word(runner_text(*told))


def _check(check: Check) -> Check:
    judge = check._judge
    assert judge is not None
    return replace(
        check,
        title=other(check.title),
        says=(other(check.says[0]), other(check.says[1])),
        _judge=lambda case: [_word(word) for word in judge(case)],
    )


def _word(word: Any) -> Any:
    match word:
        case Evidence():
            return msgspec.structs.replace(word, seen=other(word.seen), wanted=other(word.wanted))
        case Unknown() | NotApplicable() | ManualCheck() | LowerBound():
            return msgspec.structs.replace(word, detail=other(word.detail))
    return word


def _unread(collected: CollectResult) -> CollectResult:
    """Returns the scan with other sentences about unread parts, in the inventory and in the lines about its parts."""
    inventory = collected.inventory
    parts = {one.name: _part(getattr(inventory, one.name)) for one in fields(inventory) if one.init}
    aws = {one.name: _part(getattr(inventory.aws, one.name)) for one in fields(inventory.aws) if one.init}
    parts["aws"] = replace(inventory.aws, **aws)
    lines = tuple(msgspec.structs.replace(line, detail=other(line.detail)) for line in collected.parts)
    return CollectResult(replace(inventory, **parts), lines)


def _part(part: Any) -> Any:
    if isinstance(part, Unseen) and part != NOT_ASKED:
        return replace(part, detail=other(part.detail))
    if isinstance(part, Seen):
        return replace(part, quarantined=tuple(replace(bad, why=other(bad.why)) for bad in part.quarantined))
    return part


def decided(report: Report) -> dict[str, Any]:
    """Returns all of a report but its sentences: verdicts, findings, groups, stages, and the commands of remedies."""
    found = [
        (one.hop, one.id, one.status, one.severity, one.evidence_total, one.evidence_exact, one.reason, _places(one))
        for one in report.checks
    ]
    return {
        "hops": [(line.hop, line.verdict, line.done_percent, line.counts) for line in report.hops],
        "findings": found,
        "remedies": [(one.hop, one.id, _commands(one.remedies)) for one in report.checks],
        "groups": [_groups(report, line.hop) for line in report.hops],
        "stages": [[stage.checks for stage in hop.stages] for hop in runbook(report).hops],
        "next": [(hop.next.safe, hop.next.check, hop.next.others) for hop in runbook(report).hops],
        "forbidden": [line.name for line in report.parts if line.partly_forbidden],
        "path": [step.release for step in report.target.path],
    }


def _places(finding: Any) -> list[tuple[str, str, str, str, int]]:
    return [(row.kind, row.namespace, row.name, row.path, row.count) for row in finding.evidence]


def _groups(report: Report, hop: str) -> list[Any]:
    asked = [one for one in report.checks if one.hop == hop]
    every = group_findings(asked, cluster=report.cluster.name)
    return [
        (group.cause.part, group.cause.why, [one.id for one in group.findings], _commands(group.remedies))
        for group in every
    ]


def _commands(remedies: tuple[Remedy, ...]) -> list[tuple[str, str, list[str]]]:
    """Returns the commands or files of each remedy, without comments, which are sentences."""
    lines = [(one, [_COMMENT.sub("", line) for line in one.text.split("\n")]) for one in remedies]
    return [(one.how, one.action, [line for line in kept if line]) for one, kept in lines]
