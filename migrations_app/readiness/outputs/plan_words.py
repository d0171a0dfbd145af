"""Lines of a runbook that its outputs share."""

from collections.abc import Iterator

from migrations_app.readiness.forecast import ForecastLine
from migrations_app.readiness.groups import Group
from migrations_app.readiness.report import PathStep
from migrations_app.readiness.stages import Stage

PARTS = {"before": "Before", "land": "Land", "after": "After", "verify": "Verify"}
PHASES = {"iam": "IAM", "crds": "CRDs", "cleanup": "clean-up"}


def stage_title(stage: Stage) -> str:
    """`Before, IAM: Attach what the new release needs`."""
    phase = "" if stage.part == "verify" else f", {PHASES.get(stage.phase, stage.phase)}"
    return f"{PARTS[stage.part]}{phase}: {stage.does}"


def landing(step: PathStep) -> Iterator[str]:
    """What is to be known about a landing, a line each."""
    if step.why:
        yield f"Why here: {step.why}"
    fits = {True: "fits", False: "does not fit: move Kubernetes first", None: "not known whether it fits"}
    yield f"Kubernetes {step.kubernetes.min} to {step.kubernetes.max}: {fits[step.kubernetes_fits]}"
    yield from (f"Needs: {need}" for need in step.needs)
    yield from (f"Note: {note}" for note in step.notes)
    yield f"Way back: {', '.join(step.rollback_to) or 'none'}"
    yield from (f"Before going back: {caveat}" for caveat in step.caveats)


def forecast_number(line: ForecastLine) -> str:
    """`11`, `at least 11` or `not known`."""
    if line.count is None:
        return "not known"
    return f"at least {line.count:,}" if line.certainty == "at_least" else f"{line.count:,}"


def ids(group: Group, shown: int = 8) -> str:
    """The checks of a group by their ids; a long list ends in a number."""
    named = ", ".join(finding.id for finding in group.findings[:shown])
    more = len(group.findings) - shown
    return f"{named} and {more} more" if more > 0 else named


def settled(stage: Stage) -> str:
    """`12 checks are settled`; empty where none is."""
    if not stage.settled:
        return ""
    return "1 check is settled" if stage.settled == 1 else f"{stage.settled} checks are settled"
