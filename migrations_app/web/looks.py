"""How a section or a reason looks. The words of badges are in templatetags; these name parts of one page only."""

from typing import NamedTuple

from migrations_app.checks.values import Finding

PHASE_WORDS = {"iam": "IAM", "crds": "CRDs", "cleanup": "Clean-up"}


class Look(NamedTuple):
    """`tone` is a class of the sheet (is-pass, ...), `icon` a symbol of icons.svg."""

    id: str
    word: str
    tone: str
    icon: str
    note: str = ""


_FAILS = {
    "blocker": Look("blocker", "Blocker", "blocker", "blocker"),
    "warning": Look("warning", "Warning", "warning", "warning"),
    "info": Look("info", "Good to know", "accent", "info"),
}
_UNKNOWN = Look("unknown", "Unknown", "unknown", "unknown")
_MANUAL = Look("manual", "Confirm by hand", "unknown", "manual")
_TOLD = Look("told", "Reason", "muted", "info")


def blocking_look(finding: Finding | None) -> Look:
    """The look of a reason; a plain one for a reason that no check stands behind."""
    if finding is None:
        return _TOLD
    if finding.status == "fail":
        return _FAILS[finding.severity]
    return _MANUAL if finding.status == "manual" else _UNKNOWN


def phase_look(phase: str) -> Look:
    return Look(phase, PHASE_WORDS.get(phase, phase.capitalize()), "muted", "")
