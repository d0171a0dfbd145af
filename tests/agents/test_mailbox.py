"""Calls in the broker: which of them an agent gets."""

import logging
import time
from dataclasses import dataclass, field
from typing import Any

import pytest

from migrations_app.clients.agents.mailbox import AgentMailbox
from migrations_app.clients.agents.protocol import AgentCall


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

    def __call__(self, _: AgentMailbox, *words: Any) -> object:
        match words[0]:
            case "RPUSH":
                self.calls.append(words[2])
            case "LPOP":
                return self.calls.pop(0) if self.calls else None
            case "EXISTS":
                return 1
        return None


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    found = Broker()
    monkeypatch.setattr(AgentMailbox, "_asked", lambda *words: found(*words))
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
