"""Checks that are not asked any more: their ids stand in old snapshots and waivers, so their words are kept."""

from typing import NamedTuple


class Retired(NamedTuple):
    """`since` and `until` are the first and the last release of karpdash that asked it; `instead` names its heirs."""

    id: str
    title: str
    since: str
    until: str
    why: str
    instead: tuple[str, ...] = ()


RETIRED: tuple[Retired, ...] = ()
