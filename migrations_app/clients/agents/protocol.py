"""The messages between an agent and a karpdash server: msgpack over HTTPS. The agent asks, the server answers.

1. `hello` opens a session: one for each token at a time.
2. `poll` returns the calls that wait for the agent; it is the agent's heartbeat as well.
3. `begin` asks, before a call that changes something is sent, whether a worker still waits for it.
4. `piece` delivers the answer to one call, in numbered pieces.
5. `bye` ends the session.
"""

from typing import Final, TypeVar

import msgspec

from migrations_app.clients.kubernetes.limits import KIB, MIB
from migrations_app.errors import InvalidResponse

PROTOCOL: Final = 1
"""Incremented with every change that an agent of another release would not understand."""
ROOT: Final = "/agent/v1/"
SESSION_HEADER: Final = "Karpdash-Agent-Session"
MEDIA: Final = "application/msgpack"
MAX_PIECE: Final = 512 * KIB
"""Bytes of a body in one piece."""
MAX_MESSAGE: Final = MAX_PIECE + 64 * KIB
"""Bytes of one message of an agent."""
MAX_CALLS: Final = 8
"""Calls that one poll returns, and that an agent has under way."""
MAX_REQUEST: Final = 4 * MIB
"""Bytes of the body of one call; etcd takes 1.5 MiB."""
PASSED_ON: Final[tuple[str, ...]] = (
    "Content-Type",
    "Content-Encoding",
    "Content-Length",
    "Date",
    "Retry-After",
    "Audit-Id",
)
"""Headers of an API server's answer that the agent passes on."""


class AgentHello(msgspec.Struct, frozen=True, kw_only=True):
    """The agent that dials in. `server` is the URL of its API server, `ca_digest` the SHA-256 of that server's CA,
    `helm_in` the namespace in which the agent carries runs of helm; empty for none.
    """

    protocol: int
    version: str
    acts: bool
    server: str
    ca_digest: str
    helm_in: str = ""


class AgentWelcome(msgspec.Struct, frozen=True):
    """The session that every later message names."""

    session: str


class AgentPoll(msgspec.Struct, frozen=True):
    """Asks for calls, at most `room`."""

    room: int


class AgentBegin(msgspec.Struct, frozen=True):
    """Asks whether a worker still waits for that call."""

    nonce: str


class AgentCall(msgspec.Struct, frozen=True, kw_only=True):
    """One request to the API server. `seconds` is the time that is left; `nonce` identifies the call in its answer.

    `until` is when no worker waits any more, in seconds since 1970 by the worker's clock; the server checks it.
    """

    nonce: str
    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    accept: str = "application/json"
    encoding: str = "identity"
    content_type: str = ""
    user_agent: str = "karpdash"
    body: bytes | None = None
    seconds: float = 30.0
    until: float = 0.0


class AgentCalls(msgspec.Struct, frozen=True):
    """Answer to a poll. `wait` is the agent's pause before the next poll, in seconds."""

    calls: tuple[AgentCall, ...] = ()
    wait: float = 0.0


class AgentPiece(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the answer to one call; the first one, of index 0, has status and headers.

    `failure` is the code of an error that replaces the answer, `message` its text.
    """

    nonce: str
    index: int
    last: bool
    status: int = 0
    headers: dict[str, str] = {}
    body: bytes = b""
    failure: str = ""
    message: str = ""


class AgentRefusal(msgspec.Struct, frozen=True):
    """Body of every answer that is not 2xx. `expected` is the index of the piece that the server expects."""

    code: str
    message: str = ""
    expected: int = -1


M = TypeVar("M", bound=msgspec.Struct)
_encode = msgspec.msgpack.Encoder().encode


def packed(message: msgspec.Struct) -> bytes:
    """The message as it is sent."""
    return _encode(message)


def unpacked(body: bytes, kind: type[M]) -> M:
    """The message in the body. Raises InvalidResponse if it is not of that kind."""
    try:
        return msgspec.msgpack.decode(body, type=kind)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise InvalidResponse(f"the message is not a valid {kind.__name__}") from None
