"""Cards, outcomes and lines of a conversion, as values."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.conversion.convert import Item, convert
from migrations_app.conversion.findings import ConversionFinding
from migrations_app.conversion.objects import Options
from migrations_app.web.clusters import conversion_cards
from migrations_app.web.clusters.conversion_cards import ChangedText, cards, changed, outcome, tally
from tests.house.growth import assert_linear
from tests.web.clusters.conversions import BETA, BROKEN, POOL, TEMPLATE


def items(*bodies, **options):
    return convert(bodies, Options(**options)).items


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (POOL, "converted"),
        (TEMPLATE, "decide"),
        (BROKEN, "refused"),
        ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}, "other"),
        ({"apiVersion": "karpenter.sh/v1alpha5", "kind": "Machine", "metadata": {"name": "m"}}, "other"),
    ],
)
def test_outcomes(body, word):
    assert outcome(items(body)[0]).id == word


def test_an_object_that_is_there_already():
    (item,) = items(BETA, to="v1beta1")
    assert (outcome(item).id, changed([item])) == ("same", [])


def test_objects_for_viewing_only_are_no_change():
    item = Item(POOL, "beta", "NodeClaim", "x", objects=[POOL], view_only=True)
    assert changed([item]) == []


def test_an_error_wins_over_a_result():
    loss = ConversionFinding("bad-type", "Provisioner", "default", (), "")
    assert outcome(Item(POOL, "alpha", "Provisioner", "default", objects=[BETA], losses=[loss])).id == "refused"


def test_ids_are_unique_and_safe():
    odd = [{**POOL, "metadata": {"name": name}} for name in ("a.b", "a b", 'a"b', "A-B", "", "é" * 300)]
    found = [card.id for card in cards(items(*odd))]
    assert len(set(found)) == len(odd)
    assert all(set(one) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for one in found)


def test_ids_that_are_taken_are_counted_on():
    named = [{**POOL, "metadata": {"name": name}} for name in ("a", "a", "a", "a-2", "a-2")]
    ids = [card.id.removeprefix("provisioner-") for card in cards(items(*named))]
    assert sorted(ids) == ["a", "a-2", "a-2-2", "a-2-3", "a-3"]


def test_many_objects_of_one_name_cost_no_more_than_their_number():  # T04, T29
    def shown(size: int) -> Callable[[], object]:
        same = items(*[{"apiVersion": "v1", "kind": "x"}] * size)
        return lambda: cards(same)

    assert_linear(shown, sizes=(80, 160, 320))


def test_the_tally_counts_every_card():
    made = cards(items(POOL, TEMPLATE, BROKEN, BROKEN))
    assert [(look.id, count) for look, count in tally(made)] == [("refused", 2), ("decide", 1), ("converted", 1)]


def test_every_line_of_both_sides_is_shown_once():
    (card,) = cards(items(POOL))
    numbers = [line.row.old_number for line in card.lines if line.row.old_number]
    assert numbers == list(range(1, len(numbers) + 1))
    told = [(line.row.old_number, one.id) for line in card.lines for one in line.findings]
    assert sorted(told) == sorted((one.line, one.id) for one in card.findings)


def test_lines_run_out_and_the_rest_is_cut(monkeypatch):
    monkeypatch.setattr(conversion_cards, "MAX_LINES", 1)
    first, second = cards(items(POOL, BETA))
    assert (bool(first.lines), first.cut, second.lines, second.cut) == (True, False, (), True)
    assert [one.url for one in second.findings] == [""] * len(second.findings)


@pytest.mark.parametrize(
    ("old", "new", "pieces"),
    [
        ("  a: 1", "  a: 2", (ChangedText("  a: ", "1", ""), ChangedText("  a: ", "2", ""))),
        ("x/v1alpha1", "x/v1beta1", (ChangedText("x/v1alpha1", "", ""), ChangedText("x/v1beta1", "", ""))),
        (
            "karpenter.sh/v1alpha5",
            "karpenter.sh/v1",
            (ChangedText("karpenter.sh/", "v1alpha5", ""), ChangedText("karpenter.sh/", "v1", "")),
        ),
        ("kind: A", "weight: 100", (ChangedText("kind: A", "", ""), ChangedText("weight: 100", "", ""))),
        ("a: b c", "a: c", (ChangedText("a: ", "b ", "c"), ChangedText("a: ", "", "c"))),
    ],
)
def test_what_changed_in_a_line(old, new, pieces):
    assert conversion_cards._compared(old, new) == pieces


@given(st.text("ab: -", max_size=20), st.text("ab: -", max_size=20))
def test_pieces_make_up_the_line(old, new):
    assert tuple("".join(side) for side in conversion_cards._compared(old, new)) == (old, new)
