"""The days on which Amazon EKS ends its support of each Kubernetes minor: standard support, then extended support,
which costs more.

Source: Amazon EKS User Guide, "Understand the Kubernetes version lifecycle on EKS", the release calendar as published
in 2026. Days are in UTC. A minor without published days has no row. Karpenter publishes no such days.
"""

import re
from datetime import date
from typing import Final, NamedTuple


class SupportRow(NamedTuple):
    """One Kubernetes minor on EKS, and the days on which its support ends."""

    minor: str
    standard: date
    extended: date


EKS_SUPPORT: Final[tuple[SupportRow, ...]] = (
    SupportRow("1.29", date(2025, 3, 23), date(2026, 3, 23)),
    SupportRow("1.30", date(2025, 7, 23), date(2026, 7, 23)),
    SupportRow("1.31", date(2025, 11, 26), date(2026, 11, 26)),
    SupportRow("1.32", date(2026, 3, 23), date(2027, 3, 23)),
    SupportRow("1.33", date(2026, 7, 29), date(2027, 7, 29)),
    SupportRow("1.34", date(2026, 12, 2), date(2027, 12, 2)),
    SupportRow("1.35", date(2027, 3, 27), date(2028, 3, 27)),
)
_EKS: Final = re.compile(r"v?(1\.\d{1,3})\.\d{1,3}-eks\b", re.ASCII)
"""The version format of EKS API servers, such as v1.33.4-eks-99d6cc0."""
_BY_MINOR: Final = {row.minor: row for row in EKS_SUPPORT}


def support_of(server_version: str) -> SupportRow | None:
    """The support dates of that server's minor; None if the server is not on EKS or the minor has no row."""
    match = _EKS.match(server_version)
    return _BY_MINOR.get(match[1]) if match else None
