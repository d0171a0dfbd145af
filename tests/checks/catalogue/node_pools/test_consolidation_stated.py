import pytest

from tests.builders.clusters import asked_hops, remedies
from tests.builders.pools import GONE, a_pool, answer, at, found, parses, row, unseen_is_unknown

CHECK = "consolidation_stated"
GOOD = ("pass", "Every NodePool sets consolidation as v1 requires")
POLICY, AFTER = "spec.disruption.consolidationPolicy", "spec.disruption.consolidateAfter"


def v1(changes=None):
    return at("1.0.14", a_pool(changes))


def beta(changes=None):
    return at("0.37.8", a_pool(changes, version="v1beta1"))


@pytest.mark.parametrize("after", ["0s", "5m", "Never"])
def test_v1_with_a_time(after):
    assert answer(CHECK, "1.1+", v1({AFTER: after})) == GOOD


def test_no_block_at_all_takes_the_default():
    assert answer(CHECK, "1.1+", v1({"spec.disruption": GONE})) == GOOD


def test_v1_without_a_time():
    wanted = "a duration, or Never; 0s is what v1beta1 did"
    cause = row("NodePool", "web", AFTER, seen="absent", wanted=wanted)
    assert found(CHECK, "1.1+", v1({AFTER: GONE})) == ("fail", (cause,))


def test_the_old_name_of_the_policy():
    cause = row("NodePool", "web", POLICY, seen="WhenUnderutilized", wanted="WhenEmptyOrUnderutilized")
    assert found(CHECK, "1.1+", v1({POLICY: "WhenUnderutilized"})) == ("fail", (cause,))


@pytest.mark.parametrize("policy", [GONE, "WhenUnderutilized"])
def test_never_is_lost_on_the_way(policy):
    wanted = "consolidationPolicy WhenEmpty with Never; 1.0 makes 0s of it otherwise"
    cause = row("NodePool", "web", AFTER, seen="Never, beside WhenUnderutilized", wanted=wanted)
    assert found(CHECK, "1.0", beta({POLICY: policy, AFTER: "Never"})) == ("fail", (cause,))


@pytest.mark.parametrize("changes", [{}, {POLICY: "WhenEmpty", AFTER: "Never"}, {"spec.disruption": GONE}])
def test_v1beta1_that_gets_over(changes):
    assert answer(CHECK, "1.0", beta(changes)) == GOOD


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("spec.disruption", "spec.disruption is no map"),
        (AFTER, f"{AFTER} is not a text"),
        (POLICY, f"{POLICY} is not a text"),
    ],
)
def test_odd_values_are_unknown_by_their_field(path, words):
    status, summary = answer(CHECK, "1.1+", v1({path: ["x"]}))
    assert status == "unknown"
    assert summary in (f"NodePool web: {words}", f"NodePool web: {path} is not a map")


def test_without_pools_it_does_not_arise():
    assert answer(CHECK, "1.0", at("0.37.8"))[0] == "not_applicable"
    assert asked_hops(CHECK)[0] == "1.0"


def test_unseen():
    unseen_is_unknown(CHECK, "1.1+", version="1.0.14")


def test_the_remedy():
    given = remedies(CHECK, "1.1+", v1({POLICY: "WhenUnderutilized"}))
    assert parses(given) == ["kubectl"]
    assert given[0].text == f"kubectl edit nodepools.karpenter.sh web  # {POLICY}; WhenEmptyOrUnderutilized"
