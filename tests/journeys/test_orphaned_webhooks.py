"""A journey deletes the admission webhooks that its upgrade leaves, before anything else is changed."""

from functools import cache
from typing import Any

import pytest
from msgspec import UNSET, structs

from migrations_app.journeys.compose import Choices, journey_steps
from migrations_app.journeys.plan import JourneyStep
from migrations_app.readiness.report import InstallationFacts, Report
from migrations_app.readiness.runbook.runbook import runbook
from tests.acceptance.clusters import find, objects
from tests.acceptance.judging import judged
from tests.readiness.runbook.test_orphaned_webhooks import NAMES

CHECK = "admission_webhooks_current"
ARGO = {"kept_by": "argocd", "keeper": "argocd/karpenter", "chart_deletes": False, "kept_webhooks": NAMES}
EVERYTHING = Choices({}, 600, pauses=True)


@cache
def judged_report() -> Report:
    clean = find("beta-037")
    return judged(clean, objects(clean))


def steps(changes: dict[str, Any], *, choices: Choices = EVERYTHING) -> tuple[JourneyStep, ...]:
    """The steps of the hop to 1.0 with these facts of the installation."""
    report = judged_report()
    installed = report.cluster.installed
    assert installed is not None
    facts: InstallationFacts = structs.replace(installed, **changes)
    cluster = structs.replace(report.cluster, installed=facts)
    hop = next(hop for hop in runbook(structs.replace(report, cluster=cluster)).hops if hop.path_hop.name == "1.0")
    return journey_steps(hop, installed=facts, choices=choices)


def removal(found: tuple[JourneyStep, ...]) -> tuple[JourneyStep, JourneyStep, JourneyStep]:
    """The step that deletes the webhooks, with the one before and the one after it."""
    (place,) = (number for number, step in enumerate(found) if step.checks == (CHECK,))
    return found[place - 1], found[place], found[place + 1]


def test_they_are_deleted_right_after_the_upgrade_and_before_the_soak() -> None:
    before, step, after = removal(steps(ARGO))
    assert (before.release, after.kind) == ("1.0.14", "wait")
    assert (step.kind, step.action, step.parameters) == (
        "rollout",
        "remove_stale_webhooks",
        {"release": "1.0.14"},
    )
    assert (step.protects, step.no_return, step.commands) == (True, (), ())


def test_no_delivery_is_paused_for_it() -> None:
    found = steps(ARGO)
    places = [number for number, step in enumerate(found) if step.action == "pause_deliveries"]
    assert found.index(removal(found)[1]) - 1 not in places


@pytest.mark.parametrize(
    ("changes", "word"), [(ARGO, "argocd"), ({"kept_by": "hand", "keeper": "", "chart_deletes": False}, "kubectl")]
)
def test_where_they_were_not_read_a_person_deletes_them(changes: dict[str, Any], word: str) -> None:
    _, step, after = removal(steps(changes | {"kept_webhooks": UNSET}))
    assert (step.kind, step.action, after.kind) == ("outside", "", "wait")
    (command,) = step.commands
    assert command.text
    assert all(name in command.text for name in NAMES)
    assert word in command.text or command.tool == word


def test_helm_needs_no_step_for_its_own() -> None:
    found = steps({"kept_by": "helm", "chart_deletes": True, "kept_webhooks": ()})
    assert [step for step in found if step.checks == (CHECK,)] == []
