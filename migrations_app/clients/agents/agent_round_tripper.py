"""The workers' end of a connection to an API server through the agent in its cluster.

Deadlines, the minimum rate and the size limits are those of every other connection. They are counted here and by the
agent (K06, K09). Without a heartbeat of the agent, a call fails as `agent_lost` at once, not after a timeout.
"""

import io
import secrets
import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Final, NoReturn

import msgspec
import urllib3

from migrations_app import errors
from migrations_app.clients.agents.mailbox import AgentMailbox
from migrations_app.clients.agents.protocol import PASSED_ON, AgentCall, AgentPiece
from migrations_app.clients.kubernetes.deadline_socket import current_deadline
from migrations_app.clients.kubernetes.round_tripper import ApiCall
from migrations_app.clients.secret import clean

LOST: Final = "agent_lost"
NO_CONNECTION: Final = frozenset({LOST, "agent_revoked", "agent_busy", "agent_forged", "no_broker"})
"""Codes of a connection that is gone or cannot be trusted: the cluster was not read, whatever came before."""
_FAILURES: Final[Mapping[str, type[errors.ReadError]]] = {
    "address_refused": errors.AddressRefused,
    "too_large": errors.TooLarge,
    "garbled": errors.InvalidResponse,
}


class AgentRoundTripper:
    """A RoundTripper through one session of one agent: in another session, the agent may speak to another server."""

    addresses = 1
    encoding = "gzip"

    def __init__(self, mailbox: AgentMailbox, *, session: str, ca_digest: str) -> None:
        self._mailbox = mailbox
        self._session = session
        self._closed = False
        self.ca_digest = ca_digest

    def round_trip(self, call: ApiCall, *, patience: float) -> urllib3.HTTPResponse:
        """The response, its body unread. Raises Unreachable `agent_lost`, TimeoutError, and the errors of the agent."""
        if self._closed:
            raise errors.Unreachable("the client is closed", code="closed")
        self.require_agent()
        nonce = secrets.token_hex(16)
        self._mailbox.post(_agent_call(call, nonce=nonce, seconds=patience))
        with ExitStack() as unless_answered:
            unless_answered.callback(self._mailbox.drop, nonce)
            first = self.piece(nonce, 0)
            if first.failure:
                _fail(first)
            if not 200 <= first.status <= 599:
                raise errors.InvalidResponse("reported by the agent: an answer without an HTTP status")
            unless_answered.pop_all()
        headers = {name: first.headers[name] for name in PASSED_ON if name in first.headers}
        body: Any = io.BufferedReader(_AnswerBody(self, first))
        return urllib3.HTTPResponse(
            body, headers=headers, status=first.status, preload_content=False, decode_content=False
        )

    def next_address(self) -> None:
        """Does nothing: there is only one way to the server."""

    def close(self) -> None:
        self._closed = True

    def piece(self, nonce: str, index: int) -> AgentPiece:
        """The next piece of an answer, within the deadline of this thread."""
        while True:
            agent_piece = self._mailbox.piece(nonce, index, seconds=current_deadline().seconds_left())
            if agent_piece is not None:
                return agent_piece
            self.require_agent()

    def drop(self, nonce: str) -> None:
        """Stops waiting for the answer."""
        self._mailbox.drop(nonce)

    def require_agent(self) -> None:
        """Raises Unreachable unless the agent of this session sent a heartbeat lately."""
        if self._mailbox.live_session() != self._session:
            raise errors.Unreachable("the cluster's agent is not connected to karpdash", code=LOST)


class _AnswerBody(io.RawIOBase):
    """The body of one answer, piece by piece. Bytes count for the minimum rate when they are read, so that the first
    piece, which arrives before the body begins, counts as well.
    """

    def __init__(self, round_tripper: AgentRoundTripper, first: AgentPiece) -> None:
        super().__init__()
        self._round_tripper = round_tripper
        self._piece = first
        self._left = memoryview(first.body)

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:  # noqa: ANN401 - any writable buffer, as io has it
        while not self._left and not self._piece.last:
            self._piece = self._round_tripper.piece(self._piece.nonce, self._piece.index + 1)
            if self._piece.failure:
                _fail(self._piece)
            self._left = memoryview(self._piece.body)
        count = min(len(into), len(self._left))
        into[:count] = self._left[:count]
        self._left = self._left[count:]
        current_deadline().add_bytes(count)
        return count

    def close(self) -> None:
        if not self.closed:
            self._round_tripper.drop(self._piece.nonce)
        super().close()


def _agent_call(call: ApiCall, *, nonce: str, seconds: float) -> AgentCall:
    body = call.body
    seconds_left = round(max(0.1, min(seconds, call.ends - time.monotonic())), 3)
    return AgentCall(
        nonce=nonce,
        method=call.method,
        path=call.request.path,
        query=tuple(call.query),
        accept=call.headers.get("Accept", ""),
        encoding=call.headers.get("Accept-Encoding", ""),
        content_type=call.headers.get("Content-Type", ""),
        user_agent=call.headers.get("User-Agent", ""),
        body=body if body is None or isinstance(body, bytes) else msgspec.json.encode(body),
        seconds=seconds_left,
        until=time.time() + seconds_left,
    )


def _fail(piece: AgentPiece) -> NoReturn:
    """Raises the error that the agent reported, as an error that the transport handles like its own."""
    message = f"reported by the agent: {clean(piece.message)}"
    if piece.failure == "timeout":
        raise TimeoutError(message)
    if piece.failure in ("unreachable", "cut"):
        raise urllib3.exceptions.ProtocolError(message)
    if piece.failure.startswith("tls_"):
        raise errors.TlsRefused(message, code=clean(piece.failure, longest=40))
    raise _FAILURES.get(piece.failure, errors.Unreachable)(message)
