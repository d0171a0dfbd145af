"""Where a cluster is: ARNs, names and regions as people give them, and role ARNs as clusters name them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.errors import InvalidInput
from migrations_app.inventory.objects.cluster_arn import AwsPlace, RoleArn, read_place, read_role_arn

ARN = "arn:aws:eks:eu-west-1:111122223333:cluster/shop"


def refusal(text, region=""):
    with pytest.raises(InvalidInput) as caught:
        read_place(text, region=region)
    return caught.value.code, caught.value.where


def test_an_arn_tells_all():
    place = read_place(f" {ARN}\n")
    assert place == AwsPlace(region="eu-west-1", cluster="shop", account="111122223333")
    assert place.arn == ARN
    assert read_place(ARN, region="eu-west-1") == place


def test_a_name_needs_its_region_and_knows_no_account():
    assert read_place("shop", region="cn-north-1") == AwsPlace(region="cn-north-1", cluster="shop")
    assert read_place("shop", region="cn-north-1").arn == "arn:aws-cn:eks:cn-north-1::cluster/shop"


@pytest.mark.parametrize(
    ("text", "region", "refused"),
    [
        ("shop", "", ("bad_region", "region")),
        ("shop", "eu-west-1.evil.example", ("bad_region", "region")),
        ("shop", "EU-WEST-1", ("bad_region", "region")),
        ("", "eu-west-1", ("bad_name", "cluster")),
        ("../shop", "eu-west-1", ("bad_name", "cluster")),
        ("s" * 101, "eu-west-1", ("bad_name", "cluster")),
        (ARN, "eu-west-2", ("bad_region", "region")),
        (ARN.replace("cluster/", "nodegroup/"), "", ("bad_arn", "arn")),
        (ARN.replace("arn:aws:", "arn:aws-cn:"), "", ("bad_arn", "arn")),
        (ARN.replace("111122223333", "1111"), "", ("bad_arn", "arn")),
        (ARN.replace("shop", "a/b"), "", ("bad_name", "arn")),
        ("arn:aws:iam::111122223333:role/x", "", ("bad_arn", "arn")),
    ],
)
def test_what_is_no_cluster_is_refused_by_field(text, region, refused):
    assert refusal(text, region) == refused


def test_a_role_arn_comes_apart_and_together():
    arn = "arn:aws-cn:iam::111122223333:role/team/a/Karpenter@1"
    assert read_role_arn(arn) == RoleArn("aws-cn", "111122223333", "team/a/", "Karpenter@1")
    assert str(read_role_arn(arn)) == arn


@pytest.mark.parametrize(
    "text",
    ["", "Karpenter", "arn:aws:iam::1:role/x", "arn:aws:iam::111122223333:user/x", "arn:aws:iam::111122223333:role/",
     "arn:aws:iam::111122223333:role/a b", "arn:aws:iam::111122223333:role/" + "a/" * 400 + "x"],
)  # fmt: skip
def test_what_is_no_role_arn_is_none(text):
    assert read_role_arn(text) is None


@given(st.text(max_size=80), st.text(max_size=30))
def test_any_text_is_a_place_or_a_refusal_with_a_code(text, region):
    try:
        told = read_place(text, region=region).cluster
    except InvalidInput as refused:
        told = refused.code
    assert told in {"bad_arn", "bad_name", "bad_region", text.strip(), text.strip().rpartition("/")[2]}
