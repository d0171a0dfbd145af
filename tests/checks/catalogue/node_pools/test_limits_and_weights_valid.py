import pytest

from tests.builders.clusters import asked_hops, remedies
from tests.builders.pools import a_pool, answer, at, found, parses, row, unseen_is_unknown

CHECK = "limits_and_weights_valid"
GOOD = ("pass", "Limits and weights of every pool are valid")
LIMITS, WEIGHT = "spec.limits", "spec.weight"


def v1(changes=None):
    return at("1.0.14", a_pool(changes))


@pytest.mark.parametrize(
    "changes",
    [
        {LIMITS: {"cpu": "1k", "memory": "1Ti"}},
        {LIMITS: None},
        {LIMITS: {"cpu": 100}, WEIGHT: 1},
        {WEIGHT: 100},
    ],
)
def test_what_is_valid(changes):
    assert answer(CHECK, "1.1+", v1(changes)) == GOOD


@pytest.mark.parametrize("weight", [0, 101, -5])
def test_a_weight_beyond_the_scale(weight):
    cause = row("NodePool", "web", WEIGHT, seen=str(weight), wanted="1 to 100")
    assert found(CHECK, "1.1+", v1({WEIGHT: weight})) == ("fail", (cause,))


def test_limits_as_a_provisioner_had_them():
    wanted = "the same one level up, below limits"
    cause = row("NodePool", "web", f"{LIMITS}.resources", seen='{"cpu": "10"}', wanted=wanted)
    assert found(CHECK, "1.1+", v1({LIMITS: {"resources": {"cpu": "10"}}})) == ("fail", (cause,))


@pytest.mark.parametrize(("limit", "seen"), [("0", "0"), (0, "0"), ("0Gi", "0Gi"), ("-1", "-1")])
def test_a_limit_of_nothing(limit, seen):
    wanted = "more than 0: with it the pool launches nothing"
    cause = row("NodePool", "web", f"{LIMITS}.cpu", seen=seen, wanted=wanted)
    assert found(CHECK, "1.1+", v1({LIMITS: {"cpu": limit}})) == ("fail", (cause,))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({WEIGHT: "10"}, f"{WEIGHT} is not a whole number"),
        ({WEIGHT: True}, f"{WEIGHT} is not a whole number"),
        ({LIMITS: ["cpu"]}, f"{LIMITS} is not a map"),
        ({LIMITS: {"cpu": "many"}}, f"{LIMITS}.cpu is no quantity"),
    ],
)
def test_odd_values_are_unknown_by_their_field(changes, words):
    assert answer(CHECK, "1.1+", v1(changes)) == ("unknown", f"NodePool web: {words}")


def test_without_pools_it_does_not_arise():
    assert answer(CHECK, "1.1+", at("1.0.14"))[0] == "not_applicable"
    assert asked_hops(CHECK)[0] == "0.33+"


def test_unseen():
    unseen_is_unknown(CHECK, "1.1+", version="1.0.14")


def test_the_remedy():
    given = remedies(CHECK, "1.1+", v1({WEIGHT: 200}))
    assert parses(given) == ["kubectl"]
    assert given[0].text == "kubectl edit nodepools.karpenter.sh web  # spec.weight; 1 to 100"
