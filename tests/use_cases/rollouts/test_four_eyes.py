"""Forty ways round the second person, scripted: none of them starts anything (T14, A40-A45)."""

import dataclasses
from typing import Any

import pytest
from django.db import Error

from migrations_app.errors import Conflict, KarpdashError
from migrations_app.models.rollout import Approval, Rollout
from migrations_app.queries.rollouts.policies import CONTROLLER_UPGRADES_OFF
from migrations_app.use_cases.rollouts import approvals
from tests.builders.rollouts import remove
from tests.use_cases.people import actor, person
from tests.use_cases.rollouts import approval_bypasses, start_bypasses
from tests.use_cases.rollouts.four_eyes import BYPASSES, DESTROYS, Scene

pytestmark = pytest.mark.django_db
PLACES = (approval_bypasses, start_bypasses)
"""Importing them fills BYPASSES."""


@pytest.fixture
def stage() -> Scene:
    return Scene()


def test_there_are_at_least_forty() -> None:
    assert (len(BYPASSES) >= 40, {way.__module__ for _, way in BYPASSES.values()}) == (
        True,
        {place.__name__ for place in PLACES},
    )


@pytest.mark.parametrize("name", sorted(BYPASSES))
def test_no_way_round_the_second_person(stage: Scene, name: str) -> None:  # T14, A40, A41, A42, A43, A44, A45
    code, way = BYPASSES[name]
    with pytest.raises((KarpdashError, Error)) as stopped:
        way(stage)
    assert getattr(stopped.value, "code", "database") == code
    assert not Rollout.objects.filter(state="running").exists()


def test_the_straight_way_starts(stage: Scene) -> None:
    """The control of all the others: with the same parts, done right, it runs."""
    row = approvals.request_approval(stage.plan(state="previewed").pk, person(stage.ada), by=actor(stage.ada))
    assert (row.state, len(row.nonce)) == ("awaiting_approval", 32)
    assert stage.approve(stage.cleo, row).state == "approved"
    assert stage.start(stage.ada, row).state == "running"
    assert [one.approver_name for one in Approval.objects.filter(rollout=row)] == ["cleo"]


@pytest.mark.parametrize("action", ["upgrade_delivery", "roll_back"])
def test_the_switch_for_upgrades_of_the_controller_holds_at_the_start_too(stage: Scene, settings: Any, action: str):
    earlier = stage.plan(state="succeeded", action="upgrade_delivery")
    row = stage.approved(action=action, rolls_back=earlier if action == "roll_back" else None)
    settings.ENV = dataclasses.replace(settings.ENV, controller_upgrades=False)
    with pytest.raises(Conflict) as stopped:
        stage.start(stage.ada, row)
    assert (stopped.value.code, stopped.value.message) == ("closed", CONTROLLER_UPGRADES_OFF)
    settings.ENV = dataclasses.replace(settings.ENV, controller_upgrades=True)
    assert stage.start(stage.ada, row).state == "running"


def test_two_agree_to_destruction(stage: Scene) -> None:  # A43
    row = stage.plan(remove(**DESTROYS))
    assert stage.approve(stage.cleo, row).state == "awaiting_approval"
    assert stage.approve(stage.eve, row).state == "approved"
    assert stage.start(stage.ada, Rollout.objects.get(pk=row.pk)).state == "running"
