"""Whether a policy of the controller's role has room for the statements that it lacks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from migrations_app.inventory.aws import LIMITS
from migrations_app.inventory.permissions import RolePolicies
from migrations_app.karpenter.iam.gaps import Report
from migrations_app.karpenter.iam.policy import Statement
from migrations_app.karpenter.iam.remedies import closing, fitted, merged_size
from migrations_app.karpenter.iam.site import Site

MOST_ATTACHED = 10
"""Managed policies that a role takes unless its account was given more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """A policy once the statements are merged into it: its size as IAM counts it, and what it may have.

    `attached` counts the managed policies of its role.
    """

    name: str
    size: int
    limit: int
    attached: int

    @property
    def fits(self) -> bool:
        return self.size <= self.limit

    @property
    def full(self) -> bool:
        """Whether the role takes no further managed policy by default."""
        return self.attached >= MOST_ATTACHED


def roomiest(one: RolePolicies, report: Report, *, site: Site) -> Room | None:
    """The policy of the role that has most room for what the report lacks; None where nothing has to be added or no
    policy can be edited. Raises BadPolicy where one statement alone is larger than a policy."""
    added = closing(report, site).statements
    if not added:
        return None
    fitted(added, limit=LIMITS["customer_managed"])
    return max(_rooms(one, added, site=site), key=lambda room: room.limit - room.size, default=None)


def _rooms(one: RolePolicies, added: Sequence[Statement], *, site: Site) -> Iterator[Room]:
    """One row a policy that may be edited; inline ones share their limit with the others of the role."""
    attached = sum(document.kind != "inline" for document in one.role.policies.items)
    for document, policy in zip(one.role.policies.items, one.policies, strict=True):
        if document.kind != "aws_managed":
            others = one.role.inline_size - document.size if document.kind == "inline" else 0
            size = merged_size([policy], added, site=site) + others
            yield Room(name=document.name, size=size, limit=LIMITS[document.kind], attached=attached)
