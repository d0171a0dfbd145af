import pytest

from tests.builders.clusters import asked_hops, remedies
from tests.builders.patches import patch_words
from tests.builders.pools import (
    AUTO_MODE,
    GONE,
    REFERENCE,
    a_claim,
    a_pool,
    answer,
    at,
    found,
    parses,
    row,
    unseen_is_unknown,
)

CHECK = "disruption_paced"
GOOD = ("pass", "Every NodePool has a disruption budget")
BUDGETS = "spec.disruption.budgets"


def v1(changes=None, *, claims: int = 0):
    docs = [doc for number in range(claims) for doc in a_claim(number=number)]
    return at("1.0.14", a_pool(changes), *docs)


@pytest.mark.parametrize("budgets", [[{"nodes": "10%"}], [{"nodes": "0", "reasons": ["Drifted"]}]])
def test_budgets_are_stated(budgets):
    assert answer(CHECK, "1.1+", v1({BUDGETS: budgets})) == GOOD


@pytest.mark.parametrize(("claims", "many"), [(0, "0 of 0"), (1, "1 of 1"), (10, "1 of 10"), (11, "2 of 11")])
@pytest.mark.parametrize("nothing", [GONE, []])
def test_none_are(claims, many, nothing):
    seen = f"absent: 10%, which is {many} nodes at once"
    cause = row("NodePool", "web", BUDGETS, seen=seen, wanted="budgets as the workloads bear them")
    assert found(CHECK, "1.1+", v1({BUDGETS: nothing}, claims=claims)) == ("fail", (cause,))


@pytest.mark.parametrize("odd", [{}, "10%", ["10%"]])
def test_odd_values_are_unknown_by_their_field(odd):
    told = ("unknown", f"NodePool web: {BUDGETS} is not a list of maps")
    assert answer(CHECK, "1.1+", v1({BUDGETS: odd})) == told


def test_pools_of_auto_mode_are_not_asked_about():
    absent = ("not_applicable", "there is no NodePool of Karpenter's own yet")
    assert answer(CHECK, "1.1+", v1({REFERENCE: AUTO_MODE, BUDGETS: GONE})) == absent
    assert asked_hops(CHECK) == ("0.33+", "1.0", "1.1+")


def test_unseen():
    unseen_is_unknown(CHECK, "1.1+", version="1.0.14")


@pytest.mark.parametrize(("start", "asked"), [("0.33.0", False), ("0.36.0", True)])
def test_a_release_without_budgets_is_not_asked_for_any(start, asked):
    """0.33.12 drops what a patch writes, in v1 too: its conversion webhook knows no budgets."""
    cluster = at(start, a_pool({BUDGETS: GONE}, version="v1beta1"), kubernetes="1.28")
    told = ("not_applicable", "0.33.12 has no budgets: its CRDs and its webhook drop them")
    assert (answer(CHECK, "0.33+", cluster) == told) is not asked


def test_the_remedy():
    given = remedies(CHECK, "1.1+", v1({BUDGETS: GONE}))
    assert parses(given) == ["kubectl"]
    default = [{"nodes": "10%"}]  # which the CRDs fill in by then
    patch = patch_words(("/spec/disruption/budgets", default, default))
    assert given[0].text == f"kubectl patch nodepools.karpenter.sh web {patch}"
