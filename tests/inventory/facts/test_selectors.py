import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.inventory.facts.workloads import selects
from migrations_app.inventory.objects.karpenter import LabelSelector

LABELS = {"app": "web", "tier": "front"}


def a_selector(**fields) -> LabelSelector:
    return msgspec.convert(fields, LabelSelector)


def expression(key: str, operator: str, *values: str) -> LabelSelector:
    return a_selector(matchExpressions=[{"key": key, "operator": operator, "values": list(values)}])


@pytest.mark.parametrize(
    "selector",
    [
        a_selector(),
        a_selector(matchLabels={"app": "web"}),
        expression("app", "In", "api", "web"),
        expression("app", "NotIn", "api"),
        expression("other", "NotIn", "api"),
        expression("tier", "Exists"),
        expression("other", "DoesNotExist"),
    ],
)
def test_what_is_selected(selector):
    assert selects(selector, LABELS)


@pytest.mark.parametrize(
    "selector",
    [
        None,
        a_selector(matchLabels={"app": "api"}),
        a_selector(matchLabels={"app": "web", "other": "x"}),
        expression("app", "In", "api"),
        expression("app", "NotIn", "web"),
        expression("other", "Exists"),
        expression("tier", "DoesNotExist"),
        expression("tier", "Odd"),
    ],
)
def test_what_is_not(selector):
    assert not selects(selector, LABELS)


words = st.sampled_from(["a", "b", "c"])


@given(st.dictionaries(words, words), words, st.lists(words, min_size=1))
def test_opposite_operators_never_agree(labels, key, values):
    assert selects(expression(key, "In", *values), labels) != selects(expression(key, "NotIn", *values), labels)
    assert selects(expression(key, "Exists"), labels) != selects(expression(key, "DoesNotExist"), labels)
