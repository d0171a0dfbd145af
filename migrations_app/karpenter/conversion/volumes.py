"""Block devices: sizes that the API server accepts.

Source: aws/karpenter-provider-aws@v0.37.8:pkg/apis/crds/karpenter.k8s.aws_ec2nodeclasses.yaml (volumeSize).
"""

import re
from typing import Any, Final

from migrations_app.karpenter.conversion.losses import Notes, Path

_SIZE: Final = re.compile(r"(?P<number>[1-9]\d{0,4})(?P<unit>Gi|G|Ti|T)", re.ASCII)
_MOST: Final = {"Gi": 59000, "G": 64000, "Ti": 58, "T": 64}
_TEBIBYTE_ENDS: Final = 7  # the CRD's pattern accepts 10-17, 20-27 ... 50-57 and 58 above nine


def accepted_size(text: str) -> bool:
    """True when the CRDs of 0.37 and later accept this volume size."""
    match = _SIZE.fullmatch(text)
    if match is None or int(match["number"]) > _MOST[match["unit"]]:
        return False
    number = int(match["number"])
    return match["unit"] != "Ti" or number <= 9 or number % 10 <= _TEBIBYTE_ENDS or number == _MOST["Ti"]


def check(devices: list[dict[str, Any]], at: Path, *, notes: Notes) -> None:
    """Notes volumes whose size is missing or would be refused."""
    for index, device in enumerate(devices):
        ebs = (device or {}).get("ebs")
        if ebs is None:
            continue
        size, ebs_at = ebs.get("volumeSize"), (*at, index, "ebs")
        if size is None:
            if not ebs.get("snapshotID"):
                notes.add("ebs-size-missing", ebs_at, what="neither volumeSize nor snapshotID is given")
        elif not accepted_size(size):
            what = f"{size} is not accepted; write a whole number of Gi or Ti, such as 50Gi"
            notes.add("volume-size-format", (*ebs_at, "volumeSize"), what=what)
