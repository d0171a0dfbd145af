"""Until when Amazon EKS supports the Kubernetes of a cluster."""

import re
from typing import Final

from migrations_app.karpenter.tables.support_rows import EKS_SUPPORT, SupportRow

_EKS: Final = re.compile(r"v?(1\.\d{1,3})\.\d{1,3}-eks\b", re.ASCII)
"""What an API server of EKS calls its version, such as v1.33.4-eks-99d6cc0."""
_BY_MINOR: Final = {row.minor: row for row in EKS_SUPPORT}


def support_of(server_version: str) -> SupportRow | None:
    """The ends of support of that server's minor; None where it is not of EKS, or no table tells them."""
    match = _EKS.match(server_version)
    return _BY_MINOR.get(match[1]) if match else None
