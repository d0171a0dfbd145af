"""Walks all orders: at each halt every event in a process of its own, and then what would have come anyway.

What comes anyway costs nothing: the worker that runs goes on, a request arrives, and so on, until all rest. Everything
else is an interruption; the depth is how many of them one order may have. A fork keeps the whole state, with workers
in the middle of what they do.
"""

from __future__ import annotations

import gc
import json
import mmap
import os
import signal
import struct
import tempfile
import traceback
from dataclasses import dataclass, field

from karpdash.processes.child_processes import die_with_parent
from tests.interleavings.events import interruptions, is_undone, next_by_itself, undone
from tests.interleavings.invariants import RESTLESS, InvariantCheck
from tests.interleavings.picture import digest_of
from tests.interleavings.stage import OrdersStage

SLOTS = 1 << 22
LONGEST = 400
"""Steps without an interruption after which an order counts as one that never rests."""
_HEAD = struct.Struct("<5Q")
_SLOT = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class OrdersWalked:
    """`broken` are (invariant, the events that led there), each order once."""

    states: int
    steps: int
    orders: int
    longest: int
    broken: tuple[tuple[str, tuple[str, ...]], ...] = field(default=())

    def told(self) -> dict[str, object]:
        """As JSON has it."""
        return {name: getattr(self, name) for name in ("states", "steps", "orders", "longest", "broken")}

    @property
    def wrong(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.broken)


class SharedStates:
    """The states that were seen, with how many interruptions were left, shared by all processes of one walk."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _HEAD.size + SLOTS * _SLOT)

    @property
    def counts(self) -> list[int]:
        """States, steps, orders, longest, stopped."""
        return list(_HEAD.unpack_from(self._memory, 0))

    def count(self, place: int, value: int) -> None:
        struct.pack_into("<Q", self._memory, 8 * place, value)

    def grow(self, place: int) -> None:
        self.count(place, self.counts[place] + 1)

    def is_new(self, digest: bytes, left: int, *, keep: bool = True) -> bool:
        """False if the state was seen with as many interruptions left or more; else it counts as seen if it is kept."""
        slot = int.from_bytes(digest[:8], "big") % SLOTS
        while True:
            at = _HEAD.size + slot * _SLOT
            kept = self._memory[at : at + _SLOT]
            if kept[15] == 0:
                if not keep:
                    return True
                self.grow(0)
                if self.counts[0] > SLOTS * 3 // 4:
                    raise MemoryError("more states than the table has room for")
            elif kept[:15] != digest:
                slot = (slot + 1) % SLOTS
                continue
            elif kept[15] > left:
                return False
            if not keep:
                return True
            self._memory[at : at + _SLOT] = digest + bytes([left + 1])
            return True


class OrdersWalk:
    """One walk from one stage. `until`: it ends as soon as that invariant was broken. `only`: the one interruption
    that is tried, at every place.
    """

    def __init__(self, stage: OrdersStage, *, until: str = "", only: str = "") -> None:
        self._stage, self._until, self._only = stage, until, only
        self._check = InvariantCheck(stage)
        self._states = SharedStates()
        self._told = tempfile.TemporaryFile()  # noqa: SIM115 - it lasts as long as the walk
        self._trail: list[str] = []

    def walked(self, depth: int) -> OrdersWalked:
        gc.freeze()
        self._walk(depth, 0)
        states, steps, orders, longest, _ = self._states.counts
        return OrdersWalked(states=states, steps=steps, orders=orders, longest=longest, broken=self._broken())

    def _walk(self, left: int, unasked: int) -> None:
        while not self._states.counts[4]:
            picture = self._check.picture
            if not self._states.is_new(digest_of(self._stage, picture), left):
                return
            if left:
                for name in interruptions(self._stage, picture):
                    if self._only in ("", name):
                        self._apart(name, left - 1)
            name = next_by_itself(self._stage, picture)
            if not name:
                self._states.grow(2)
                self._report(self._check.at_rest())
                return
            unasked += 1
            self._states.count(3, max(self._states.counts[3], unasked))
            if unasked > LONGEST:
                self._report(RESTLESS)
                return
            if self._report(self._after(name)):
                return

    def _after(self, name: str) -> str:
        self._states.grow(1)
        self._trail.append(name)
        return self._check.after(name)

    def _apart(self, name: str, left: int) -> None:
        """Tries the event and all that may follow in a copy of this process."""
        if self._states.counts[4] or (is_undone(name) and self._leads_nowhere(name, left)):
            return
        child = os.fork()
        if child:
            _, status = os.waitpid(child, 0)
            if status:
                raise RuntimeError(f"after {self._trail} {name} could not be tried")
            return
        code = 1
        try:
            die_with_parent(signal.SIGKILL)
            gc.disable()
            self._trail.append("!")
            if not self._report(self._after(name)):
                self._walk(left, 0)
            code = 0
        except BaseException:  # noqa: BLE001 - told by the exit code, and the copy must not go on
            traceback.print_exc()
        finally:
            os._exit(code)

    def _leads_nowhere(self, name: str, left: int) -> bool:
        """Tries the event and takes it back: whether it breaks nothing and leads to a state that is known already."""
        with undone(self._stage):
            broken, picture = self._check.tried(name)
            digest = digest_of(self._stage, picture)
        known = not broken and not self._states.is_new(digest, left, keep=False)
        if known:
            self._states.grow(1)
        return known

    def _report(self, broken: str) -> bool:
        if not broken:
            return False
        os.write(self._told.fileno(), json.dumps([broken, self._trail]).encode() + b"\n")
        if self._until == broken:
            self._states.count(4, 1)
        return True

    def _broken(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        self._told.seek(0)
        return tuple((name, tuple(trail)) for name, trail in map(json.loads, self._told.read().splitlines()))
