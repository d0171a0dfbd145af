import pytest

from migrations_app.iam.conditions import OPERATORS, holds, known
from migrations_app.iam.policy import PolicyCondition

SENT = {
    "name": ("Blue",),
    "empty": ("",),
    "count": ("5",),
    "when": ("2026-11-21T10:00:00Z",),
    "epoch": ("1795255200",),
    "flag": ("true",),
    "address": ("10.1.2.3",),
    "six": ("2001:db8::1",),
    "arn": ("arn:aws:eks:eu-west-1:111122223333:cluster/blue",),
    "blob": ("QmFzZTY0",),
    "keys": ("a", "b"),
    "absent": (),
}


def met(operator, key, *values):
    return holds(PolicyCondition(operator=operator, key=key, values=values), SENT.get, variables=True)


@pytest.mark.parametrize(
    ("operator", "key", "values", "expected"),
    [
        ("StringEquals", "name", ["Blue"], True),
        ("StringEquals", "name", ["blue"], False),
        ("StringEquals", "name", ["red", "Blue"], True),
        ("StringEquals", "name", ["B*"], False),
        ("StringEquals", "empty", [""], True),
        ("StringNotEquals", "name", ["red", "green"], True),
        ("StringNotEquals", "name", ["red", "Blue"], False),
        ("StringEqualsIgnoreCase", "name", ["BLUE"], True),
        ("StringNotEqualsIgnoreCase", "name", ["BLUE"], False),
        ("StringLike", "name", ["B*e"], True),
        ("StringLike", "empty", ["*"], True),
        ("StringLike", "empty", ["?*"], False),
        ("StringLike", "name", ["b*"], False),
        ("StringNotLike", "name", ["B*"], False),
        ("StringNotLike", "name", ["R*"], True),
        ("NumericEquals", "count", ["5.0"], True),
        ("NumericNotEquals", "count", ["5"], False),
        ("NumericLessThan", "count", ["5"], False),
        ("NumericLessThanEquals", "count", ["5"], True),
        ("NumericGreaterThan", "count", ["4"], True),
        ("NumericGreaterThanEquals", "count", ["6"], False),
        ("NumericEquals", "name", ["5"], False),
        ("NumericNotEquals", "name", ["5"], True),
        ("DateEquals", "when", ["2026-11-21T12:00:00+02:00"], True),
        ("DateNotEquals", "when", ["2026-11-22T00:00:00Z"], True),
        ("DateLessThan", "when", ["2026-11-21"], False),
        ("DateLessThanEquals", "epoch", ["2026-11-21T10:00:00Z"], True),
        ("DateGreaterThan", "when", ["1700000000"], True),
        ("DateGreaterThanEquals", "when", ["2027-01-01T00:00:00Z"], False),
        ("Bool", "flag", ["True"], True),
        ("Bool", "flag", ["false"], False),
        ("BinaryEquals", "blob", ["QmFzZTY0"], True),
        ("BinaryEquals", "blob", ["QmFzZTY1"], False),
        ("IpAddress", "address", ["10.0.0.0/8"], True),
        ("IpAddress", "address", ["2001:db8::/32", "192.168.0.0/16"], False),
        ("NotIpAddress", "six", ["2001:db8::/32"], False),
        ("IpAddress", "name", ["10.0.0.0/8"], False),
        ("ArnEquals", "arn", ["arn:aws:eks:*:*:cluster/b*"], True),
        ("ArnLike", "arn", ["arn:aws:eks:*:*:cluster/red"], False),
        ("ArnNotEquals", "arn", ["arn:aws:eks:*:*:cluster/red"], True),
        ("ArnNotLike", "arn", ["arn:aws:eks:*:*:*"], False),
        ("Null", "name", ["false"], True),
        ("Null", "name", ["True"], False),
        ("Null", "absent", ["true"], True),
        ("Null", "empty", ["true"], False),
        ("stringequals", "name", ["Blue"], True),
    ],
)
def test_each_operator(operator, key, values, expected):
    assert met(operator, key, *values) is expected


@pytest.mark.parametrize("bare", sorted(OPERATORS))
def test_a_key_that_is_not_sent(bare):
    """A plain test fails, a negated one holds, IfExists holds, ForAllValues holds, ForAnyValue never does."""
    assert met(bare, "absent", "1") is OPERATORS[bare].inverse
    assert met(f"{bare}IfExists", "absent", "1") is True
    assert met(f"ForAllValues:{bare}", "absent", "1") is True
    assert met(f"ForAnyValue:{bare}", "absent", "1") is False
    assert met(f"ForAnyValue:{bare}IfExists", "absent", "1") is True


@pytest.mark.parametrize("qualifier", ["", "ForAllValues:", "ForAnyValue:"])
@pytest.mark.parametrize("suffix", ["", "IfExists"])
@pytest.mark.parametrize("bare", sorted(OPERATORS))
def test_a_key_that_nobody_stated_decides_nothing(qualifier, bare, suffix):
    assert met(f"{qualifier}{bare}{suffix}", "unstated", "1") is None


def test_null_of_a_key_that_nobody_stated_decides_nothing():
    assert met("Null", "unstated", "true") is None
    assert met("Null", "unstated", "false") is None


@pytest.mark.parametrize(
    ("operator", "values", "expected"),
    [
        ("ForAllValues:StringEquals", ["a", "b", "c"], True),
        ("ForAllValues:StringEquals", ["a"], False),
        ("ForAllValues:StringNotEquals", ["c"], True),
        ("ForAllValues:StringNotEquals", ["b"], False),
        ("ForAllValues:StringLike", ["?"], True),
        ("ForAnyValue:StringEquals", ["b", "z"], True),
        ("ForAnyValue:StringEquals", ["z"], False),
        ("ForAnyValue:StringNotEquals", ["a"], True),
        ("ForAnyValue:StringNotEquals", ["a", "b"], False),
        ("StringEquals", ["a"], None),
        ("StringNotEquals", ["z"], None),
    ],
)
def test_a_key_with_several_values(operator, values, expected):
    assert met(operator, "keys", *values) is expected


@pytest.mark.parametrize(
    ("operator", "key", "values"),
    [
        ("StringMatches", "name", ["Blue"]),
        ("ForSomeValues:StringEquals", "name", ["Blue"]),
        ("ForAllValues:Null", "name", ["true"]),
        ("NullIfExists", "name", ["true"]),
        ("", "name", ["Blue"]),
        ("StringEquals", "name", []),
        ("StringEquals", "tag/${Cluster}", ["Blue"]),
        ("StringEquals", "name", ["${Cluster}"]),
        ("NumericEquals", "count", ["many"]),
        ("NumericEquals", "count", ["NaN"]),
        ("NumericEquals", "count", ["${Count}"]),
        ("DateEquals", "when", ["tomorrow"]),
        ("IpAddress", "address", ["here"]),
        ("Null", "name", ["perhaps"]),
    ],
)
def test_what_decides_nothing(operator, key, values):
    assert met(operator, key, *values) is None


def test_operators_that_iam_knows():
    assert known("ForAnyValue:StringLikeIfExists")
    assert known("Null")
    assert not known("StringLikes")


def test_a_variable_without_value_matches_nothing_also_where_numbers_are_compared():
    assert met("NumericEquals", "count", "${aws:absent}") is None
    assert (
        holds(
            PolicyCondition(operator="NumericEquals", key="count", values=("${aws:none}",)),
            lambda key: () if key == "aws:none" else SENT.get(key),
            variables=True,
        )
        is False
    )
