"""All parts in the order in which they are tried."""

from collections.abc import Iterable, Iterator

import pytest

from tests.trust import (
    addresses,
    connections,
    files,
    fleet,
    kills,
    log,
    orders,
    releases,
    scans,
    servers,
    shortage,
    simulated,
    texts,
)
from tests.trust.parts import Part, PartResult, asked_of, tried

PARTS: tuple[Part, ...] = (
    *files.PARTS,
    *texts.PARTS,
    *addresses.PARTS,
    *servers.PARTS,
    *connections.PARTS,
    *log.PARTS,
    *orders.PARTS,
    *kills.PARTS,
    *scans.PARTS,
    *shortage.PARTS,
    *simulated.PARTS,
    *releases.PARTS,
    *fleet.PARTS,
)


def run(parts: Iterable[Part], *, seed: int, scale: float) -> Iterator[PartResult]:
    """One result after the other. A part whose server is missing is told as not tried."""
    for part in parts:
        try:
            yield tried(part, seed=seed, scale=scale)
        except (pytest.skip.Exception, pytest.fail.Exception) as missing:
            yield PartResult(part=part, asked=asked_of(part, scale), why=str(missing))
