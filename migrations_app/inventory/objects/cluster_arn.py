"""The account, region and EKS cluster that AWS facts belong to, and parsing of cluster and role ARNs."""

import re
from dataclasses import dataclass

from migrations_app.errors import InvalidInput
from migrations_app.iam.partitions import partition_of

_REGION = re.compile(r"[a-z]{2,5}(-[a-z]{2,12}){1,3}-\d{1,2}", re.ASCII)
_ACCOUNT = re.compile(r"\d{12}", re.ASCII)
_CLUSTER = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,99}", re.ASCII)
_CLUSTER_ARN = re.compile(
    r"arn:(?P<partition>aws[a-z-]{0,20}):eks:(?P<region>[a-z0-9-]{1,40}):(?P<account>\d{12}):cluster/(?P<name>.{1,100})",
    re.ASCII,
)
_ROLE_ARN = re.compile(
    r"arn:(?P<partition>aws[a-z-]{0,20}):iam::(?P<account>\d{12}):role/"
    r"(?P<path>(?:[\x21-\x2e\x30-\x7e]+/)*)(?P<name>[\w+=,.@-]{1,64})",
    re.ASCII,
)

LONGEST_ROLE_ARN = 640
"""A path of 512 characters plus a name of 64; truncating a longer text could produce the ARN of another role."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsPlace:
    """One EKS cluster. `account` is empty if it is not known: name and region do not imply it."""

    region: str
    cluster: str
    account: str = ""

    @property
    def partition(self) -> str:
        return partition_of(self.region)

    @property
    def arn(self) -> str:
        """The cluster's ARN; its account is empty if it is not known."""
        return f"arn:{self.partition}:eks:{self.region}:{self.account}:cluster/{self.cluster}"


def read_place(text: str, *, region: str = "") -> AwsPlace:
    """The cluster given by an ARN, or by a name and a region. Raises InvalidInput with the field in `where`."""
    name_or_arn = text.strip()
    if not name_or_arn.startswith("arn:"):
        return _checked(AwsPlace(region=region.strip(), cluster=name_or_arn), where="cluster")
    match = _CLUSTER_ARN.fullmatch(name_or_arn[:300])
    if match is None:
        raise InvalidInput("not the ARN of an EKS cluster", code="bad_arn", where="arn")
    place = AwsPlace(region=match["region"], cluster=match["name"], account=match["account"])
    if place.partition != match["partition"]:
        raise InvalidInput(
            f"{place.region} is no region of the partition {match['partition']}", code="bad_arn", where="arn"
        )
    if region.strip() not in ("", place.region):
        raise InvalidInput(f"the ARN names the region {place.region}", code="bad_region", where="region")
    return _checked(place, where="arn")


def _checked(place: AwsPlace, *, where: str) -> AwsPlace:
    if not _REGION.fullmatch(place.region):
        raise InvalidInput("a region such as eu-west-1 is needed", code="bad_region", where="region")
    if not _CLUSTER.fullmatch(place.cluster):
        raise InvalidInput("not the name of an EKS cluster", code="bad_name", where=where)
    return place


@dataclass(frozen=True, slots=True)
class RoleArn:
    """The parts of a role's ARN. `path` has no leading slash: `team/` or empty."""

    partition: str
    account: str
    path: str
    name: str

    def __str__(self) -> str:
        return f"arn:{self.partition}:iam::{self.account}:role/{self.path}{self.name}"


def read_role_arn(text: str) -> RoleArn | None:
    """The parts of a role ARN; None for anything else."""
    match = _ROLE_ARN.fullmatch(text) if len(text) <= LONGEST_ROLE_ARN else None
    return RoleArn(match["partition"], match["account"], match["path"], match["name"]) if match else None


def is_cluster_name(text: str) -> bool:
    return _CLUSTER.fullmatch(text) is not None


def is_account(text: str) -> bool:
    return _ACCOUNT.fullmatch(text) is not None
