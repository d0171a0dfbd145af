"""A forecast beside what happened: each measure agrees, or is told to differ; what is not known stays unknown."""

import msgspec
import pytest

from migrations_app.actions.observation import RunObservation
from migrations_app.rehearsals.comparison import ForecastComparison, compare
from tests.builders.rehearsals import played


@pytest.fixture(scope="module")
def told():
    return played()[0].result


def one_by_one(names):
    """Each node first seen at a look of its own."""
    return tuple((name,) for name in names)


def seen_as(told, **changed):
    """What gates would see of a run that goes as foretold."""
    held = {one.by: tuple(f"shop/{one.by}-{number}" for number in range(one.pods)) for one in told.held}
    leaving = {told.drained[0]: told.pods_moved}
    values = {
        "looks": 9,
        "nodes_peak": told.nodes_peak,
        "drained": one_by_one(told.drained),
        "held": held,
        "leaving": leaving,
    }
    return RunObservation(**(values | changed))


def agreements(told, seen, seconds=None):
    found = compare(
        told, seen, seconds=told.seconds if seconds is None else seconds, ended="succeeded", between_looks=2
    )
    return dict(found.agreements)


def test_a_run_as_foretold_agrees_in_everything(told):
    assert set(agreements(told, seen_as(told)).values()) == {"as_foretold"}


@pytest.mark.parametrize(
    ("changed", "measure", "word"),
    [
        ({"nodes_peak": 99}, "nodes_peak", "more"),
        ({"nodes_peak": 1}, "nodes_peak", "less"),
        ({"nodes_peak": None}, "nodes_peak", "unknown"),
        ({"leaving": {}}, "pods_moved", "less"),
        ({"held": {"annotation": ("shop/p",)}}, "budgets_held", "other"),
        ({"held": {}}, "budgets_held", "less"),
        ({"looks": 0}, "budgets_held", "unknown"),
        ({"looks": 0}, "order", "unknown"),
    ],
)
def test_each_difference_is_told_where_it_is(told, changed, measure, word):
    assert agreements(told, seen_as(told, **changed))[measure] == word


def test_the_order_of_nodes_is_compared(told):
    turned = (told.drained[1], told.drained[0], *told.drained[2:])
    for drained, word in (
        (turned, "other"), (told.drained[:-1], "less"), ((*told.drained, "late"), "more"), ((), "less"),
    ):  # fmt: skip
        assert agreements(told, seen_as(told, drained=one_by_one(drained)))["order"] == word


def test_nodes_that_were_seen_at_the_same_look_have_no_order(told):
    first, second, *rest = told.drained
    looks = ((second, first), *one_by_one(rest))
    assert agreements(told, seen_as(told, drained=looks))["order"] == "as_foretold"
    assert agreements(told, seen_as(told, drained=(tuple(rest), (first, second))))["order"] == "other"


def test_a_time_within_a_tenth_is_as_foretold(told):
    for seconds, word in (
        (told.seconds * 109 // 100, "as_foretold"), (told.seconds * 2, "more"), (1, "less"),
    ):  # fmt: skip
        assert agreements(told, seen_as(told), seconds)["seconds"] == word


def test_the_waiting_for_two_looks_is_no_difference(told):
    short = msgspec.structs.replace(told, seconds=0)
    assert [agreements(short, seen_as(told), seconds)["seconds"] for seconds in (4, 5)] == ["as_foretold", "more"]


def test_what_was_not_foretold_stays_unknown(told):
    blind = msgspec.structs.replace(told, nodes_peak=None, held=None)
    found = agreements(blind, seen_as(told))
    assert (found["nodes_peak"], found["budgets_held"]) == ("unknown", "unknown")


def test_it_is_stored_and_read_again(told):
    found = compare(told, seen_as(told, held={"annotation": ("a/b",)}), seconds=1, ended="failed", between_looks=2)
    assert msgspec.convert(msgspec.to_builtins(found), type=ForecastComparison) == found
