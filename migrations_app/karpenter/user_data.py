"""Reads from a node class's user data whether its nodes can join, and reduces it to the words that decide this.

User data contains tokens and passwords, so a bundle keeps only these words.
"""

import re
from collections.abc import Iterator
from typing import Final

from migrations_app.karpenter.labels import UNREGISTERED_TAINT
from migrations_app.karpenter.release_facts import AL2023, OWN_BOOTSTRAPS, starts_kubelet

NODE_CONFIG, NODE_CONFIG_GROUP = "NodeConfig", "node.eks.aws"
_KUBELET: Final = re.compile(r"^[ \t]*[\"']?kubelet[\"']?[ \t]*:", re.MULTILINE)
OWN_SOURCE: Final = "nodeadm init --config-source file:removed"
"""Replaces a nodeadm call that reads its configuration from another source than the instance's user data."""


def configures_kubelet(user_data: str) -> bool:
    """Whether the user data contains a NodeConfig with a kubelet block."""
    return NODE_CONFIG in user_data and bool(_KUBELET.search(user_data))


def sketch(user_data: str) -> str:
    """A replacement without the original text that gives the same result in every check of user data; empty for empty
    user data."""
    return "\n".join(_marks(user_data)) if user_data else ""


def _marks(user_data: str) -> Iterator[str]:
    yield "# user data was removed; of it these words are kept"
    if UNREGISTERED_TAINT in user_data:
        yield UNREGISTERED_TAINT
    own_call = starts_kubelet(AL2023, user_data)
    yield from (
        row for row in dict.fromkeys(row.call for row in OWN_BOOTSTRAPS) if row in user_data and row != own_call
    )
    if own_call:
        yield OWN_SOURCE
    yield from (word for word in (NODE_CONFIG, NODE_CONFIG_GROUP) if word in user_data)
    if _KUBELET.search(user_data):
        yield "kubelet:"
