"""What changed with each version of the drift hashes; which release writes which version stands in the release rows.

Sources: pkg/apis/v1beta1 and pkg/apis/v1 of kubernetes-sigs/karpenter and aws/karpenter-provider-aws at every tag;
aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md for what is carried over.
"""

from typing import NamedTuple

from migrations_app.karpenter import labels


class HashChange(NamedTuple):
    """`carried`: nodes are given the new hash instead of being replaced, unless they have drifted before."""

    annotation: str
    version: str
    first: str
    what: str
    carried: bool = True


HASH_CHANGES: tuple[HashChange, ...] = (
    HashChange(labels.NODEPOOL_HASH_VERSION, "v1", "0.32.9", "hashes carry a version"),
    HashChange(labels.EC2_NODE_CLASS_HASH_VERSION, "v1", "0.32.9", "hashes carry a version"),
    HashChange(labels.NODEPOOL_HASH_VERSION, "v2", "0.36", "the hash function changed"),
    HashChange(labels.EC2_NODE_CLASS_HASH_VERSION, "v2", "0.36", "the hash function changed"),
    HashChange(labels.NODEPOOL_HASH_VERSION, "v3", "1.0", "fields moved with v1"),
    HashChange(labels.EC2_NODE_CLASS_HASH_VERSION, "v3", "1.0", "fields moved with v1"),
    HashChange(labels.EC2_NODE_CLASS_HASH_VERSION, "v4", "1.1", "kubelet settings belong to the node class"),
    HashChange(
        labels.EC2_NODE_CLASS_HASH_VERSION,
        "v5",
        "1.12",
        "the CA bundle of the cluster is part of the hash: the guide expects every node to drift",
        carried=False,
    ),
)


def change_to(annotation: str, version: str | None) -> HashChange | None:
    """The row of that version; None for one that is not known."""
    return next((row for row in HASH_CHANGES if (row.annotation, row.version) == (annotation, version)), None)


def number(version: str | None) -> int | None:
    """The number in a version such as "v3", 0 for hashes without a version; None where it is neither."""
    if not version:
        return 0
    digits = version.removeprefix("v")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 6 else None
