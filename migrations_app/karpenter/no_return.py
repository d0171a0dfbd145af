"""What a hop does that cannot be undone, by the phase of the work after which it holds."""

from typing import NamedTuple

GUIDES = "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading"


class NoReturn(NamedTuple):
    """`after` is a phase of the work; `what` is for good from then on; `back` says what is still possible."""

    hop: str
    after: str
    what: str
    back: str
    source: str


NO_RETURN: tuple[NoReturn, ...] = (
    NoReturn(
        "0.32",
        "rollout",
        "Nodes that a NodePool launched stay nodes of a NodePool, and those they replaced are gone",
        "0.31.4 and later leave them alone and adopt none; drain and end them by hand after going back",
        f"{GUIDES}/v1beta1-migration.md",
    ),
    NoReturn(
        "0.32",
        "cleanup",
        "Provisioners and AWSNodeTemplates are deleted, and with a Provisioner every node that it still holds",
        "Objects come back from an export only; their nodes do not",
        f"{GUIDES}/v1beta1-migration.md",
    ),
    NoReturn(
        "0.33+",
        "cleanup",
        "Deleting an alpha CRD deletes every object of its kind",
        "0.32 needs those CRDs: apply them again, and the objects from an export",
        "aws/karpenter-provider-aws@v0.37.8:website/content/en/v0.32/upgrading/v1beta1-migration.md",
    ),
    NoReturn(
        "1.0",
        "crds",
        "Whatever is written from now on is stored as v1",
        "Only patches that serve v1 beside v1beta1 can take over again, with their webhook switched on",
        f"{GUIDES}/v1-migration.md",
    ),
    NoReturn(
        "1.0",
        "resources",
        "Fields that only v1 has are lost once an older release writes the object",
        "Keep an export of the objects as they were before the hop",
        f"{GUIDES}/v1-migration.md",
    ),
    NoReturn(
        "1.1+",
        "crds",
        "v1beta1 is gone from the CRDs, and no release before 1.0 can read what is stored",
        "No way back below 1.0; that 1.0.9 and later can take over is inferred, no guide says so",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",
    ),
)


def after(hop: str, phase: str) -> tuple[NoReturn, ...]:
    """What holds for good once that phase of that hop is done."""
    return tuple(row for row in NO_RETURN if (row.hop, row.after) == (hop, phase))
