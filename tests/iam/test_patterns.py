import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.iam.patterns import action_matches, arn_matches, matches, resource_matches, tokens_of
from migrations_app.iam.three_valued_logic import all_of, any_of, negated
from tests.growth import LINEAR, growth

KNOWN = {"aws:PrincipalTag/team": ("blue",), "aws:RequestedRegion": ("eu-west-1",), "aws:username": ()}


def lookup(key):
    return KNOWN.get(key)


def text_matches(pattern, text, *, variables=True, wildcards=True):
    return matches(tokens_of(pattern, lookup, variables=variables, wildcards=wildcards), text)


@pytest.mark.parametrize(
    ("pattern", "action", "expected"),
    [
        ("ec2:RunInstances", "ec2:RunInstances", True),
        ("EC2:runinstances", "ec2:RunInstances", True),
        ("ec2:Run*", "ec2:RunInstances", True),
        ("ec2:*Instance?", "ec2:RunInstances", True),
        ("ec2:*Instance?", "ec2:RunInstance", False),
        ("*", "ec2:RunInstances", True),
        ("ec2:Describe*", "ec2:RunInstances", False),
        ("ec2:RunInstances ", "ec2:RunInstances", False),
        ("iam:*", "ec2:RunInstances", False),
        ("${Service}:RunInstances", "ec2:RunInstances", None),
        ("${Service}:StopInstances", "ec2:RunInstances", False),
    ],
)
def test_actions(pattern, action, expected):
    assert action_matches(pattern, action) is expected


@pytest.mark.parametrize(
    ("pattern", "resource", "expected"),
    [
        ("*", "arn:aws:ec2:eu-west-1:1:subnet/s", True),
        ("arn:aws:ec2:*:*:subnet/*", "arn:aws:ec2:eu-west-1:1:subnet/s", True),
        ("arn:aws:ec2:*:*:Subnet/*", "arn:aws:ec2:eu-west-1:1:subnet/s", False),
        ("arn:aws:ec2", "arn:aws:ec2:eu-west-1:1:subnet/s", True),
        ("arn:aws:sqs", "arn:aws:ec2:eu-west-1:1:subnet/s", False),
        ("arn:aws:ec2:*:*:launch-template/lt-1", "arn:aws:ec2:eu-west-1:1:launch-template/*", False),
        ("arn:aws:ec2:${aws:RequestedRegion}:*:subnet/*", "arn:aws:ec2:eu-west-1:1:subnet/s", True),
        ("arn:aws:ec2:${aws:RequestedRegion}:*:subnet/*", "arn:aws:ec2:eu-west-2:1:subnet/s", False),
        ("arn:aws:ec2:${Somewhere}:*:subnet/*", "arn:aws:ec2:eu-west-2:1:subnet/s", None),
        ("arn:aws:ec2:${Somewhere}:*:image/*", "arn:aws:ec2:eu-west-2:1:subnet/s", False),
        ("arn:aws:iam::1:role/p/*", "arn:aws:iam::1:role/p/q/r", True),
        ("arn:aws:iam::1:instance-profile/*", "*", False),
    ],
)
def test_resources(pattern, resource, expected):
    assert resource_matches(pattern, resource, lookup=lookup, variables=True) is expected


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("team-${aws:PrincipalTag/team}", "team-blue", True),
        ("team-${aws:PrincipalTag/team}", "team-red", False),
        ("user-${aws:username}", "user-", False),
        ("user-${aws:username, 'nobody'}", "user-nobody", True),
        ("${aws:PrincipalTag/other}", "anything", None),
        ("a${*}b", "a*b", True),
        ("a${*}b", "axb", False),
        ("a${?}${$}", "a?$", True),
        ("$", "$", True),
        ("${", "${", True),
        ("${}", "x", None),
        ("", "", True),
        ("?*", "", False),
        ("a\nb*", "a\nbc", True),
    ],
)
def test_variables_and_literal_wildcards(pattern, text, expected):
    assert text_matches(pattern, text) is expected


def test_a_document_of_2008_has_no_variables():
    assert text_matches("${aws:username}", "${aws:username}", variables=False) is True
    assert text_matches("${aws:PrincipalTag/team}", "blue", variables=False) is False


def test_equality_takes_stars_as_they_are():
    assert text_matches("a*", "a*", wildcards=False) is True
    assert text_matches("a*", "ab", wildcards=False) is False


@pytest.mark.parametrize(
    ("pattern", "arn", "expected"),
    [
        ("arn:aws:eks:*:*:cluster/*", "arn:aws:eks:eu-west-1:1:cluster/x", True),
        ("arn:aws:*:cluster/*", "arn:aws:eks:eu-west-1:1:cluster/x", False),
        ("arn:aws:eks:*:*:cluster/*", "cluster/x", False),
        ("arn:aws:eks:${R}:*:cluster/*", "arn:aws:eks:eu-west-1:1:cluster/x", None),
        ("${Arn}", "arn:aws:eks:eu-west-1:1:cluster/x", None),
        ("arn:aws:sqs:eu-west-1:1:a:*", "arn:aws:sqs:eu-west-1:1:a:b:c", True),
    ],
)
def test_arns_field_by_field(pattern, arn, expected):
    assert arn_matches(tokens_of(pattern, lookup, variables=True, wildcards=True), arn) is expected


def test_an_arn_with_a_variable_without_value_matches_nothing():
    assert arn_matches(None, "arn:aws:eks:eu-west-1:1:cluster/x") is False


@pytest.mark.parametrize(
    "pattern", ["*a" * 200 + "b", "*a?" * 100 + "b", "*?a" * 100 + "*b", "${x}" + "*a?" * 100 + "b"]
)
def test_the_cost_of_many_stars_grows_with_the_text(pattern):
    assert text_matches(pattern, "a" * 1000) is False
    assert growth(lambda size: text_matches(pattern, "a" * size), small=1_000, large=16_000) < LINEAR


def _slow(pattern, text):
    if not pattern:
        return not text
    if pattern[0] == "*":
        return _slow(pattern[1:], text) or (bool(text) and _slow(pattern, text[1:]))
    return bool(text) and pattern[0] in ("?", text[0]) and _slow(pattern[1:], text[1:])


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=8))
def test_wildcards_agree_with_their_definition(pattern, text):
    assert text_matches(pattern, text) is _slow(pattern, text)


@given(st.lists(st.sampled_from([True, False, None]), max_size=5))
def test_three_valued_logic(values):
    expected = True if True in values else None if None in values else False
    assert any_of(iter(values)) is expected
    assert all_of(negated(value) for value in values) is negated(expected)


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=8))
def test_wildcards_mean_what_an_expression_says(pattern, text):
    expression = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    wanted = re.fullmatch(expression, text) is not None
    assert text_matches(pattern, text) is wanted
    assert action_matches(pattern, text) is wanted
    assert resource_matches(pattern, text, lookup=lookup, variables=True) is wanted


@pytest.mark.parametrize("end", ["", "?"])
def test_no_pattern_of_thousands_is_compiled(end, monkeypatch):
    monkeypatch.setattr(re, "compile", None)
    patterns = [f"arn:aws:ec2:*:{'*a' * 20}{number:05d}{end}" for number in range(1000)]
    arn = "arn:aws:ec2:eu-west-1:1:instance/i-0"
    assert not any(resource_matches(one, arn, lookup=lookup, variables=True) for one in patterns)
