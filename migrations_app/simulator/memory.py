"""The stored state of a simulator beside its cluster's objects, so that another simulator can continue."""

import msgspec


class LaunchUnderWay(msgspec.Struct, frozen=True, kw_only=True):
    """A claim whose node is still missing. `delay`: seconds from the launch to the node."""

    claim: str
    node: str
    size: str
    zone: str
    capacity_type: str
    labels: dict[str, str]
    delay: float


class WaitUnderWay(msgspec.Struct, frozen=True, kw_only=True):
    """A moment that is due, in seconds since the epoch. `single`: its key is one text, not a tuple."""

    key: list[str]
    single: bool
    at: float


class SimulatorMemory(msgspec.Struct, frozen=True, kw_only=True):
    """`made`: how many claims were launched in total. `awaited`: the new nodes that each claim waits for before its
    deletion."""

    made: int = 0
    launches: list[LaunchUnderWay] = []
    waits: list[WaitUnderWay] = []
    awaited: dict[str, list[str]] = {}
