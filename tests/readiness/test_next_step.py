import pytest

from migrations_app.checks.base import Finding, Phase, Remedy
from migrations_app.checks.changes import PersonTask
from migrations_app.checks.remedies.aws import AWS_NOT_ASKED
from migrations_app.readiness.next_step import NextStep, next_step
from migrations_app.readiness.verdict import verdict
from tests.readiness.outputs.reports import finding, unread

REFUSED = "crds could not be read: forbidden"


def told(*asked: Finding) -> NextStep:
    return next_step(verdict(asked), asked, release="1.0.14", cluster="prod")


def test_the_first_blocker_in_the_order_of_the_work() -> None:
    asked = (
        finding("late", "fail", phase="cleanup"),
        finding("early", "fail", phase="crds"),
        finding("open", "unknown", phase="preflight"),
    )
    assert told(*asked) == NextStep("Not ready: 2 blockers", "Summary of early", "early", 1)


@pytest.mark.parametrize("phase", ["crds", "cleanup"])
def test_what_a_blocker_needs_first_comes_before_it(phase: Phase) -> None:
    waits = PersonTask(what="look", needs=("needed",))
    asked = (
        finding("a", "fail", phase="crds", remedies=(Remedy(how="kubectl", text="# look", change=waits),)),
        finding("needed", "fail", phase=phase),
    )
    assert told(*asked) == NextStep("Not ready: 2 blockers", "Summary of needed", "needed", 1)


def test_questions_that_can_block_are_counted_by_the_check_and_named_by_their_cause() -> None:
    asked = (
        unread("one"),
        unread("two"),
        unread("three", severity="info"),
        finding("hand", "manual", phase="cleanup"),
    )
    safe = "Cannot tell: 3 possible blockers unchecked"
    assert told(*asked) == NextStep(safe, f"{REFUSED} (3 checks)", "one", 1)


def test_of_open_questions_the_one_that_is_known_how_to_answer_comes_first() -> None:
    asked = (
        finding("odd", "unknown", phase="preflight", summary="NodePool a: spec.limits is odd"),
        unread("one", "machines", phase="crds"),
        *(unread(name, phase="rollout") for name in ("two", "three")),
    )
    assert told(*asked).check == "two"
    assert told(*asked[:2]).check == "one"
    assert told(asked[0]).check == "odd"


def test_warnings_are_weighed_and_infos_are_not() -> None:
    asked = (
        finding("care", "fail", severity="warning"),
        finding("aws", "unknown", severity="warning", reason=AWS_NOT_ASKED, phase="workloads"),
        finding("note", "fail", severity="info"),
    )
    assert told(*asked) == NextStep("Ready: review 1 warning; 1 more unchecked", "Summary of care", "care", 1)


def test_what_could_not_be_checked_is_not_called_a_warning() -> None:
    unread_two = (unread("one", severity="warning"), unread("two", severity="warning"))
    assert told(*unread_two).safe == "Ready: 2 possible warnings unchecked"
    assert told(unread_two[0]).safe == "Ready: 1 possible warning unchecked"
    failing = (finding("care", "fail", severity="warning"), finding("heed", "fail", severity="warning"))
    assert told(*failing, *unread_two).safe == "Ready: review 2 warnings; 2 more unchecked"


def test_nothing_in_the_way() -> None:
    asked = (finding("note", "fail", severity="info"), finding("fits", "pass"))
    assert told(*asked) == NextStep("Ready to upgrade", "Upgrade to 1.0.14, CRDs first")


def test_nothing_asked_is_not_safe() -> None:
    assert told().safe == "Cannot tell: nothing could be checked"
