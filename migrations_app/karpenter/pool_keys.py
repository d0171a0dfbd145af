"""Keys and operators that the labels and requirements of a NodePool may use, release by release."""

from typing import Final

from migrations_app.karpenter import labels
from migrations_app.karpenter.conversion.fields import OPERATORS as OLD_OPERATORS
from migrations_app.karpenter.conversion.keys import is_restricted
from migrations_app.karpenter.versions import Release, minor_order

OPERATORS: Final = (*OLD_OPERATORS, "Gte", "Lte")
"""The last two from 1.9 on, whose CRDs let them in. aws/karpenter-provider-aws@v1.9.0:pkg/apis/crds."""
_ASKED_OF_NODES: Final = "requirements"


def accepted(key: str, landing: Release) -> bool:
    """Whether that release takes the key in a NodePool; newer ones open more keys than v1beta1 did."""
    if labels.retired(key, landing, kind="label"):
        return False
    return not is_restricted(key) or _opened(key, landing)


def _opened(key: str, landing: Release) -> bool:
    """Whether a release up to that one has opened the key; newer releases than the tables keep what is open."""
    row = labels.find(key, kind="label")
    if row is None or _ASKED_OF_NODES not in row.objects:
        return False
    return not row.first_seen or any(
        minor_order(_minor(first)) <= minor_order(landing.minor) for first in row.first_seen
    )


def _minor(first: str) -> str:
    return ".".join(first.split(".")[:2])
