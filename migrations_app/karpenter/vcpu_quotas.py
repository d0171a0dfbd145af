"""The vCPU quota of EC2 that an instance type counts against, by instance family and purchase option.

Sources: Amazon EC2 User Guide, "On-Demand Instance quotas" and "Spot Instance quotas"; the codes are those of the
Service Quotas console.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

STANDARD: Final = ("a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z")
"""im4gn and is4gen are storage families."""


class QuotaRow(NamedTuple):
    """One quota. `letters` are the letters before the first digit in the names of its instance types."""

    code: str
    spot: bool
    name: str
    letters: tuple[str, ...]


QUOTAS: Final[tuple[QuotaRow, ...]] = (
    QuotaRow("L-1216C47A", False, "Standard", STANDARD),
    QuotaRow("L-6E869C2A", False, "DL", ("dl",)),
    QuotaRow("L-74FC7D96", False, "F", ("f",)),
    QuotaRow("L-DB2E81BA", False, "G and VT", ("g", "gr", "vt")),
    QuotaRow("L-43DA4232", False, "High Memory", ("u",)),
    QuotaRow("L-F7808C92", False, "HPC", ("hpc",)),
    QuotaRow("L-1945791B", False, "Inf", ("inf",)),
    QuotaRow("L-417A185B", False, "P", ("p",)),
    QuotaRow("L-2C3B7624", False, "Trn", ("trn",)),
    QuotaRow("L-7295265B", False, "X", ("x",)),
    QuotaRow("L-34B43A08", True, "Standard", STANDARD),
    QuotaRow("L-85EED4F7", True, "DL", ("dl",)),
    QuotaRow("L-88CF9481", True, "F", ("f",)),
    QuotaRow("L-3819A6DF", True, "G and VT", ("g", "gr", "vt")),
    QuotaRow("L-B5D1601B", True, "Inf", ("inf",)),
    QuotaRow("L-7212CCBC", True, "P", ("p",)),
    QuotaRow("L-6B0D517C", True, "Trn", ("trn",)),
    QuotaRow("L-E3A00192", True, "X", ("x",)),
)
SPOT_APART: Final = ("p5",)
"""Prefixes of instance types whose spot quota differs between accounts, so that it is unknown which one counts."""
_TYPE: Final = re.compile(r"[a-z][a-z0-9-]{1,30}\.[a-z0-9-]{1,30}", re.ASCII)
_BY_CODE: Final = {row.code: row for row in QUOTAS}
QUOTA_CODES: Final = tuple(_BY_CODE)


def quota_row(code: str) -> QuotaRow | None:
    """The row with that code; None for the code of any other quota."""
    return _BY_CODE.get(code)


def is_instance_type(text: str) -> bool:
    """Whether the text has the form of an instance type, such as m6i.2xlarge."""
    return _TYPE.fullmatch(text) is not None


@lru_cache(maxsize=2048)
def quota_of(instance_type: str, *, spot: bool) -> QuotaRow | None:
    """The quota that an instance of that type counts against; None if the tables do not contain it."""
    match = re.match(r"[a-z]+", instance_type) if is_instance_type(instance_type) else None
    if match is None or (spot and instance_type.startswith(SPOT_APART)):
        return None
    return next((row for row in QUOTAS if row.spot == spot and match[0] in row.letters), None)
