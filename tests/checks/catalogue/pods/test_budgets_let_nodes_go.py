import pytest

from tests.builders.clusters import asked_hops, finding_of, remedies
from tests.builders.patches import patch_words
from tests.builders.pools import a_pool, answer, at, found, parses, row, unseen_is_unknown

CHECK = "budgets_let_nodes_go"
GOOD = ("pass", "Every NodePool allows disruption")
BUDGETS = "spec.disruption.budgets"
EVERY = ["Drifted", "Empty", "Underutilized"]


def v1(*budgets):
    return at("1.0.14", a_pool({BUDGETS: list(budgets)}))


@pytest.mark.parametrize(
    "budget",
    [
        {"nodes": "1"},
        {"nodes": "10%"},
        {"nodes": "0", "schedule": "0 9 * * mon-fri", "duration": "8h"},
        {"nodes": "0", "schedule": "@daily", "duration": "23h59m"},
        {"nodes": "0", "schedule": "@daily", "duration": "24h", "reasons": ["Drifted"]},
        {"nodes": "1", "schedule": "@daily", "duration": "24h"},
        {"nodes": "0", "reasons": ["Drifted"]},
        {"nodes": "0", "reasons": EVERY[1:]},
    ],
)
def test_budgets_that_let_some_go(budget):
    assert answer(CHECK, "1.1+", v1({"nodes": "50%"}, budget)) == GOOD


@pytest.mark.parametrize(
    ("budget", "seen"),
    [
        ({"nodes": "0"}, "0"),
        ({"nodes": "0%"}, "0%"),
        ({"nodes": 0}, "0"),
        ({"nodes": "00"}, "00"),
        ({"nodes": "0", "reasons": []}, "0"),
        ({"nodes": "0", "reasons": EVERY}, "0"),
        ({"nodes": "0", "schedule": "@daily", "duration": "24h"}, "0 for 24h from @daily on"),
        ({"nodes": "0%", "schedule": "0 */6 * * *", "duration": "6h0m"}, "0% for 6h0m from 0 */6 * * * on"),
    ],
)
def test_a_budget_that_lets_none_go(budget, seen):
    wanted = "more than 0, or a schedule that leaves time"
    cause = row("NodePool", "web", f"{BUDGETS}[1].nodes", seen=seen, wanted=wanted)
    assert found(CHECK, "1.1+", v1({"nodes": "50%"}, budget)) == ("fail", (cause,))


@pytest.mark.parametrize("budget", [{}, {"nodes": "many"}, {"nodes": None}, {"nodes": ["0"]}, {"nodes": True}])
def test_odd_nodes_are_unknown_by_their_field(budget):
    words = f"NodePool web: {BUDGETS}[0].nodes is neither a number nor a share"
    assert answer(CHECK, "1.1+", v1(budget)) == ("unknown", words)


def test_two_schedules_that_together_leave_no_time():
    night = {"nodes": "0", "schedule": "0 20 * * *", "duration": "12h"}
    day = {"nodes": "0", "schedule": "0 8 * * *", "duration": "12h"}
    status, rows = found(CHECK, "1.1+", v1(day, night))
    assert (status, [cause.path for cause in rows]) == ("fail", [f"{BUDGETS}[0].nodes", f"{BUDGETS}[1].nodes"])
    assert answer(CHECK, "1.1+", v1(day | {"duration": "11h"}, night)) == GOOD


UNREAD = f"NodePool web: schedule or duration of {BUDGETS}[0] cannot be read; it may allow none"


def test_a_schedule_that_cannot_be_read_is_unknown():
    budget = {"nodes": "5", "schedule": "every day of the week", "duration": "8h"}
    assert answer(CHECK, "1.1+", v1(budget)) == ("unknown", UNREAD)


@pytest.mark.parametrize("duration", ["10000000h", "a day", None])
def test_none_for_a_time_that_cannot_be_read_is_unknown(duration):
    budget = {"nodes": "0", "schedule": "@daily", "duration": duration}
    assert answer(CHECK, "1.1+", v1(budget)) == ("unknown", UNREAD)
    assert answer(CHECK, "1.1+", v1(budget | {"nodes": "5"})) == GOOD


def test_odd_budgets_are_unknown():
    told = ("unknown", f"NodePool web: {BUDGETS} is not a list of maps")
    assert answer(CHECK, "1.1+", v1("0")) == told


def test_without_pools_it_does_not_arise():
    assert answer(CHECK, "1.0", at("0.37.8"))[0] == "not_applicable"
    assert asked_hops(CHECK)[0] == "0.33+"


def test_over_1_0_it_may_be_what_holds_drift_back():
    severities = [finding_of(CHECK, hop, at("0.37.8")).severity for hop in ("1.0", "1.1+")]
    assert severities == ["info", "warning"]


def test_unseen():
    unseen_is_unknown(CHECK, "1.1+", version="1.0.14")


def test_the_remedy_is_for_later():
    given = remedies(CHECK, "1.1+", v1({"nodes": "0"}))
    assert parses(given) == ["kubectl"]
    patch = patch_words(("/spec/disruption/budgets", [{"nodes": "0"}], [{"nodes": "10%"}]))
    assert given[0].text.splitlines()[1:] == [f"kubectl patch nodepools.karpenter.sh web {patch}"]
