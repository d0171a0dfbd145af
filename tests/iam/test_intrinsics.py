import pytest

from migrations_app.iam.policy import text_of

REGION = {"Ref": "AWS::Region"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ("", ""),
        (REGION, "${AWS::Region}"),
        ({"Fn::GetAtt": ["Role", "Arn"]}, "${Role.Arn}"),
        ({"Fn::GetAtt": "Role.Arn"}, "${Role.Arn}"),
        ({"Fn::Sub": "a-${ClusterName}"}, "a-${ClusterName}"),
        ({"Fn::Sub": ["a-${C}-${AWS::Region}", {"C": {"Ref": "ClusterName"}}]}, "a-${ClusterName}-${AWS::Region}"),
        ({"Fn::Sub": ["${!aws:username}-${C}", {"C": "x"}]}, "${!aws:username}-x"),
        ({"Fn::Join": [":", ["arn", REGION, {"Fn::Sub": "b-${C}"}]]}, "arn:${AWS::Region}:b-${C}"),
        ({"Fn::Join": ["", []]}, ""),
        ({"Fn::ImportValue": "x"}, "${Fn::ImportValue}"),
        ({"Fn::If": ["a", "b", "c"]}, "${Fn::If}"),
    ],
)
def test_a_function_stands_for_a_text(value, text):
    assert text_of(value) == text


@pytest.mark.parametrize(
    "value",
    [
        None,
        1,
        [],
        {},
        {"Ref": 1, "a": 2},
        {"Ref": "a", "more": "b"},
        {"Fn::Sub": ["only a text"]},
        {"Fn::Sub": ["${C}", {"C": [1]}]},
        {"Fn::Join": [":", [{"a": "b", "c": "d"}]]},
        {"Statement": []},
    ],
)
def test_what_is_no_function_stands_for_none(value):
    assert text_of(value) is None


def test_functions_in_functions_without_end_stand_for_none():
    deep = "x"
    for _ in range(2_000):
        deep = {"Fn::Join": ["", [deep]]}
    assert text_of(deep) is None


def test_functions_that_repeat_a_text_again_and_again_stand_for_none():
    doubled = "x" * 10
    for _ in range(20):
        doubled = {"Fn::Sub": ["${A}${A}", {"A": doubled}]}
    assert text_of(doubled) is None
    assert text_of({"Fn::Sub": ["${A}" * 1_025, {"A": "x" * 10}]}) is None
    assert text_of({"Fn::Sub": ["${A}" * 1_024, {"A": "x" * 10}]}) == "x" * 10_240
    assert text_of({"Fn::Join": ["," * 1_025, ["a"] * 10]}) is None


def test_a_document_longer_than_what_may_be_repeated_is_read():
    long = "y" * 50_000
    assert text_of({"Fn::Sub": [f"{long}-${{A}}", {"A": "x"}]}) == f"{long}-x"
    assert text_of({"Fn::Join": [",", [long, "b"]]}) == f"{long},b"
