"""Which minors make Karpenter replace nodes: what a PodDisruptionBudget can hold up."""

from typing import NamedTuple


class Replacement(NamedTuple):
    """Entering `minor` replaces nodes of these owners; `why` may be shown to people."""

    minor: str
    owners: tuple[str, ...]
    why: str
    source: str


REPLACEMENTS: tuple[Replacement, ...] = (
    Replacement(
        "0.33",
        ("karpenter_alpha",),
        "every node behind a Machine has to be replaced before it",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
    ),
    Replacement(
        "1.0",
        ("karpenter_beta", "karpenter_v1"),
        "expired nodes are drained at once and drift cannot be switched off any more",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
    ),
    Replacement(
        "1.12",
        ("karpenter_v1",),
        "the cluster's CA bundle becomes part of the node class hash, which may mark every node as drifted",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
    ),
)


def replacements(entered: tuple[str, ...]) -> tuple[Replacement, ...]:
    """What entering these minors replaces."""
    return tuple(row for row in REPLACEMENTS if row.minor in entered)
