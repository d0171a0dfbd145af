"""How a section or a reason looks. The words of badges are in templatetags; these name parts of one page only."""

from migrations_app.checks.values import Finding
from migrations_app.readiness.look import Look

PHASE_WORDS = {"iam": "IAM", "crds": "CRDs", "cleanup": "Clean-up"}


_FAILS = {
    "blocker": Look("Blocker", "blocker", "blocker", id="blocker"),
    "warning": Look("Warning", "warning", "warning", id="warning"),
    "info": Look("Good to know", "accent", "info", id="info"),
}
_UNKNOWN = Look("Unknown", "unknown", "unknown", id="unknown")
_MANUAL = Look("Confirm by hand", "unknown", "manual", id="manual")
_TOLD = Look("Reason", "muted", "info", id="told")


def blocking_look(finding: Finding | None) -> Look:
    """The look of a reason; a plain one for a reason that no check stands behind."""
    if finding is None:
        return _TOLD
    if finding.status == "fail":
        return _FAILS[finding.severity]
    return _MANUAL if finding.status == "manual" else _UNKNOWN


def phase_look(phase: str) -> Look:
    return Look(PHASE_WORDS.get(phase, phase.capitalize()), "muted", "", id=phase)
