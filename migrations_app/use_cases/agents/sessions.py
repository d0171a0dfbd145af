"""Messages of agents: they open a session, poll for calls, and send answers.

A token has one session. A second agent with the same token is refused while heartbeats of the first one arrive, and
that is recorded: the token was copied, or there are two pods instead of one.
"""

import re
import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, TypeVar

import msgspec
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from migrations_app.clients.agents.protocol import (
    MAX_CALLS,
    MAX_MESSAGE,
    MEDIA,
    PROTOCOL,
    SESSION_HEADER,
    AgentBegin,
    AgentCalls,
    AgentHello,
    AgentPiece,
    AgentPoll,
    AgentRefusal,
    AgentWelcome,
    packed,
    unpacked,
)
from migrations_app.clients.kubernetes.connection import parse_server
from migrations_app.clients.secret import clean
from migrations_app.errors import Conflict, InvalidInput, InvalidResponse
from migrations_app.models.cluster import Cluster, ClusterAgent
from migrations_app.use_cases.agents.tokens import mailbox_of
from migrations_app.use_cases.audit.log import Actor, acting_as, record_audit_event

MEDIA_TYPE: Final = MEDIA
SESSION_FIELD: Final = SESSION_HEADER
LONGEST_MESSAGE: Final = MAX_MESSAGE
MAX_HOLD_SECONDS: Final = 5.0
"""Maximum seconds that a poll is held; a web process that is told to stop waits for it."""
HOLD_SLOTS: Final = threading.BoundedSemaphore(3)
"""The polls that one web process may hold; further polls are answered at once, so that pages keep their threads."""
NEXT_POLL_SECONDS: Final = 1.0
"""Seconds until the next poll of an agent whose poll was not held."""
HEARTBEAT_STORE_SECONDS: Final = 5.0
"""Minimum seconds between two heartbeats that are stored in the row; at least three are stored before an agent counts
as lost.
"""
REFUSAL_EVENT: Final = "agent.refused"
MIN_REFUSAL_INTERVAL: Final = timedelta(minutes=1)
"""Minimum time between two recorded refusals of one token, for any reasons."""
MIN_SESSION_INTERVAL: Final = timedelta(seconds=5)
"""Minimum time between two sessions of one token, so that its holder cannot fill the audit log."""
_LONGEST_NONCE: Final = 64
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_LONGEST_URL: Final = 500

M = TypeVar("M", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class AgentMessage:
    """A message of an agent with an accepted token: the session that it names, and its source address."""

    agent: ClusterAgent
    body: bytes
    session: str = ""
    address: str = ""


def hello(message: AgentMessage) -> bytes:
    """Opens a session. Raises Conflict `agent_version`, `agent_elsewhere` or `agent_soon`, and InvalidInput for an
    invalid message.
    """
    agent_hello = _read(message, AgentHello)
    row = message.agent
    with _as_agent(message):
        if agent_hello.protocol != PROTOCOL:
            spoken = agent_hello.protocol
            words = f"this server speaks protocol {PROTOCOL}, and the agent {spoken}: install the server's release"
            _refuse(row, "agent_version", words=words)
        if row.session and (_is_recent(row) or mailbox_of(row).live_session() == row.session):
            words = "another agent with this token is connected; try again when it has disconnected"
            _refuse(row, "agent_elsewhere", words=words)
        if (
            row.connected_at
            and row.made_at < row.connected_at
            and timezone.now() - row.connected_at < MIN_SESSION_INTERVAL
        ):
            raise Conflict("an agent with this token has just connected; try again in a moment", code="agent_soon")
        return packed(AgentWelcome(_open_session(row, agent_hello, address=message.address)))


def poll(message: AgentMessage) -> bytes:
    """The waiting calls; held for a moment if there are none. Raises Conflict `agent_session`."""
    room = min(_read(message, AgentPoll).room, MAX_CALLS)
    _store_heartbeat(message)
    mailbox = mailbox_of(message.agent)
    if room <= 0:
        return packed(AgentCalls(wait=NEXT_POLL_SECONDS))
    if not HOLD_SLOTS.acquire(blocking=False):
        agent_calls = mailbox.take(room, seconds=0)
        return packed(AgentCalls(agent_calls, wait=0.0 if agent_calls else NEXT_POLL_SECONDS))
    try:
        if not connection.in_atomic_block:
            connection.close()  # other requests need the connection meanwhile
        return packed(AgentCalls(mailbox.take(room, seconds=min(MAX_HOLD_SECONDS, seconds_until_lost() / 3))))
    finally:
        HOLD_SLOTS.release()


def begin(message: AgentMessage) -> bytes:
    """Returns an empty body if a worker still waits for that change. Raises Conflict `agent_not_awaited` and
    `agent_session`.
    """
    nonce = _read(message, AgentBegin).nonce
    _store_heartbeat(message)
    if not _is_nonce(nonce) or not mailbox_of(message.agent).awaits(nonce):
        raise Conflict("karpdash does not wait for that call any more", code="agent_not_awaited")
    return b""


def piece(message: AgentMessage) -> bytes:
    """Stores a piece of an answer, once. Raises Conflict `agent_wait`, `agent_not_awaited` or `agent_session`."""
    agent_piece = _read(message, AgentPiece)
    if not _is_nonce(agent_piece.nonce) or agent_piece.index < 0:
        raise InvalidInput("this is not an answer to a call", code="agent_message")
    _store_heartbeat(message)
    match mailbox_of(message.agent).put(agent_piece):
        case "wait":
            raise Conflict("the previous pieces are not read yet", code="agent_wait")
        case "unknown" | "unexpected":
            raise Conflict("karpdash does not wait for that piece", code="agent_not_awaited")
        case _:
            return b""


def bye(message: AgentMessage) -> bytes:
    """Ends the session, so that another agent may connect at once. Raises Conflict `agent_session`."""
    _require_session(message)
    with _as_agent(message), transaction.atomic():
        ended = ClusterAgent.objects.filter(pk=message.agent.pk, session=message.session).update(session="")
        if ended:
            record_audit_event("agent.left", message.agent.cluster.name, cluster_id=message.agent.cluster_id)
    mailbox_of(message.agent).end_session()
    return b""


MESSAGES: Final[Mapping[str, Any]] = {"hello": hello, "poll": poll, "begin": begin, "piece": piece, "bye": bye}


def refusal(code: str, words: str, *, message: AgentMessage | None = None) -> bytes:
    """The body of a refusal; for a refused piece it contains the index of the expected piece."""
    expected = -1
    if code == "agent_not_awaited" and message is not None:
        try:
            expected = mailbox_of(message.agent).expected(unpacked(message.body, AgentPiece).nonce)
        except InvalidResponse:
            expected = -1
    return packed(AgentRefusal(code, words, expected))


def seconds_until_lost() -> float:
    """Seconds without a heartbeat after which an agent counts as lost."""
    return float(settings.ENV.agent_lost_after)


def _is_recent(row: ClusterAgent) -> bool:
    """Whether a recent heartbeat is in the database: a broker that lost its data must not free the session."""
    return row.heard_at is not None and timezone.now() - row.heard_at < timedelta(seconds=seconds_until_lost())


def _open_session(row: ClusterAgent, agent_hello: AgentHello, *, address: str) -> str:
    now = timezone.now()
    session = secrets.token_hex(16)
    columns: dict[str, Any] = {
        "server": _server(agent_hello),
        "ca_digest": agent_hello.ca_digest,
        "acts": agent_hello.acts,
    }
    columns |= {"helm_in": clean(agent_hello.helm_in, longest=63) if agent_hello.acts else ""}
    columns |= {"release": clean(agent_hello.version, longest=40), "address": address[:45]}
    fresh = columns | {"session": session, "connected_at": now, "heard_at": now, "refused_code": ""}
    with transaction.atomic():
        # Only if the session is the one read before: of two concurrent agents one is refused.
        seen = {"session": row.session, "connected_at": row.connected_at, "revoked_at": None}
        if not ClusterAgent.objects.filter(pk=row.pk, **seen).update(**fresh):
            raise Conflict("another agent with this token is connected", code="agent_elsewhere")
        # A cluster without a result, or with failing scans, is scanned at once.
        waits = Cluster.objects.filter(Q(latest=None) | Q(failures__gt=0), pk=row.cluster_id)
        waits.update(next_due_at=now)
        record_audit_event("agent.connected", row.cluster.name, cluster_id=row.cluster_id, **columns)
    mailbox = mailbox_of(row)
    mailbox.end_session()
    mailbox.record_heartbeat(session, seconds=seconds_until_lost())
    return session


def _server(agent_hello: AgentHello) -> str:
    """The URL of the agent's API server. Raises InvalidInput `agent_message` for an invalid URL or CA digest."""
    try:
        server = parse_server(agent_hello.server).url
    except InvalidInput:
        raise InvalidInput("the agent names no API server", code="agent_message") from None
    if len(server) > _LONGEST_URL or not _DIGEST.fullmatch(agent_hello.ca_digest):
        raise InvalidInput("the agent names no API server with a CA", code="agent_message")
    return server


def _refuse(row: ClusterAgent, code: str, *, words: str) -> None:
    """Records the refusal, at most once a minute, and raises Conflict with that code."""
    now = timezone.now()
    if row.refused_at is None or now - row.refused_at > MIN_REFUSAL_INTERVAL:
        with transaction.atomic():
            first = ClusterAgent.objects.filter(pk=row.pk, refused_at=row.refused_at)
            if first.update(refused_at=now, refused_code=code):
                record_audit_event(REFUSAL_EVENT, row.cluster.name, outcome=code, cluster_id=row.cluster_id)
    elif row.refused_code != code:
        ClusterAgent.objects.filter(pk=row.pk).update(refused_code=code)  # for the page, which shows the newest code
    raise Conflict(words, code=code)


def _store_heartbeat(message: AgentMessage) -> None:
    """Stores the heartbeat. Raises Conflict `agent_session`."""
    _require_session(message)
    row, now = message.agent, timezone.now()
    often = timedelta(seconds=min(HEARTBEAT_STORE_SECONDS, seconds_until_lost() / 3))
    if row.heard_at is None or now - row.heard_at > often:
        # Stored in the database first, so that an agent keeps its session while the broker is down.
        ClusterAgent.objects.filter(pk=row.pk, session=message.session).update(heard_at=now)
    mailbox_of(message.agent).record_heartbeat(message.session, seconds=seconds_until_lost())


def _require_session(message: AgentMessage) -> None:
    if not message.session or message.session != message.agent.session:
        raise Conflict("the session has ended: connect again", code="agent_session")


def _read(message: AgentMessage, kind: type[M]) -> M:
    try:
        if len(message.body) > MAX_MESSAGE:
            raise InvalidResponse("the message is larger than the limit")
        return unpacked(message.body, kind)
    except InvalidResponse as wrong:
        raise InvalidInput(wrong.message, code="agent_message") from None


def _is_nonce(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_NONCE and text.isascii() and text.isalnum()


@contextmanager
def _as_agent(message: AgentMessage) -> Iterator[None]:
    row = message.agent
    by = Actor(name=f"agent of {row.cluster.name}", method="token", address=message.address, token_id=str(row.pk))
    with acting_as(by):
        yield
