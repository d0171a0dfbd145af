"""Which tags of instances are kept, and by which of them each release of the controller finds its instances."""

from collections.abc import Iterator

from migrations_app.inventory.aws import TaggedInstances
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import Claim
from migrations_app.karpenter import labels
from migrations_app.karpenter.iam.ranges import Minor

_TELLING = ("karpenter.", "kubernetes.io/cluster/")
BY_NODEPOOL: Minor = (0, 33)
BY_NODE_CLASS: Minor = (0, 34)
BY_CLUSTER_NAME: Minor = (1, 1)
"""Since when a tag has to be there.

Source: pkg/providers/instance/instance.go of aws/karpenter-provider-aws at v0.33.12, v0.34.13 and v1.1.10."""


def telling(key: str) -> bool:
    """Whether a tag of that key is kept where an instance carries it; what is not kept may be there or not."""
    # The claim's name differs on every node and tells nothing here.
    if key == labels.NODECLAIM:
        return False
    return key == labels.CLUSTER_NAME_TAG or key.startswith(_TELLING)


def spelled(group: TaggedInstances) -> str:
    """The tags of a group for people, in one line."""
    return " ".join(f"{key}={value}" for key, value in group.tags)


def first_ids(group: TaggedInstances) -> str:
    """Ids of the group: all of them, or the first with three dots behind."""
    return " ".join(group.samples) + (" ..." if group.count > len(group.samples) else "")


def unlisted_by(group: TaggedInstances, minor: Minor, *, cluster: str) -> Iterator[tuple[str, str, str]]:
    """What the group lacks of the tags by which that minor lists instances: key, what it has, what is wanted."""
    tags = dict(group.tags)
    for key, since in ((labels.NODEPOOL, BY_NODEPOOL), (labels.EC2_NODE_CLASS, BY_NODE_CLASS)):
        if minor >= since and key not in tags:
            yield key, "absent", "any value"
    if minor >= BY_CLUSTER_NAME and tags.get(labels.CLUSTER_NAME_TAG) != cluster:
        yield labels.CLUSTER_NAME_TAG, tags.get(labels.CLUSTER_NAME_TAG, "absent"), cluster


def all_named(groups: tuple[TaggedInstances, ...], *, cluster: str) -> bool:
    """Whether every instance of a NodePool carries its cluster's name as 1.1 wants it."""
    mine = [dict(group.tags) for group in groups if labels.NODEPOOL in dict(group.tags)]
    return all(tags.get(labels.CLUSTER_NAME_TAG) == cluster for tags in mine)


def without_claim(group: TaggedInstances, claimed: frozenset[str]) -> int:
    """How many of the group are known to have no claim: all where nothing is claimed, else those among its samples."""
    return sum(one not in claimed for one in group.samples) if claimed else group.count


def claimed_ids(inventory: Inventory) -> frozenset[str]:
    """Ids of the instances behind Machines and NodeClaims."""
    claims: tuple[Claim, ...] = (*inventory.machines.items, *inventory.nodeclaims.items)
    return frozenset(one.provider_id.rpartition("/")[2] for one in claims if one.provider_id)
