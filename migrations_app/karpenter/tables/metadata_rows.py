"""Images that ask instance metadata unless their arguments tell them what they want to know."""

from typing import Final, NamedTuple


class MetadataUser(NamedTuple):
    """`image` is a part of the image's name; with all of `spared_by` given nothing has to be asked."""

    image: str
    spared_by: tuple[str, ...]
    source: str


METADATA_USERS: Final = (
    MetadataUser(
        "aws-load-balancer-controller",
        ("--aws-region", "--aws-vpc-id"),
        "kubernetes-sigs/aws-load-balancer-controller: docs/deploy/installation.md, using the IMDSv2",
    ),
)
