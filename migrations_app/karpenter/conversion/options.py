"""What the caller wants from a conversion, and what it knows beyond the objects."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

Target = Literal["v1beta1", "v1"]

PLACEHOLDER: Final = "$KARPENTER_NODE_ROLE"


@dataclass(frozen=True, slots=True)
class Options:
    """`to`: None takes each object to its next generation. `live`: objects of a cluster, to be applied there."""

    to: Target | None = None
    ignore_defaults: bool = False
    node_role: str | None = None
    keep_instance_profile: bool = False
    live: bool = False


@dataclass(frozen=True, slots=True)
class Known:
    """Facts that only a cluster or an account can tell; empty when nothing was looked at."""

    role_of_profile: Mapping[str, str] = field(default_factory=dict)
    default_profile: str | None = None
    ipv6: bool | None = None
    nodes_of_pool: Mapping[str, int] = field(default_factory=dict)
    all_pools_given: bool = False
    never_consolidated: frozenset[str] = frozenset()
    """NodePools whose stored v1beta1 snapshot said consolidateAfter: Never."""
