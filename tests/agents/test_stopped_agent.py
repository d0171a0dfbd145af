"""An agent that is stopped answers the requests that it began, and begins no further change."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from migrations_app.clients.agents import dial_loop
from migrations_app.clients.agents.call_rules import AllowedCalls
from migrations_app.clients.agents.dial_loop import Agent
from migrations_app.clients.agents.protocol import AgentBegin, AgentCall, AgentCalls, AgentPiece, AgentWelcome
from migrations_app.clients.liveness_file import LivenessFile

PATCH = AgentCall(nonce="2", method="PATCH", path="/api/v1/nodes/one")
ANSWER = AgentPiece(nonce="2", index=0, last=True, status=200)


class Server:
    """A server that hands out one change; `told` is what the agent brings."""

    session = ""
    name = "karpdash"

    def __init__(self) -> None:
        self.told: list[tuple[str, msgspec.Struct | None]] = []
        self._calls = [PATCH]

    def ask(self, what: str, message: msgspec.Struct, *, kind: type) -> msgspec.Struct:
        if kind is AgentWelcome:
            return AgentWelcome("one")
        calls, self._calls = tuple(self._calls), []
        return AgentCalls(calls)

    def tell(self, what: str, message: msgspec.Struct | None = None, *, seconds: float = 0) -> None:
        self.told.append((what, message))


class Target:
    """An API server that is always the same."""

    url = "https://192.0.2.7:6443"
    ca_digest = "a" * 64

    def require_same(self) -> None:
        """It is."""


def served(monkeypatch: pytest.MonkeyPatch, relayed: Callable[[Agent, Any], Iterator[AgentPiece]]) -> list[Any]:
    server = Server()
    there: Any = server
    target: Any = Target()
    acting = AllowedCalls(acts=True)
    agent = Agent(there, target, allowed=acting, version="1", report=lambda _: None, alive=LivenessFile(None))
    monkeypatch.setattr(dial_loop, "relayed", lambda call, *, begin, **_: relayed(agent, begin))
    agent.serve()
    return server.told


def test_the_answer_of_a_change_under_way_is_brought_after_a_stop(monkeypatch: pytest.MonkeyPatch) -> None:  # A20
    def relayed(agent: Agent, begin: Callable[[AgentCall], bool]) -> Iterator[AgentPiece]:
        assert begin(PATCH)
        agent.stop()
        yield ANSWER

    assert served(monkeypatch, relayed) == [("begin", AgentBegin("2")), ("piece", ANSWER), ("bye", None)]


def test_no_change_is_begun_after_a_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    def relayed(agent: Agent, begin: Callable[[AgentCall], bool]) -> Iterator[AgentPiece]:
        agent.stop()
        if begin(PATCH):
            yield ANSWER

    assert served(monkeypatch, relayed) == [("bye", None)]
