"""Each region has its partition, and each partition the region of its IAM and the suffix of its host names."""

import json
from pathlib import Path

import botocore
import pytest

from migrations_app.iam.partitions import (
    PARTITIONS,
    dns_suffix_of,
    iam_region_of,
    known_partition_of,
    partition_of,
)

PUBLISHED = json.loads(Path(botocore.__file__).with_name("data").joinpath("partitions.json").read_text())["partitions"]
REGIONS = [
    (region, one["id"], one["outputs"]["dnsSuffix"])
    for one in PUBLISHED
    for region in one["regions"]
    if not region.endswith("-global")
]


@pytest.mark.parametrize(
    ("region", "partition"),
    [
        ("eu-west-1", "aws"),
        ("cn-north-1", "aws-cn"),
        ("us-gov-west-1", "aws-us-gov"),
        ("us-iso-east-1", "aws-iso"),
        ("us-isob-east-1", "aws-iso-b"),
        ("us-isof-south-1", "aws-iso-f"),
        ("eu-isoe-west-1", "aws-iso-e"),
        ("eusc-de-east-1", "aws-eusc"),
        ("mx-central-1", "aws"),
    ],
)
def test_a_region_has_its_partition(region, partition):
    assert partition_of(region) == known_partition_of(region) == partition


@pytest.mark.parametrize("region", ["", "zz-north-1", "us-isox-east-1", "eu-west-1\n", "eu-west-x", "aws"])
def test_a_region_of_no_known_partition(region):
    assert (known_partition_of(region), partition_of(region)) == ("", "aws")


@pytest.mark.parametrize(("region", "partition", "suffix"), REGIONS)
def test_every_region_that_aws_publishes(region, partition, suffix):
    assert (known_partition_of(region), dns_suffix_of(partition)) == (partition, suffix)


def test_iam_answers_in_one_region_of_each_partition():
    assert {one.name for one in PARTITIONS} == {one["id"] for one in PUBLISHED}
    assert all(known_partition_of(iam_region_of(one.name)) == one.name for one in PARTITIONS)
    assert (iam_region_of("aws-new"), dns_suffix_of("aws-new")) == ("us-east-1", "amazonaws.com")
