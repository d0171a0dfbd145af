"""One fix stands once in a hop: where two findings ask for the same change, the other one points to it."""

from collections.abc import Sequence

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from migrations_app.checks.base import Finding, Remedy
from migrations_app.checks.changes import Change, HelmChange, Observation, PersonTask, leaves
from migrations_app.checks.shell import note


def without_repeats(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings in their order; a change that another one makes too, alone or among more, is a note there. Of equal
    ones the first keeps it."""
    made = [(finding.id, _made(finding)) for finding in findings]
    return tuple(_noted(finding, at=at, made=made) for at, finding in enumerate(findings))


def _made(finding: Finding) -> dict[Change, frozenset[Change]]:
    """Each change of the finding, and what it does without its words; Helm values have an upgrade of their own."""
    changes = dict.fromkeys(remedy.change for remedy in finding.remedies if remedy.change is not UNSET)
    found = {change: frozenset(map(_bare, filter(_changes, leaves(change)))) for change in changes}
    return {change: bare for change, bare in found.items() if bare}


def _changes(change: Change) -> bool:
    return not isinstance(change, Observation | PersonTask | HelmChange)


def _bare(change: Change) -> Change:
    return replace(change, when="before", what="", notes=(), needs=(), undo=None, final="", done="")


def _noted(finding: Finding, *, at: int, made: list[tuple[str, dict[Change, frozenset[Change]]]]) -> Finding:
    mine = made[at][1]
    told: dict[Change, str] = {}
    for change, bare in mine.items():
        for place, (name, others) in enumerate(made):
            if place != at and any(bare < other or (bare == other and place < at) for other in others.values()):
                told.setdefault(change, name)
    if not told:
        return finding
    remedies: dict[Remedy, None] = {}
    for remedy in finding.remedies:
        by = None if isinstance(remedy.change, UnsetType) else told.get(remedy.change)
        if by is None:
            remedies.setdefault(remedy)
        elif not any(each.text == _text(by) for each in remedies):
            remedies.setdefault(Remedy(how=remedy.how, text=_text(by)))
    return replace(finding, remedies=tuple(remedies))


def _text(name: str) -> str:
    return note(f"Made by the fix of {name}, in this hop")
