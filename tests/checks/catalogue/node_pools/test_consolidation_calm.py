import pytest

from tests.builders.clusters import asked_hops, finding_of, remedies
from tests.builders.patches import patch_words
from tests.builders.pools import GONE, a_pool, answer, at, found, parses, row, unseen_is_unknown

CHECK = "consolidation_calm"
GOOD = ("pass", "Every NodePool waits before it consolidates")
POLICY, AFTER = "spec.disruption.consolidationPolicy", "spec.disruption.consolidateAfter"


def v1(changes=None):
    return at("1.0.14", a_pool(changes))


def at_once(seen: str):
    wanted = "a few minutes, such as 5m, once v1 is read"
    return "fail", (row("NodePool", "web", AFTER, seen=seen, wanted=wanted),)


@pytest.mark.parametrize("changes", [{}, {AFTER: "1s"}, {AFTER: "Never"}, {POLICY: "WhenEmpty", AFTER: "0s"}])
def test_pools_that_wait(changes):
    assert answer(CHECK, "1.1+", v1(changes)) == GOOD


@pytest.mark.parametrize(
    ("changes", "seen"),
    [
        ({AFTER: "0s"}, "0s"),
        ({AFTER: "0h0m0s"}, "0h0m0s"),
        ({AFTER: GONE}, "absent, which means 0s"),
        ({"spec.disruption": GONE}, "absent, which means 0s"),
    ],
)
def test_pools_that_do_not(changes, seen):
    assert found(CHECK, "1.1+", v1(changes)) == at_once(seen)


def test_what_becomes_of_v1beta1():
    assert found(CHECK, "1.0", at("0.37.8", a_pool(version="v1beta1"))) == at_once("absent, 0s from 1.0 on")


@pytest.mark.parametrize("odd", [0, ["0s"]])
def test_odd_values_are_unknown_by_their_field(odd):
    assert answer(CHECK, "1.1+", v1({AFTER: odd})) == ("unknown", f"NodePool web: {AFTER} is not a text")


def test_without_pools_it_does_not_arise():
    assert answer(CHECK, "1.0", at("0.37.8"))[0] == "not_applicable"
    assert (asked_hops(CHECK), finding_of(CHECK, "1.0", at("0.37.8")).severity) == (("1.0", "1.1+"), "info")


def test_unseen():
    unseen_is_unknown(CHECK, "1.1+", version="1.0.14")


def test_what_the_conversion_fills_in_is_expected_there():
    (given,) = remedies(CHECK, "1.0", at("0.37.8", a_pool({AFTER: GONE})))
    patch = patch_words(("/spec/disruption/consolidateAfter", "0s", "5m"))
    assert given.text.splitlines()[-1] == f"kubectl patch nodepools.karpenter.sh web {patch}"


def test_the_remedy_waits_for_1_0():
    given = remedies(CHECK, "1.1+", v1({AFTER: "0s"}))
    assert parses(given) == ["kubectl"]
    patch = patch_words(("/spec/disruption/consolidateAfter", "0s", "5m"))
    assert given[0].text.splitlines() == [
        "# v1beta1 refuses the field beside WhenUnderutilized: only once 1.0 runs",
        f"kubectl patch nodepools.karpenter.sh web {patch}",
    ]
