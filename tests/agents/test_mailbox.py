"""Calls in the broker: which of them an agent gets."""

import logging
import time
from dataclasses import dataclass, field
from typing import Any

import pytest
from redis.exceptions import TimeoutError as RedisTimeout

from migrations_app.clients.agents import mailbox as mailbox_module
from migrations_app.clients.agents.mailbox import AgentMailbox
from migrations_app.clients.agents.protocol import AgentCall
from migrations_app.errors import Unreachable


class Plain:
    """Seals nothing."""

    def seal(self, plain: bytes, *, owner: str, field: str) -> bytes:
        return plain

    def open(self, sealed: bytes, *, owner: str, field: str) -> bytes:
        return sealed


@dataclass
class Broker:
    """A broker that holds calls that are all waited for."""

    calls: list[bytes] = field(default_factory=list)
    milliseconds: int = 0
    """How long a key of a call lasts; as many as it was given, unless it is changed."""

    def __call__(self, _: AgentMailbox, *words: Any) -> object:
        match words[0]:
            case "RPUSH":
                self.calls.append(words[2])
            case "LPOP":
                return self.calls.pop(0) if self.calls else None
            case "SET":
                self.milliseconds = words[-1]
            case "PTTL":
                return self.milliseconds
        return None


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    found = Broker()
    monkeypatch.setattr(AgentMailbox, "_command", lambda *words: found(*words))
    return found


@pytest.mark.parametrize(("late", "taken"), [(0, 1), (120, 1), (590, 1), (700, 0)])
def test_clocks_may_differ_by_minutes(
    broker: Broker, caplog: pytest.LogCaptureFixture, late: int, taken: int
) -> None:  # T27
    mailbox = AgentMailbox("redis://192.0.2.1", "a", Plain())
    mailbox.post(AgentCall(nonce="1", method="GET", path="/version", until=time.time() - late))
    with caplog.at_level(logging.WARNING):
        assert len(mailbox.take(1, seconds=0)) == taken
    assert ("it is over" in caplog.text) is not bool(taken)


@pytest.mark.parametrize(("gone", "left"), [(0, [30.0]), (12_000, [18.0]), (30_000, []), (40_000, [])])
def test_an_agent_gets_what_is_left_of_a_calls_time(broker: Broker, gone: int, left: list[float]) -> None:  # A22
    mailbox = AgentMailbox("redis://192.0.2.1", "a", Plain())
    mailbox.post(AgentCall(nonce="1", method="PATCH", path="/version", seconds=30, until=time.time() + 30))
    broker.milliseconds -= gone
    assert [call.seconds for call in mailbox.take(1, seconds=0)] == left


def test_a_broker_that_hangs_is_left_after_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each message of an agent begins with its heartbeat, each call with its key."""
    asked: list[tuple[str, float]] = []

    class Hanging:
        def __init__(self, seconds: float) -> None:
            self.seconds = seconds

        def execute_command(self, *words: Any) -> object:
            asked.append((words[0], self.seconds))
            raise RedisTimeout

    monkeypatch.setattr(mailbox_module, "_connection", lambda _, seconds: Hanging(seconds))
    mailbox = AgentMailbox("redis://192.0.2.1", "a", Plain())
    call = AgentCall(nonce="1", method="GET", path="/version")
    for attempt in (
        lambda: mailbox.record_heartbeat("one", seconds=20),
        mailbox.live_session,
        lambda: mailbox.post(call),
    ):
        with pytest.raises(Unreachable) as caught:
            attempt()
        assert caught.value.code == "no_broker"
    assert asked == [("SET", 1.0), ("GET", 1.0), ("SET", 1.0)]
