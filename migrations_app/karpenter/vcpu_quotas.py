"""Which vCPU quota of EC2 an instance type counts against."""

import re
from functools import lru_cache
from typing import Final

from migrations_app.karpenter.tables.quota_rows import QUOTAS, SPOT_APART, QuotaRow

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
    """The quota that an instance of that type counts against; None where the tables do not tell it."""
    match = re.match(r"[a-z]+", instance_type) if is_instance_type(instance_type) else None
    if match is None or (spot and instance_type.startswith(SPOT_APART)):
        return None
    return next((row for row in QUOTAS if row.spot == spot and match[0] in row.letters), None)
