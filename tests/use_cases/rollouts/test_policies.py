"""Policies: who may change them, what is refused, and that a version never comes twice."""

import pytest

from migrations_app.errors import Conflict, InvalidInput, PermissionDenied
from migrations_app.models.audit import AuditEvent
from migrations_app.models.policy import Policy
from migrations_app.queries.rollouts.policies import own_policies, policy_row
from migrations_app.use_cases.rollouts.policies import Rules, change_policy, remove_policy
from tests.builders.rollouts import a_rollout
from tests.builders.rows import a_cluster
from tests.use_cases.people import ADMINISTER, OPERATE, actor, person, user

pytestmark = pytest.mark.django_db
ASKED = {"low": 0, "medium": 1, "high": 1, "destructive": 2}
NIGHT = {"days": [0, 1, 2, 3, 4], "from": "22:00", "to": "04:00"}


@pytest.fixture
def gil():
    return user("gil", ADMINISTER)


def change(gil, cluster=None, *, version=1, **told):
    rules = Rules(**({"approvals": ASKED} | told))
    return change_policy(cluster.pk if cluster else None, rules, person=person(gil), version=version, by=actor(gil))


def test_the_policy_of_all_holds_until_a_cluster_has_its_own(gil):
    shop, other = a_cluster("shop"), a_cluster("other")
    assert change(gil, batch=3) == 2
    assert (policy_row(shop.pk).batch, policy_row(shop.pk).own) == (3, False)
    assert change(gil, shop, version=2, batch=5, windows=(NIGHT,)) == 3
    row = policy_row(shop.pk)
    assert (row.batch, row.own, row.windows, policy_row(other.pk).batch) == (5, True, (NIGHT,), 3)
    assert own_policies() == ((shop.pk, "shop", 3),)


def test_each_change_is_recorded_with_before_and_after(gil):
    change(gil, frozen=True, frozen_why="holidays")
    event = AuditEvent.objects.get(verb="policy.changed")
    assert (event.actor, event.outcome) == ("gil", "version 2")
    assert '"frozen_why":"holidays"' in event.detail


def test_an_operator_changes_none():
    olga = user("olga", OPERATE)
    with pytest.raises(PermissionDenied):
        change(olga)
    assert Policy.objects.count() == 0


def test_a_stale_change_is_refused(gil):
    change(gil)
    with pytest.raises(Conflict) as refused:
        change(gil, batch=9)
    assert (refused.value.code, policy_row(None).batch) == ("stale", 1)


def test_a_version_never_comes_twice(gil):
    shop = a_cluster("shop")
    assert change(gil, shop) == 2
    a_rollout(shop, policy_version=2)
    remove_policy(shop.pk, person(gil), version=2, by=actor(gil))
    assert policy_row(shop.pk).own is False
    assert change(gil, shop) == 3


def test_only_an_own_policy_is_dropped(gil):
    shop = a_cluster("shop")
    change(gil)
    with pytest.raises(Conflict):
        remove_policy(shop.pk, person(gil), version=2, by=actor(gil))
    assert policy_row(None).version == 2


@pytest.mark.parametrize(
    ("told", "where", "code"),
    [
        ({"approvals": ASKED | {"destructive": 0}}, "approvals", "bad_approvals"),
        ({"approvals": ASKED | {"low": -1}}, "approvals", "bad_approvals"),
        ({"approvals": ASKED | {"low": 10}}, "approvals", "bad_approvals"),
        ({"approvals": {"low": 0}}, "approvals", "bad_approvals"),
        ({"actions": ("no_such",)}, "actions", "unknown_action"),
        ({"windows": ({"from": "25:00", "to": "04:00"},)}, "windows", "bad_window"),
        ({"windows": ({"from": "04:00"},)}, "windows", "bad_window"),
        ({"windows": (NIGHT | {"days": []},)}, "windows", "bad_window"),
        ({"windows": (NIGHT | {"days": [7]},)}, "windows", "bad_window"),
        ({"windows": (NIGHT | {"to": "22:00"},)}, "windows", "bad_window"),
        ({"windows": (NIGHT,) * 21}, "windows", "too_many"),
        ({"frozen": True}, "frozen_why", "reason_needed"),
        ({"batch": 0}, "batch", "out_of_range"),
        ({"per_hour": 10_001}, "per_hour", "out_of_range"),
        ({"pool_percent": 101}, "pool_percent", "out_of_range"),
    ],
)
def test_what_makes_no_sense_is_refused(gil, told, where, code):
    with pytest.raises(InvalidInput) as refused:
        change(gil, **told)
    assert (refused.value.where, refused.value.code, Policy.objects.count()) == (where, code, 0)


def test_every_action_swallows_the_others(gil):
    change(gil, actions=("taint_and_drift", "*"))
    assert policy_row(None).actions == ("*",)
    change(gil, version=2, actions=("roll_nodes", "adopt_crds", "roll_nodes"))
    assert policy_row(None).actions == ("adopt_crds", "roll_nodes")
