"""A plan is addressed by everything a person approves, and by nothing that moves by itself."""

import hashlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.actions.changes import ObjectTarget, RbacNeed, deletion, merge
from migrations_app.actions.conditions import ListContains, Terminating
from migrations_app.actions.gate import Gate
from migrations_app.actions.plan import (
    MAX_STEPS,
    ClusterIdentity,
    Forecast,
    Plan,
    RolloutLimits,
    Step,
    canonical,
    numbered,
    stored_digest,
)
from migrations_app.errors import InvalidInput

POOL = ObjectTarget("karpenter.sh", "v1alpha5", "provisioners", "Provisioner", "web", uid="u1")
NODE = ObjectTarget("", "v1", "nodes", "Node", "node-1", uid="u2")
STEPS = numbered(
    [
        Step(
            id="",
            title="Taint",
            risk="medium",
            change=merge(POOL, {"spec": {"taints": [{"key": "k"}]}}),
            undo=merge(POOL, {"spec": {"taints": None}}),
            postconditions=(ListContains(field=("spec", "taints"), element={"key": "k"}),),
        ),
        Step(
            id="",
            title="Delete",
            risk="high",
            change=deletion(NODE),
            postconditions=(Terminating(),),
            after=Gate(gone=(NODE,)),
        ),
    ]
)


def a_plan(**changed):
    facts = {
        "action": "roll_nodes",
        "title": "Roll",
        "parameters": {"pool": "web"},
        "cluster": "c1",
        "identity": ClusterIdentity(kube_system_uid="u", ca="f", endpoint="https://a"),
        "steps": STEPS,
        "limits": RolloutLimits(),
        "forecast": Forecast(),
        "author": "ada",
        "snapshot": "s1",
        "policy": 1,
        "made_at": "now",
        "expires_at": "then",
    }
    return Plan(**facts | changed)


def test_a_plan_is_frozen():  # A01
    with pytest.raises(AttributeError):
        a_plan().title = "Another"


def test_the_digest_leaves_out_only_when_it_was_made_and_ends():  # A01, A03
    assert a_plan().digest == a_plan(made_at="later", expires_at="much later").digest
    changed = {
        "action": "x",
        "title": "x",
        "parameters": {},
        "cluster": "x",
        "steps": STEPS[:1],
        "limits": RolloutLimits(batch=2),
        "identity": ClusterIdentity(kube_system_uid="v", ca="f", endpoint="https://a"),
        "forecast": Forecast(nodes=1),
        "author": "x",
        "snapshot": "x",
        "policy": 2,
        "planner": 2,
    }
    digests = {a_plan(**{field: value}).digest for field, value in changed.items()}
    assert len(digests | {a_plan().digest}) == len(changed) + 1


def test_what_is_stored_is_what_was_planned():  # A01
    body = msgspec.json.encode(a_plan())
    assert msgspec.json.decode(body, type=Plan) == a_plan()
    assert msgspec.json.decode(body, type=Plan).digest == a_plan().digest


def test_rights_targets_and_risk_come_from_the_steps():
    plan = a_plan()
    assert plan.needs == (
        RbacNeed(verb="delete", group="", plural="nodes"),
        RbacNeed(verb="patch", group="karpenter.sh", plural="provisioners"),
    )
    assert (plan.targets, plan.risk) == ((POOL, NODE), "high")
    assert a_plan(steps=()).risk == "low"


def test_steps_are_numbered_by_their_place():
    assert [step.id for step in STEPS] == ["s001", "s002"]
    with pytest.raises(InvalidInput):
        numbered(Step(id="", title="x") for _ in range(MAX_STEPS + 1))


def test_a_plan_holds_no_fractions_and_no_two_spellings_of_a_key():
    with pytest.raises(InvalidInput):
        _ = a_plan(parameters={"share": 0.5}).digest
    with pytest.raises(InvalidInput):
        _ = a_plan(parameters={"\u00e9": 1, "e\u0301": 2}).digest


def test_spelling_of_the_same_text_does_not_matter():
    assert a_plan(title="\u00e9").digest == a_plan(title="e\u0301").digest


@given(st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3) | st.none(), max_size=5))
def test_the_order_of_keys_does_not_matter(parameters):
    shuffled = dict(reversed(parameters.items()))
    try:
        told = canonical(parameters)
    except InvalidInput:
        return
    assert told == canonical(shuffled)


def test_a_stored_plan_with_a_field_of_an_older_release_is_still_the_approved_one():
    plan = a_plan()
    raw = canonical(plan)
    assert stored_digest(raw) == plan.digest
    old = msgspec.json.decode(raw)
    old["limits"]["pause_after_errors"] = 1
    approved = hashlib.sha256(canonical(old | {"made_at": "", "expires_at": ""})).hexdigest()
    assert stored_digest(canonical(old)) == approved != plan.digest
    assert msgspec.json.decode(canonical(old), type=Plan) == plan
