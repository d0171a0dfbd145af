"""What the catalogue says of a check is worked out from the check itself, and is true."""

import functools
from typing import Any

import pytest

from migrations_app.checks.base import Check, Remedy
from migrations_app.checks.docs import page
from migrations_app.checks.registry import RETIRED, Retired, all_checks, describe
from migrations_app.checks.remedies.commands import chart_values, kubectl, source_remedies
from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.collect.collect import collect
from migrations_app.inventory.facts.managers import Managed
from migrations_app.readiness.evaluate import evaluate
from migrations_app.samples.fleet import files, stories
from migrations_app.samples.story import Story
from tests.checks.tools_in_code import tools_in_code


def a_check(advice: Any = None, **more: Any) -> Check:
    check = Check(
        "x.a_check",
        title="All is well",
        phase="cleanup",
        severity="info",
        why="Because.",
        reads=("nodes",),
        says=("one", "many"),
        **more,
    )
    if advice is not None:
        check.advise(advice)
    return check


def named(name: str) -> Check:
    return next(check for check in all_checks() if check.id == name)


@pytest.mark.parametrize(
    ("advice", "found"),
    [
        (lambda *_: [], ()),
        (lambda *_: [kubectl("kubectl get nodes")], ("kubectl",)),
        (lambda *_: [Remedy(how="iam", text="x") for _ in "ab"], ("iam",)),
        (lambda case, _: chart_values(case, {}), ("helm", "terraform", "flux", "argocd")),
        (lambda *_: source_remedies(Managed("hand"), "x"), ("helm", "terraform", "flux", "argocd")),
        (functools.partial(print), ()),
        (None, ()),
    ],
)
def test_the_code_of_an_advice_names_its_tools(advice: Any, found: tuple[str, ...]) -> None:
    assert tools_in_code(a_check(advice)) == found


@pytest.mark.parametrize("check", all_checks(), ids=lambda check: check.id)
def test_a_check_declares_the_tools_that_its_code_names(check: Check) -> None:
    assert check.tools == tools_in_code(check)
    assert len(set(check.remedy_tools)) == len(check.remedy_tools)
    assert "action" not in check.remedy_tools


def test_the_tools_of_a_check_stand_in_one_order_and_an_action_comes_last() -> None:
    assert a_check(remedy_tools=("iam", "kubectl"), resolved_by=("an_action",)).tools == ("kubectl", "iam", "action")


def test_what_a_check_answers_and_which_release_brought_the_rule() -> None:
    told = describe(named("retired_annotations_replaced"))
    assert [one.id for one in told.covers] == ["do-not-disrupt-annotation", "annotations-dropped-v1", "WL-03"]
    assert told.introduced_by == "0.32"
    assert describe(a_check())[1:] == ((), (), "")


def test_checks_that_are_not_asked_any_more_stay_in_the_page() -> None:
    old = Retired("old_one", "All was well", "0.1.0", "0.3.0", "Nobody runs it.", ("new_one",))
    line = "- `old_one` (All was well): asked from 0.1.0 to 0.3.0. Nobody runs it. Asked instead: new_one."
    assert page([a_check()], retired=(old,)).endswith(f"## Retired\n\n{line}\n")
    assert "Retired" not in page([a_check()])


def test_no_id_is_used_again() -> None:
    every = [name for check in all_checks() for name in (check.id, *check.formerly)] + [one.id for one in RETIRED]
    assert len(every) == len(set(every))


def test_the_page_says_how_and_what_is_covered() -> None:
    text = page([named("alerts_name_current_metrics")])
    for words in (
        "- how: ",
        "- remedies for: kubectl, helm",
        "[metrics-renamed-v1](coverage.md)",
        "- life cycle: active",
    ):
        assert words in text


@pytest.mark.parametrize("story", stories(), ids=lambda story: story.name)
def test_no_remedy_is_for_a_tool_that_the_catalogue_does_not_name(story: Story) -> None:
    report = evaluate(collect(open_bundle(dict(files(story))), cluster=story.name)).report
    told = {check.id: check.tools for check in all_checks()}
    given = {(found.id, remedy.how) for found in report.checks for remedy in found.remedies}
    assert [(name, how) for name, how in sorted(given) if how not in told[name]] == []
