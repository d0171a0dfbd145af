"""Writes the catalogue of checks and the coverage as Markdown pages, generated from the checks and tables
themselves."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from migrations_app.checks.base import PHASES, Check, Phase
from migrations_app.checks.registry import RETIRED, CheckDescription, Retired, describe, hops_text, severities
from migrations_app.karpenter.coverage.entries import counted
from migrations_app.karpenter.coverage.entry import CAUSES, EXTENTS, Coverage
from migrations_app.karpenter.coverage.proofs import PROVEN

CATALOGUE_HEAD = """# Checks

This page is generated from the checks themselves; change those, not this file.

Each check asks one question, named after the good state, at the hops it names. A check whose parts could not be read
answers `unknown`; a hop is never ready while an open blocker is failing, unknown or waiting for a person.
"""
ABOUT: dict[Phase, str] = {
    "preflight": "Before anything is touched",
    "iam": "What the controller may do in AWS",
    "crds": "The kinds the API server serves and stores",
    "controller": "The installed controller and its settings",
    "resources": "Pools, node classes and claims",
    "workloads": "What the pods ask for",
    "rollout": "Replacing nodes",
    "cleanup": "What has to go",
}


def page(checks: Iterable[Check], *, retired: tuple[Retired, ...] = RETIRED) -> str:
    """The page of all checks: a table, then each check in full by phase, then retired checks."""
    all_checks = tuple(checks)
    parts = [CATALOGUE_HEAD, *_check_table(all_checks)]
    for phase in PHASES:
        own = [check for check in all_checks if check.phase == phase]
        if own:
            parts += [f"\n## {phase}\n\n{ABOUT[phase]}.\n", *map(_in_full, own)]
    if retired:
        parts += ["\n## Retired\n", *map(_retired, retired)]
    return "\n".join(parts)


def _check_table(checks: tuple[Check, ...]) -> Iterator[str]:
    yield "| check | phase | severity | asked at |\n|---|---|---|---|"
    for phase in PHASES:
        for check in checks:
            if check.phase == phase:
                link = f"[{check.id}](#{check.id})"
                yield f"| {link} | {phase} | {_severity(check)} | {hops_text(check.hops)} |"


def _severity(check: Check) -> str:
    overrides = (f"{severity} at {hops}" for severity, hops in severities(check))
    return ", ".join((check.severity, *overrides))


def _in_full(check: Check) -> str:
    return "\n".join((f"### {check.id}\n", f"{check.title}. {check.why}\n", *_lines(describe(check)))) + "\n"


def _lines(description: CheckDescription) -> Iterator[str]:
    check = description.check
    if check.how:
        yield f"- how: {check.how}"
    yield f"- severity: {_severity(check)}"
    yield f"- asked at: {description.hops}"
    yield f"- reads: {', '.join(check.reads)}"
    if description.remedies:
        yield f"- remedies for: {', '.join(description.remedies)}"
    if check.resolved_by:
        yield f"- resolved by: {', '.join(check.resolved_by)}"
    if description.covers:
        yield f"- covers: {', '.join(f'[{cover.id}](coverage.md)' for cover in description.covers)}"
    if description.introduced_by:
        yield f"- rule introduced by: {description.introduced_by}"
    yield f"- life cycle: active since {check.since}" + _formerly(check)
    yield from (f"- source: {source}" for source in check.sources)


def _formerly(check: Check) -> str:
    return f", formerly {', '.join(check.formerly)}" if check.formerly else ""


def _retired(retired: Retired) -> str:
    heirs = f" Asked instead: {', '.join(retired.instead)}." if retired.instead else ""
    return f"- `{retired.id}` ({retired.title}): asked from {retired.since} to {retired.until}. {retired.why}{heirs}\n"


COVERAGE_HEAD = """# Coverage

This page is generated from the tables of coverage; change those, not this file.

This page lists every change of a Karpenter release that can break something, and every problem that users reported,
once: with the [checks](checks.md) that answer it, with what a person has to search for, or with the reason why there
is nothing to check.

*Judged*: a check passes or fails by what it reads. *Partly judged*: a check judges what the cluster or AWS shows, but
no scan can read the rest. *Told to a person*: a check says what to search for, and where. *Not looked at*: no check
asks, for the reason given. *Proven*: a test plants the problem into a clean cluster, and the check that is named here
finds it in the right place or tells a person about it; or the upgrade path avoids it with a release that does not have
it, and says why.
"""


def coverage_page(changes: Iterable[Coverage], problems: Iterable[Coverage]) -> str:
    """The coverage page: breaking changes by release, then known problems by area, each with its checks or the reason
    for having none."""
    all_changes, known = tuple(changes), tuple(problems)
    parts = [COVERAGE_HEAD, *_counts({"changes": all_changes, "known problems": known}), "\n## Changes"]
    for release, rows in groupby(all_changes, key=lambda entry: entry.release):
        parts += _coverage_table(f"### {release}", rows)
    parts.append("\n## Known problems")
    for area, rows in groupby(known, key=lambda entry: entry.id.partition("-")[0]):
        parts += _coverage_table(f"### {area}", rows)
    return "\n".join(parts) + "\n"


def _counts(tables: Mapping[str, tuple[Coverage, ...]]) -> Iterator[str]:
    """For each table, the number of entries by extent of coverage, and how many of them are proven."""
    yield f"| | {' | '.join(EXTENTS.values())} | all |\n| --- |{' --- |' * (len(EXTENTS) + 1)}"
    for name, entries in tables.items():
        cells = [
            f"{extent_count.entries} ({extent_count.proven} proven)"
            if extent_count.proven
            else str(extent_count.entries)
            for extent_count in counted(entries)
        ]
        yield f"| {name} | {' | '.join(cells)} | {len(entries)} |"


def _coverage_table(title: str, rows: Iterable[Coverage]) -> Iterator[str]:
    yield f"\n{title}\n\n| entry | subject | how far | answered by |\n| --- | --- | --- | --- |"
    for entry in rows:
        extent = f"{EXTENTS[entry.extent]}{', proven' if entry.id in PROVEN else ''}"
        yield f"| {entry.id} | {_cell(entry.subject)} | {extent} | {_cell(_answer(entry))} |"


def _answer(entry: Coverage) -> str:
    parts = [", ".join(f"[{check}](checks.md#{check})" for check in entry.checks)]
    if entry.table:
        parts.append(f"table {entry.table}")
    if entry.search:
        parts.append(f"by hand: {entry.search}")
    if entry.unjudged:
        parts.append(f"not judged: {entry.unjudged}")
    if entry.cause:
        parts.append(f"{CAUSES[entry.cause]}. {entry.reason}")
    return "; ".join(part for part in parts if part)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
