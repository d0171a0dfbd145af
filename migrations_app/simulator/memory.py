"""What a simulator has under way besides the objects of its cluster: stored, another one goes on where it stopped."""

import msgspec


class LaunchUnderWay(msgspec.Struct, frozen=True, kw_only=True):
    """A claim whose node is still to come. `delay`: seconds from the launch to the node."""

    claim: str
    node: str
    size: str
    zone: str
    capacity_type: str
    labels: dict[str, str]
    delay: float


class WaitUnderWay(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is due at a time, in seconds since the epoch. `single`: its key is the one text, no tuple."""

    key: list[str]
    single: bool
    at: float


class SimulatorMemory(msgspec.Struct, frozen=True, kw_only=True):
    """`made`: how many claims were ever launched. `awaited`: the new nodes that each claim waits for before it goes."""

    made: int = 0
    launches: list[LaunchUnderWay] = []
    waits: list[WaitUnderWay] = []
    awaited: dict[str, list[str]] = {}
