"""The catalogue of checks as a page of Markdown: generated from the checks themselves, so that it cannot go stale."""

from collections.abc import Iterable, Iterator

from migrations_app.checks.base import Check
from migrations_app.checks.values import EVERY, PHASES, Phase

HEAD = """# Checks

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


def page(checks: Iterable[Check]) -> str:
    """The whole page: a table of all checks, then each in full, by phase."""
    every = tuple(checks)
    parts = [HEAD, *_table(every)]
    for phase in PHASES:
        own = [check for check in every if check.phase == phase]
        if own:
            parts += [f"\n## {phase}\n\n{ABOUT[phase]}.\n", *map(_in_full, own)]
    return "\n".join(parts)


def spoken_hops(hops: tuple[str, ...]) -> str:
    """The hops of a check in words: every hop, a list of few, or a long run by its ends."""
    if hops == EVERY:
        return "every hop"
    return ", ".join(hops) if len(hops) < 6 else f"{hops[0]} to {hops[-1]}"


def _table(checks: tuple[Check, ...]) -> Iterator[str]:
    yield "| check | phase | severity | asked at |\n|---|---|---|---|"
    for phase in PHASES:
        for check in checks:
            if check.phase == phase:
                link = f"[{check.id}](#{check.id})"
                yield f"| {link} | {phase} | {_severity(check)} | {spoken_hops(check.hops)} |"


def _severity(check: Check) -> str:
    overrides = (f"{severity} at {hop}" for hop, severity in check.severity_at.items())
    return ", ".join((check.severity, *overrides))


def _in_full(check: Check) -> str:
    lines = [
        f"### {check.id}\n",
        f"{check.title}. {check.why}\n",
        f"- severity: {_severity(check)}",
        f"- asked at: {spoken_hops(check.hops)}",
        f"- reads: {', '.join(check.reads)}",
    ]
    if check.resolved_by:
        lines.append(f"- resolved by: {', '.join(check.resolved_by)}")
    if check.formerly:
        lines.append(f"- formerly: {', '.join(check.formerly)}")
    lines += [f"- source: {source}" for source in check.sources]
    return "\n".join(lines) + "\n"
