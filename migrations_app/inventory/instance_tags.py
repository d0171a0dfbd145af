"""Which tags of instances are kept, and by which of them each release of the controller finds its instances."""

from collections.abc import Iterable

from migrations_app.inventory.aws import AwsSeen, TaggedInstances
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import Claim
from migrations_app.karpenter import labels
from migrations_app.karpenter.iam.ranges import Minor

_TELLING = ("karpenter.", "kubernetes.io/cluster/")
WRITES_CLUSTER_NAME: Minor = (1, 0)
LISTED_BY: tuple[tuple[str, Minor], ...] = (
    (labels.NODEPOOL, (0, 33)),
    (labels.EC2_NODE_CLASS, (0, 34)),
    (labels.CLUSTER_NAME_TAG, (1, 1)),
)
"""Since when instances are listed by a tag.

Source: pkg/providers/instance/instance.go of aws/karpenter-provider-aws at v0.33.12, v0.34.0 and v1.1.10."""


def telling(key: str) -> bool:
    """Whether a tag of that key is kept where an instance carries it; what is not kept may be there or not."""
    # The claim's name differs on every node and tells nothing here.
    if key == labels.NODECLAIM:
        return False
    return key == labels.CLUSTER_NAME_TAG or key.startswith(_TELLING)


def tags_text(group: TaggedInstances) -> str:
    """The tags of a group for people, in one line."""
    return " ".join(f"{key}={value}" for key, value in group.tags)


def first_ids(group: TaggedInstances) -> str:
    """Ids of the group: all of them, or the first with three dots behind."""
    return " ".join(group.samples) + (" ..." if group.count > len(group.samples) else "")


def owner_of(group: TaggedInstances) -> str:
    """Name of the pool, as kind and name."""
    tags = dict(group.tags)
    pool = tags.get(labels.NODEPOOL)
    return f"NodePool {pool}" if pool is not None else f"Provisioner {tags.get(labels.PROVISIONER_NAME, '')}"


def tags_asked(running: Minor | None, *, start: Minor, end: Minor) -> tuple[str, ...]:
    """The tags to look for at a hop: those that it brings, and those by which the running release lists already.

    Up to 0.37 nobody has written the cluster's name yet, and 1.0 will; the same is held of a release nobody knows.
    """
    found = [key for key, since in LISTED_BY if start < since <= end or (running and running >= since)]
    unwritten = running is None or running < WRITES_CLUSTER_NAME
    return tuple(key for key in found if not (unwritten and key == labels.CLUSTER_NAME_TAG))


def every_tag(end: Minor) -> tuple[str, ...]:
    """All tags by which releases of that minor list instances."""
    return tuple(key for key, since in LISTED_BY if since <= end)


def lacking(group: TaggedInstances, keys: Iterable[str], *, cluster: str) -> tuple[str, str, str] | None:
    """The first of those tags that the group lacks: its key, what is there, what is wanted; None where it has all."""
    tags = dict(group.tags)
    for key in keys:
        if key == labels.CLUSTER_NAME_TAG and tags.get(key) != cluster:
            return key, tags.get(key, "absent"), cluster
        if key not in tags:
            return key, "absent", "any value"
    return None


def all_named(aws: AwsSeen) -> bool | None:
    """Whether every instance of a NodePool carries its cluster's name as 1.1 wants it; None where none was seen."""
    mine = [dict(group.tags) for group in aws.instances.items if labels.NODEPOOL in dict(group.tags)]
    return all(tags.get(labels.CLUSTER_NAME_TAG) == aws.place.cluster for tags in mine) if mine else None


def without_claim(group: TaggedInstances, claimed: frozenset[str]) -> int:
    """How many of the group are known to have no claim: all where nothing is claimed, else those among its samples."""
    return sum(one not in claimed for one in group.samples) if claimed else group.count


def claimed_ids(inventory: Inventory) -> frozenset[str]:
    """Ids of the instances behind Machines and NodeClaims."""
    claims: tuple[Claim, ...] = (*inventory.machines.items, *inventory.nodeclaims.items)
    return frozenset(one.provider_id.rpartition("/")[2] for one in claims if one.provider_id)
