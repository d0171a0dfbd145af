"""The settings on which requests depend, with the assumed defaults; what the node role needs; minors and spans of
minors.

Source of the node needs: getting-started-with-karpenter/cloudformation.yaml of aws/karpenter-provider-aws, v0.28.1
to v1.14.1.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from migrations_app.errors import InvalidInput
from migrations_app.karpenter.releases import RELEASES, Table


class Feature(StrEnum):
    """A setting without which the controller never sends the request."""

    SPEC_ROLE = "spec-role"
    AMI_ALIAS = "ami-alias"
    QUEUE = "queue"
    SPOT = "spot"
    IN_PLACE = "in-place"
    ENDPOINT_LOOKUP = "endpoint-lookup"
    OPEN_NETWORK = "open-network"
    DRY_RUN = "dry-run"
    RESERVATIONS = "capacity-reservations"
    PLACEMENT_GROUPS = "placement-groups"
    SNAPSHOTS = "snapshots"
    ZONAL_SHIFT = "zonal-shift"
    ASSUME_ROLE = "assume-role"
    BEFORE_MACHINES = "instances-of-0.27"


MEANING = {
    Feature.SPEC_ROLE: "a node class uses spec.role",
    Feature.AMI_ALIAS: "AMIs come from an AMI family or an alias",
    Feature.QUEUE: "an interruption queue is configured",
    Feature.SPOT: "spot capacity is allowed",
    Feature.IN_PLACE: "upgrade in place: instances, launch templates and profiles of 0.37 or older still exist",
    Feature.ENDPOINT_LOOKUP: (
        "clusterEndpoint is not set, or AL2023 nodes (0.35 on), eksControlPlane (1.1 on) or zonal shift (1.12 on)"
    ),
    Feature.OPEN_NETWORK: "isolated-VPC mode is off",
    Feature.DRY_RUN: "the launch rehearsal of node classes is not switched off (can be from 1.6.2)",
    Feature.RESERVATIONS: "a node class selects capacity reservations",
    Feature.PLACEMENT_GROUPS: "a node class selects a placement group",
    Feature.SNAPSHOTS: "a node class names a snapshotID in its block device mappings",
    Feature.ZONAL_SHIFT: "the zonal shift option is on",
    Feature.ASSUME_ROLE: "an assume-role ARN is configured; all other needs then fall on that role",
    Feature.BEFORE_MACHINES: "instances launched by 0.27 or older still run",
}

# All except the five rare options and the instances of 0.27.
ASSUMED = frozenset(
    {
        Feature.SPEC_ROLE,
        Feature.AMI_ALIAS,
        Feature.QUEUE,
        Feature.SPOT,
        Feature.IN_PLACE,
        Feature.ENDPOINT_LOOKUP,
        Feature.OPEN_NETWORK,
        Feature.DRY_RUN,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeNeed:
    """One need, met by any of `policies`; attach the first of them. `sure` False: it may be met in another way."""

    policies: tuple[str, ...]
    why: str
    sure: bool = True


NODE_NEEDS = (
    NodeNeed(policies=("AmazonEKSWorkerNodePolicy",), why="join the cluster and describe EC2"),
    NodeNeed(
        policies=(
            "AmazonEC2ContainerRegistryPullOnly",
            "AmazonEC2ContainerRegistryReadOnly",
            "AmazonEC2ContainerRegistryPowerUser",
            "AmazonEC2ContainerRegistryFullAccess",
        ),
        why="pull images",
    ),
    NodeNeed(
        policies=("AmazonEKS_CNI_Policy", "AmazonEKS_CNI_IPv6_Policy"),
        why="give pods addresses, unless the VPC CNI has a role of its own",
        sure=False,
    ),
)
EVERYTHING = frozenset({"AdministratorAccess", "PowerUserAccess"})


def needs_unmet(attached: Collection[str]) -> Iterator[NodeNeed]:
    """The needs that none of the attached policies meets, by policy name."""
    if not EVERYTHING.isdisjoint(attached):
        return
    for need in NODE_NEEDS:
        if not any(name in attached for name in need.policies):
            yield need


Minor = tuple[int, int]

_RELEASE = re.compile(r"v?(\d{1,3})\.(\d{1,3})(?:\.\d{1,3}(?:-[0-9A-Za-z.-]{1,40})?)?\+?", re.ASCII)


@dataclass(frozen=True)
class Span:
    """Minors from `since` to `until`, both included; without `until` up to the newest known release."""

    since: Minor
    until: Minor | None = None

    def __contains__(self, minor: object) -> bool:
        return isinstance(minor, tuple) and self.since <= minor and (self.until is None or minor <= self.until)


ALWAYS = Span(RELEASES[0].order)


def minor_text(minor: Minor) -> str:
    """`0.32` for (0, 32)."""
    return f"{minor[0]}.{minor[1]}"


def minor_of(release: str, *, table: Table = RELEASES) -> Minor:
    """The minor of a release such as `0.32`, `v1.0.14` or the hop `0.33+`. Raises InvalidInput if its needs are not
    known.
    """
    match = _RELEASE.fullmatch(release.strip())
    if match is None:
        raise InvalidInput(f"{release[:40]!r} is not a release; write it like 0.32 or 1.0.14")
    minor = int(match[1]), int(match[2])
    if minor not in every_minor(table=table):
        raise InvalidInput(f"permissions are known for {_known(table)}, not for {minor_text(minor)}")
    return minor


def every_minor(*, table: Table = RELEASES) -> tuple[Minor, ...]:
    """Every minor whose needs are known, oldest first: those of the release table."""
    return tuple(row.order for row in table)


def _known(table: Table) -> str:
    """The first and the last minor of each major, as text."""
    majors = [list(group) for _, group in groupby(every_minor(table=table), key=lambda minor: minor[0])]
    return " and ".join(f"{minor_text(group[0])} to {minor_text(group[-1])}" for group in majors)


OPERATOR = "v1.14.1:pkg/operator/operator.go"


@dataclass(frozen=True, kw_only=True)
class Need:
    """One action in a span of releases. `existing` distinguishes tagging running instances from tagging at creation,
    `request` is the id of the one request (requests.py) that the row is about; empty for any.
    """

    action: str
    span: Span = ALWAYS
    effect: str
    log: str = ""
    existing: bool = False
    request: str = ""
    source: str = OPERATOR
