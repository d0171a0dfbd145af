import pytest

from tests.builders.clusters import asked_hops, finding_of, remedies
from tests.builders.pools import AUTO_MODE, a_claim, a_machine, answer, at, found, parses, row, unseen_is_unknown

CHECK = "claims_not_drifted"
GOOD = ("pass", "No node is drifted yet")
ABSENT = ("not_applicable", "there is no NodeClaim and no Machine")


def conditions(kind: str, status: str, **more):
    return {"status.conditions": [{"type": "Ready", "status": "True"}, {"type": kind, "status": status, **more}]}


@pytest.mark.parametrize("changes", [{}, conditions("Drifted", "False"), {"status.conditions": []}])
def test_claims_that_are_current(changes):
    assert answer(CHECK, "1.1+", at("1.0.14", *a_claim(changes))) == GOOD


@pytest.mark.parametrize(("more", "seen"), [({}, "True"), ({"reason": "AMIDrift"}, "True AMIDrift")])
def test_a_claim_that_is_not(more, seen):
    made = a_claim(conditions("Drifted", "True", **more))
    name = made[0]["metadata"]["name"]
    cause = row("NodeClaim", name, "status.conditions[Drifted]", seen=seen, wanted="False")
    assert found(CHECK, "1.1+", at("1.0.14", *made)) == ("fail", (cause,))


def test_a_machine_that_is_not():
    made = a_machine(conditions("MachineDrifted", "True"))
    name = made[0]["metadata"]["name"]
    cluster = at("0.32.10", *made)
    cause = row("Machine", name, "status.conditions[MachineDrifted]", seen="True", wanted="False")
    assert found(CHECK, "0.33+", cluster) == ("fail", (cause,))
    given = remedies(CHECK, "0.33+", cluster)
    assert parses(given) == ["kubectl"]
    assert given[0].text.splitlines()[1:] == [f"kubectl describe machines.karpenter.sh {name}"]


def test_claims_of_auto_mode_are_not_asked_about():
    changes = conditions("Drifted", "True") | {"spec.nodeClassRef": AUTO_MODE}
    assert answer(CHECK, "1.1+", at("1.0.14", *a_claim(changes))) == ABSENT


def test_without_claims_it_does_not_arise():
    assert answer(CHECK, "1.1+", at("1.0.14")) == ABSENT
    assert asked_hops(CHECK)[:3] == ("0.32", "0.33+", "1.0")


def test_it_is_a_warning_where_drift_comes_on():
    assert [finding_of(CHECK, hop, at("0.37.8")).severity for hop in ("1.0", "1.1+")] == ["warning", "info"]


def test_a_condition_without_words_is_none():
    assert answer(CHECK, "1.1+", at("1.0.14", *a_claim({"status.conditions": [{}]}))) == GOOD


def test_unseen():
    unseen_is_unknown(CHECK, "1.1+", version="1.0.14")
