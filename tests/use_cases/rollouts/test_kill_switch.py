"""The kill switch: anyone who may stop turns it on, two people turn it off (A36)."""

from dataclasses import replace

import pytest

from migrations_app.errors import Conflict, InvalidInput, PermissionDenied
from migrations_app.models.audit import AuditEvent
from migrations_app.models.policy import KillSwitch
from migrations_app.queries.rollouts.policies import kill_switch_state
from migrations_app.use_cases.rollouts.kill_switch import (
    ask_to_lift,
    keep_turned_on,
    stop_everything,
    turn_off,
)
from tests.use_cases.people import ADMINISTER, APPROVE, OPERATE, actor, person, user

pytestmark = pytest.mark.django_db


@pytest.fixture
def gil():
    return user("gil", ADMINISTER)


@pytest.fixture
def hanna():
    return user("hanna", ADMINISTER)


def stopped(who, **more):
    stop_everything(person(who, **more), why="pods are lost", by=actor(who))


@pytest.mark.parametrize("right", [OPERATE, APPROVE, ADMINISTER])
def test_whoever_may_stop_turns_it(right):
    stopped(user("ada", right))
    now = kill_switch_state()
    assert (now.on, now.why, now.by, now.by_environment) == (True, "pods are lost", "ada", False)


def test_a_token_may_turn_it_but_never_lift_it(gil, hanna):
    stopped(gil, method="token")
    for turn in (ask_to_lift, turn_off):
        with pytest.raises(PermissionDenied) as refused:
            turn(person(gil, method="token"), by=actor(gil))
        assert refused.value.code == "person_needed"


def test_a_reader_turns_nothing():
    with pytest.raises(PermissionDenied):
        stopped(user("ben"))
    assert kill_switch_state().on is False


def test_a_reason_is_needed(gil):
    with pytest.raises(InvalidInput):
        stop_everything(person(gil), why="  ", by=actor(gil))


def test_two_people_lift_it(gil, hanna):
    stopped(gil)
    ask_to_lift(person(gil), by=actor(gil))
    with pytest.raises(PermissionDenied) as refused:
        turn_off(person(gil), by=actor(gil))
    assert (refused.value.code, kill_switch_state().on, kill_switch_state().lifting_by) == (
        "second_person",
        True,
        "gil",
    )
    turn_off(person(hanna), by=actor(hanna))
    assert kill_switch_state().on is False
    verbs = list(AuditEvent.objects.filter(object="kill switch").order_by("seq").values_list("verb", "actor"))
    assert verbs == [("kill_switch.on", "gil"), ("kill_switch.lift_asked", "gil"), ("kill_switch.off", "hanna")]


def test_a_new_name_makes_no_second_person(gil):
    stopped(gil)
    ask_to_lift(person(gil), by=actor(gil))
    gil.username = "another"
    gil.save()
    with pytest.raises(PermissionDenied):
        turn_off(person(gil), by=actor(gil))


def test_nobody_lifts_it_unasked(gil, hanna):
    stopped(gil)
    with pytest.raises(Conflict):
        turn_off(person(hanna), by=actor(hanna))
    assert kill_switch_state().on is True


def test_asking_twice_makes_no_second_person(gil, hanna):
    stopped(gil)
    ask_to_lift(person(gil), by=actor(gil))
    with pytest.raises(Conflict):
        ask_to_lift(person(gil), by=actor(gil))
    with pytest.raises(Conflict):
        ask_to_lift(person(hanna), by=actor(hanna))


def test_the_asking_can_be_taken_back(gil, hanna):
    stopped(gil)
    ask_to_lift(person(gil), by=actor(gil))
    keep_turned_on(person(hanna), by=actor(hanna))
    with pytest.raises(Conflict):
        turn_off(person(hanna), by=actor(hanna))
    assert (kill_switch_state().on, kill_switch_state().lifting_by) == (True, "")


def test_an_operator_lifts_nothing(gil):
    stopped(gil)
    ada = user("ada", OPERATE)
    with pytest.raises(PermissionDenied):
        ask_to_lift(person(ada), by=actor(ada))


def test_turning_it_twice_keeps_the_first_reason(gil, hanna):
    stopped(gil)
    stop_everything(person(hanna), why="another", by=actor(hanna))
    assert (kill_switch_state().why, KillSwitch.objects.count()) == ("pods are lost", 1)


def test_off_there_is_nothing_to_lift(gil):
    for turn in (ask_to_lift, turn_off, keep_turned_on):
        with pytest.raises(Conflict):
            turn(person(gil), by=actor(gil))


def test_the_environment_holds_it_on(settings):
    settings.ENV = replace(settings.ENV, stop_all_actions=True)
    now = kill_switch_state()
    assert (now.on, now.by_environment, "KARPDASH_STOP_ALL_ACTIONS" in now.why) == (True, True, True)
