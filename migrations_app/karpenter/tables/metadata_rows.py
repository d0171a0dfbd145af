"""Images that query instance metadata unless their arguments supply the values."""

from typing import Final, NamedTuple


class MetadataUser(NamedTuple):
    """`image` is a part of the image name; if all arguments of `spared_by` are given, nothing is queried."""

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
