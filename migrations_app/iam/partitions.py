"""The partitions of AWS: which one a region belongs to, the region of its IAM, and the suffix of its host names."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """One partition. `iam_region` is the one region that IAM has there, which aws:RequestedRegion names."""

    name: str
    regions: str
    """A pattern for the names of its regions."""
    iam_region: str
    dns_suffix: str


# Source: botocore 1.44.5 data/partitions.json (regionRegex, implicitGlobalRegion, dnsSuffix) and endpoints.json (the
# credentialScope of iam); the patterns are wider, so that a new place in a known partition is recognized.
PARTITIONS = (
    Partition(
        name="aws",
        regions=r"(us|eu|ap|sa|ca|me|af|il|mx)-[a-z]+-\d+",
        iam_region="us-east-1",
        dns_suffix="amazonaws.com",
    ),
    Partition(name="aws-cn", regions=r"cn-.+", iam_region="cn-north-1", dns_suffix="amazonaws.com.cn"),
    Partition(name="aws-us-gov", regions=r"us-gov-.+", iam_region="us-gov-west-1", dns_suffix="amazonaws.com"),
    Partition(name="aws-iso", regions=r"us-iso-.+", iam_region="us-iso-east-1", dns_suffix="c2s.ic.gov"),
    Partition(name="aws-iso-b", regions=r"us-isob-.+", iam_region="us-isob-east-1", dns_suffix="sc2s.sgov.gov"),
    Partition(name="aws-iso-e", regions=r"eu-isoe-.+", iam_region="eu-isoe-west-1", dns_suffix="cloud.adc-e.uk"),
    Partition(name="aws-iso-f", regions=r"us-isof-.+", iam_region="us-isof-south-1", dns_suffix="csp.hci.ic.gov"),
    Partition(name="aws-eusc", regions=r"eusc-.+", iam_region="eusc-de-east-1", dns_suffix="amazonaws.eu"),
)
_EC2 = "ec2.amazonaws.com"
_EC2_OF = {
    "aws": (_EC2,),
    "aws-us-gov": (_EC2,),
    "aws-cn": (_EC2, "ec2.amazonaws.com.cn"),
    "aws-iso": ("ec2.c2s.ic.gov", _EC2),
    "aws-iso-b": ("ec2.sc2s.sgov.gov", _EC2),
    "aws-iso-e": (_EC2,),
    "aws-iso-f": (_EC2,),
    "aws-eusc": (_EC2,),
}
"""The names of EC2 in trust policies, of the partitions where they are known; the usual one last.

Source: aws/karpenter-provider-aws#6839, terraform-aws-modules/terraform-aws-eks#3422. In aws-iso and aws-iso-b
the usual name works as well as the former one of the partition (aws/aws-cdk#22589, aws/aws-cli#8709); for aws-iso-e and
aws-iso-f eksctl has the usual name alone (eksctl-io/eksctl@v0.202.0:pkg/apis/eksctl.io/v1alpha5/partitions.go). IAM of
aws-eusc refuses ec2.amazonaws.eu (pulumi/pulumi-eks#2341).
"""
_BY_NAME = {partition.name: partition for partition in PARTITIONS}
_COMMERCIAL = PARTITIONS[0]


def known_partition_of(region: str) -> str:
    """The name of the partition of the region; empty if no known partition has regions of such a name."""
    return next((one.name for one in PARTITIONS if re.fullmatch(one.regions, region, re.ASCII)), "")


def partition_of(region: str) -> str:
    """The name of the partition of the region; `aws` for a region that no known partition has."""
    return known_partition_of(region) or _COMMERCIAL.name


def iam_region_of(partition: str) -> str:
    """The region in which IAM answers in that partition; that of `aws` for a partition that is not known."""
    return _BY_NAME.get(partition, _COMMERCIAL).iam_region


def ec2_services_of(partition: str) -> tuple[str, ...]:
    """The names by which a trust policy may call EC2 there, the usual one last; empty if that is not known."""
    return _EC2_OF.get(partition, ())


def dns_suffix_of(partition: str) -> str:
    """The suffix of the host names of services in that partition; that of `aws` for one that is not known."""
    return _BY_NAME.get(partition, _COMMERCIAL).dns_suffix
