"""The agent's main loop: it dials its karpdash server, polls for calls, and delivers their answers until it is stopped.

It stores nothing. A failure becomes the answer to that one call. A broken connection is dialled again, after longer
and longer pauses.
"""

import random
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from typing import Final

from migrations_app.clients.agents.api_target import ApiTarget
from migrations_app.clients.agents.call_rules import AllowedCalls
from migrations_app.clients.agents.protocol import (
    MAX_CALLS,
    PROTOCOL,
    AgentBegin,
    AgentCall,
    AgentCalls,
    AgentHello,
    AgentPiece,
    AgentPoll,
    AgentWelcome,
)
from migrations_app.clients.agents.relay_call import relayed
from migrations_app.clients.agents.server_link import RefusedByServer, ServerLink
from migrations_app.clients.kubernetes.limits import DEFAULT, ClientLimits
from migrations_app.clients.liveness_file import LivenessFile
from migrations_app.errors import ReadError, Unauthorized

FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 30.0
BUSY_POLL_SECONDS: Final = 1.0
"""Seconds between two polls while all calls that the agent may have under way are taken."""
_PIECE_PAUSE: Final = 0.1
_PIECE_TRIES: Final = 4
_BEGIN_SECONDS: Final = 5.0
"""A late answer counts as none: a change starts at most this many seconds after its deadline. Its effect is read 40
seconds after the deadline (A22).
"""
_FOR_GOOD: Final = ("agent_version", "redirected")
"""Codes after which dialling again cannot help."""
CONNECTED: Final = "connected"
NOT_CONNECTED: Final = "not connected"
"""Words in the file of the health check. An agent that is not connected still works, and tries again."""
SESSION_OVER: Final = "agent_session"
_REMEMBERED: Final = 1000
"""The most calls that are remembered, so that none is sent twice."""
_JITTER = random.SystemRandom()


class Agent:
    """One agent. `report` is called with a message for people whenever the state of the connection changes; `alive` is
    touched at each turn of the loop.
    """

    def __init__(
        self,
        server: ServerLink,
        target: ApiTarget,
        *,
        allowed: AllowedCalls,
        version: str,
        report: Callable[[str], None],
        alive: LivenessFile,
        limits: ClientLimits = DEFAULT,
    ) -> None:
        self._server = server
        self._target = target
        self._allowed = allowed
        self._version = version
        self._report = report
        self._alive = alive
        self._limits = limits
        self._stop = threading.Event()
        self._under_way = 0
        self._seen: deque[str] = deque(maxlen=_REMEMBERED)
        self._count = threading.Lock()

    def stop(self) -> None:
        """Ends `serve` after the calls under way; safe in a signal handler."""
        self._stop.set()

    def serve(self) -> None:
        """Serves until `stop`. Raises Unauthorized for a token that is not valid, RefusedByServer for a release that
        the server does not speak to, OtherCluster if the API server changed, and InvalidResponse for a redirect.
        """
        pause, last_message = FIRST_PAUSE, ""
        with ThreadPoolExecutor(MAX_CALLS, thread_name_prefix="call") as pool:
            while not self._stop.is_set():
                self._target.require_same()
                try:
                    if not self._server.session:
                        self._dial()
                    self._poll(pool)
                    self._alive.touch(CONNECTED)
                    pause, last_message = FIRST_PAUSE, ""
                except ReadError as error:
                    if isinstance(error, Unauthorized) or error.code in _FOR_GOOD:
                        raise
                    if error.code == SESSION_OVER:
                        self._server.session = ""
                    self._alive.touch(NOT_CONNECTED)
                    last_message = self._report_once(error.message, last_message)
                    self._stop.wait(_JITTER.uniform(pause / 2, pause))
                    pause = min(2 * pause, LONGEST_PAUSE)
        with suppress(ReadError):
            self._server.tell("bye")

    def _report_once(self, message: str, last_message: str) -> str:
        if message != last_message:
            self._report(message)
        return message

    def _dial(self) -> None:
        hello = AgentHello(
            protocol=PROTOCOL,
            version=self._version,
            acts=self._allowed.acts,
            server=self._target.url,
            ca_digest=self._target.ca_digest,
            helm_in=self._allowed.helm_in,
        )
        self._server.session = self._server.ask("hello", hello, kind=AgentWelcome).session
        self._report(f"connected to {self._server.name}, for the API server {self._target.url}")

    def _poll(self, pool: ThreadPoolExecutor) -> None:
        """Polls once. After a broken connection the session stays valid, and the agent goes on with it."""
        room = MAX_CALLS - self._under_way
        agent_calls = self._server.ask("poll", AgentPoll(room), kind=AgentCalls)
        for call in agent_calls.calls[:room]:
            if call.nonce not in self._seen:
                self._seen.append(call.nonce)
                self._count_calls(1)
                pool.submit(self._serve, call)
        if wait := agent_calls.wait or (BUSY_POLL_SECONDS if not room else 0.0):
            self._stop.wait(min(wait, LONGEST_PAUSE))

    def _count_calls(self, change: int) -> None:
        with self._count:
            self._under_way += change

    def _serve(self, call: AgentCall) -> None:
        ends = time.monotonic() + call.seconds
        try:
            agent_pieces = relayed(
                call, target=self._target, allowed=self._allowed, limits=self._limits, begin=self._is_awaited
            )
            with closing(agent_pieces) as pieces:  # in this thread, which the deadline of the call belongs to
                for piece in pieces:
                    if not self._deliver(piece, ends=ends):
                        return
        finally:
            self._count_calls(-1)

    def _is_awaited(self, call: AgentCall) -> bool:
        """Whether the server still waits for that change. It is asked once; without an answer, nothing is sent.

        A stopped agent begins no change. The answer to a change that it began is still delivered.
        """
        if self._stop.is_set():
            return False
        try:
            self._server.tell("begin", AgentBegin(call.nonce), seconds=_BEGIN_SECONDS)
        except ReadError:
            return False
        return True

    def _deliver(self, piece: AgentPiece, *, ends: float) -> bool:
        """Returns whether the server took the piece. A piece without a receipt is sent again; the server takes it once.

        A stop does not end this: an existing answer, above all to a change, is still delivered.
        """
        failures = 0
        while time.monotonic() < ends:
            try:
                self._server.tell("piece", piece)
            except RefusedByServer as refused:
                if refused.code != "agent_wait":
                    return refused.expected == piece.index + 1
            except ReadError:
                failures += 1
                if failures == _PIECE_TRIES:
                    return False
            else:
                return True
            time.sleep(_PIECE_PAUSE)
        return False
