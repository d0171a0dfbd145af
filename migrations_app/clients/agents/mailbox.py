"""Passes calls and answers between workers and the web processes that agents dial, through the broker's Redis.

Every entry is encrypted and bound to its agent, its call and its place in the answer: an intruder in the broker can
lose a call, but can forge nothing (T27). Keys expire by themselves.
"""

import logging
import time
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, Protocol

import msgspec
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from migrations_app.clients.addresses import redis_url
from migrations_app.clients.agents.protocol import AgentCall, AgentPiece, packed, unpacked
from migrations_app.errors import InvalidSetting, Unreachable

MAX_WAITING: Final = 32
"""The most calls that may wait for one agent."""
MAX_PIECES: Final = 8
"""The most pieces of one answer that may wait for the worker; the agent waits with the next piece."""
KEY_GRACE_SECONDS: Final = 5
"""Seconds from the end of a call until its keys expire."""
MAX_CLOCK_SKEW_SECONDS: Final = 600.0
"""Seconds by which the clocks of a worker and of a web process may differ. If somebody copies a call and puts it into
the broker again within them, the agent recognises it, and another session cannot decrypt it.
"""
log = logging.getLogger(__name__)
_SHORT: Final = frozenset({"SET", "GET", "DEL", "EXISTS", "PTTL"})
"""Fast commands. One of them comes before each command that waits or carries a body, so that a broker that hangs
blocks a web thread only for `_SHORT_SECONDS`.
"""
_SHORT_SECONDS: Final = 1.0
_LONG_SECONDS: Final = 10.0
_SLICE: Final = 0.5
"""Seconds between two checks whether the agent still sends heartbeats."""
Taken = Literal["taken", "wait", "unknown", "unexpected"]
_OUTCOMES: Final[tuple[Taken, ...]] = ("unknown", "unexpected", "wait", "taken")
_TAKE_PIECE: Final = """
local expected = redis.call('GET', KEYS[1])
if not expected then return 0 end
if expected ~= ARGV[1] then return 1 end
if redis.call('LLEN', KEYS[2]) >= tonumber(ARGV[2]) then return 2 end
redis.call('INCR', KEYS[1])
redis.call('RPUSH', KEYS[2], ARGV[3])
redis.call('PEXPIRE', KEYS[2], redis.call('PTTL', KEYS[1]))
return 3
"""


class Sealing(Protocol):
    """Encrypts the entries in the broker, bound to an owner and a field."""

    def seal(self, plain: bytes, *, owner: str, field: str) -> bytes: ...

    def open(self, sealed: bytes, *, owner: str, field: str) -> bytes: ...


@cache
def _connection(url: str, seconds: float) -> "Redis":
    return Redis.from_url(url, socket_timeout=seconds, socket_connect_timeout=2, retry=Retry(NoBackoff(), 0))


@dataclass(frozen=True, slots=True)
class AgentMailbox:
    """Calls of the workers and answers of one agent, within one session.

    Every method raises Unreachable without a broker.
    """

    broker_url: str
    agent: str
    keys: Sealing
    session: str = ""

    def record_heartbeat(self, session: str, *, seconds: float) -> None:
        """Records a heartbeat of the agent in that session; it expires after `seconds`."""
        self._command("SET", self._key("heard"), session, "PX", int(seconds * 1000))

    def live_session(self) -> str:
        """The session of the last heartbeat that has not expired; empty if there is none."""
        session = self._command("GET", self._key("heard"))
        return session.decode() if isinstance(session, bytes) else ""

    def end_session(self) -> None:
        """Forgets the session and every call that waits."""
        self._command("DEL", self._key("heard"), self._key("calls"))

    def post(self, call: AgentCall) -> None:
        """Leaves the call for the agent. Raises Unreachable if too many wait."""
        lasts = int((call.seconds + KEY_GRACE_SECONDS) * 1000)
        text = self.keys.seal(packed(call), owner=self.agent, field=f"call:{self.session}")
        self._command("SET", self._key(f"call:{call.nonce}"), "0", "PX", lasts)
        # The nonce is not encrypted, so that calls without a waiting worker are skipped.
        waiting = self._command("RPUSH", self._key("calls"), call.nonce.encode() + b":" + text)
        self._command("PEXPIRE", self._key("calls"), lasts)
        if isinstance(waiting, int) and waiting > MAX_WAITING:
            self.drop(call.nonce)
            raise Unreachable("the cluster's agent is busy with other requests", code="agent_busy")

    def take(self, most: int, *, seconds: float) -> tuple[AgentCall, ...]:
        """The waiting calls, at most `most`; empty if none comes within `seconds`."""
        agent_calls: list[AgentCall] = []
        ends = time.monotonic() + seconds
        while len(agent_calls) < most:
            seconds_left = 0.0 if agent_calls else ends - time.monotonic()
            item = self._next(seconds_left)
            if item is None:
                if agent_calls or seconds_left <= 0:
                    break
                continue
            nonce, _, text = item.partition(b":")
            seconds_left = self._seconds_left(nonce.decode("ascii", "replace"))
            if seconds_left > 0 and (call := self._decrypted(text, nonce)):
                agent_calls.append(msgspec.structs.replace(call, seconds=min(call.seconds, seconds_left)))
        return tuple(agent_calls)

    def _seconds_left(self, nonce: str) -> float:
        """Seconds left to the call by the broker's clock; 0 if no worker waits for it."""
        milliseconds = self._command("PTTL", self._key(f"call:{nonce}"))
        return round(milliseconds / 1000 - KEY_GRACE_SECONDS, 3) if isinstance(milliseconds, int) else 0.0

    def awaits(self, nonce: str) -> bool:
        """Whether a worker still waits for the answer to that call."""
        return bool(self._command("EXISTS", self._key(f"call:{nonce}")))

    def put(self, piece: AgentPiece) -> Taken:
        """Leaves a piece of an answer for the worker; each index is taken once, in order."""
        text = self.keys.seal(packed(piece), owner=self.agent, field=f"{piece.nonce}:{piece.index}")
        names = self._key(f"call:{piece.nonce}"), self._key(f"answer:{piece.nonce}")
        code = self._command("EVAL", _TAKE_PIECE, 2, *names, str(piece.index), str(MAX_PIECES), text)
        return _OUTCOMES[code] if isinstance(code, int) else "unknown"

    def expected(self, nonce: str) -> int:
        """The index of the next piece of that answer; -1 for a call without a waiting worker."""
        index = self._command("GET", self._key(f"call:{nonce}"))
        return int(index) if isinstance(index, bytes) else -1

    def piece(self, nonce: str, index: int, *, seconds: float) -> AgentPiece | None:
        """The piece of that index; None if it does not come within `seconds`, or within half a second."""
        reply = self._command("BLPOP", self._key(f"answer:{nonce}"), max(0.01, min(seconds, _SLICE)))
        if not isinstance(reply, list | tuple):
            return None
        try:
            text = self.keys.open(bytes(reply[1]), owner=self.agent, field=f"{nonce}:{index}")
        except InvalidSetting:
            raise Unreachable("the broker holds a message that karpdash did not write", code="agent_forged") from None
        return unpacked(text, AgentPiece)

    def drop(self, nonce: str) -> None:
        """Removes a call that no worker waits for any more."""
        self._command("DEL", self._key(f"call:{nonce}"), self._key(f"answer:{nonce}"))

    def _next(self, seconds: float) -> bytes | None:
        if seconds <= 0:
            item = self._command("LPOP", self._key("calls"))
            return item if isinstance(item, bytes) else None
        reply = self._command("BLPOP", self._key("calls"), max(0.01, min(seconds, 5.0)))
        return bytes(reply[1]) if isinstance(reply, list | tuple) else None

    def _decrypted(self, text: bytes, nonce: bytes) -> AgentCall | None:
        """The call; None for text that karpdash did not write, and for a call that is over."""
        try:
            call = unpacked(self.keys.open(text, owner=self.agent, field=f"call:{self.session}"), AgentCall)
        except InvalidSetting:
            log.warning("a call for an agent was dropped: it was not written by karpdash", extra={"agent": self.agent})
            return None
        # An old call was copied and put into the broker again.
        late = round(time.time() - call.until)
        if call.nonce.encode() == nonce and late < MAX_CLOCK_SKEW_SECONDS:
            return call
        log.warning("a call for an agent was dropped: it is over", extra={"agent": self.agent, "seconds": late})
        return None

    def _key(self, name: str) -> str:
        """Keys differ by session, so that no other agent finds its calls and answers."""
        session = "" if name == "heard" else f"{self.session}:"
        return f"karpdash:agent:{self.agent}:{session}{name}"

    def _command(self, *words: str | bytes | float) -> object:
        seconds = _SHORT_SECONDS if words[0] in _SHORT else _LONG_SECONDS
        try:
            return _connection(redis_url(self.broker_url), seconds).execute_command(*words)  # type: ignore[no-untyped-call]  # untyped there
        except RedisError:
            raise Unreachable("the broker between karpdash and its agents does not answer", code="no_broker") from None
