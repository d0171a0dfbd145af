"""What the role of nodes needs: managed policies, and who may take it on.

Source: getting-started-with-karpenter/cloudformation.yaml of aws/karpenter-provider-aws, v0.28.1 to v1.14.1.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeNeed:
    """One need, met by any of `policies`, the first of which is to be attached. `sure` False: may be met elsewhere."""

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
    """The needs that none of the attached policies meets, by name."""
    if not EVERYTHING.isdisjoint(attached):
        return
    for need in NODE_NEEDS:
        if not any(name in attached for name in need.policies):
            yield need
