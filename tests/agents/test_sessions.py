"""What the server answers an agent, whatever the broker knows: one place for each token, and a bounded audit log."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from django.utils import timezone

from migrations_app.clients.agents.mailbox import AgentMailbox
from migrations_app.clients.agents.protocol import PROTOCOL, AgentHello, AgentPoll, AgentWelcome, packed, unpacked
from migrations_app.errors import Conflict, Unreachable
from migrations_app.models.audit import AuditEvent
from migrations_app.models.cluster import ClusterAgent
from migrations_app.use_cases.agents import sessions
from migrations_app.use_cases.agents.sessions import AgentMessage
from migrations_app.use_cases.agents.tokens import agent_of, register_agent
from migrations_app.use_cases.clusters.registration import Details
from tests.use_cases.eks import KEYS

pytestmark = pytest.mark.django_db
HELLO = AgentHello(protocol=PROTOCOL, version="1", acts=False, server="https://192.0.2.7:6443", ca_digest="a" * 64)


class Broker:
    """A broker in this process. Without `answers` it is gone; `asked` is every command that reached it."""

    def __init__(self) -> None:
        self.answers = True
        self.kept: dict[str, Any] = {}
        self.asked: list[tuple[Any, ...]] = []

    def __call__(self, _: AgentMailbox, *words: Any) -> object:
        if not self.answers:
            raise Unreachable("gone", code="no_broker")
        self.asked.append(words)
        match words[0]:
            case "SET":
                self.kept[words[1]] = str(words[2]).encode()
            case "GET":
                return self.kept.get(words[1])
            case "DEL":
                for name in words[1:]:
                    self.kept.pop(name, None)
        return None


@pytest.fixture
def broker(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Broker:
    settings.ENV = replace(settings.ENV, encryption_keys=KEYS)
    found = Broker()
    monkeypatch.setattr(AgentMailbox, "_asked", lambda *words: found(*words))
    return found


@pytest.fixture
def far(broker: Broker) -> Callable[..., AgentMessage]:
    """Messages of one agent, each with its row as the web finds it."""
    secret = register_agent(Details(name="far", by="ada")).secret

    def message(body: Any = HELLO, session: str = "") -> AgentMessage:
        row = agent_of(secret)
        assert row is not None
        return AgentMessage(row, packed(body), session)

    return message


def dialled(message: AgentMessage) -> str:
    return unpacked(sessions.hello(message), AgentWelcome).session


def refused(message: AgentMessage) -> str:
    with pytest.raises(Conflict) as caught:
        sessions.hello(message)
    return caught.value.code


def passed(seconds: float) -> None:
    """All that the row remembers lies that much further back."""
    for row in ClusterAgent.objects.all():
        times = {name: getattr(row, name) for name in ("connected_at", "heard_at", "refused_at", "made_at")}
        earlier = {name: at - timedelta(seconds=seconds) for name, at in times.items() if at is not None}
        ClusterAgent.objects.filter(pk=row.pk).update(**earlier)


def events(verb: str) -> int:
    return AuditEvent.objects.filter(verb=verb).count()


class TestTheLine:
    def test_a_broker_that_lost_its_data_opens_no_place(self, broker: Broker, far: Callable[..., AgentMessage]) -> None:
        dialled(far())
        passed(sessions.lost_after() / 2)
        broker.kept.clear()
        assert refused(far()) == "agent_elsewhere"
        passed(sessions.lost_after() / 2)
        assert dialled(far())

    def test_an_agent_is_noted_while_the_broker_is_gone(self, broker: Broker, far: Callable[..., AgentMessage]) -> None:
        session = dialled(far())
        passed(sessions.lost_after())
        broker.answers = False
        with pytest.raises(Unreachable):
            sessions.poll(far(AgentPoll(1), session))
        broker.answers = True
        broker.kept.clear()
        assert refused(far()) == "agent_elsewhere"


class TestTheAuditLog:
    """Who holds a token can say a lot, and is recorded rarely."""

    def test_refusals_are_recorded_once_a_minute_whatever_they_say(
        self, broker: Broker, far: Callable[..., AgentMessage]
    ) -> None:
        dialled(far())
        other = replace_protocol(99)
        assert [refused(far(said)) for said in (HELLO, other, HELLO, other)] == ["agent_elsewhere", "agent_version"] * 2
        assert events("agent.refused") == 1
        passed(61)
        broker.kept.clear()
        assert (refused(far(other)), events("agent.refused")) == ("agent_version", 2)

    def test_a_session_that_opens_does_not_make_refusals_count_anew(
        self, broker: Broker, far: Callable[..., AgentMessage]
    ) -> None:
        assert refused(far(replace_protocol(99))) == "agent_version"
        dialled(far())
        assert (refused(far()), events("agent.refused")) == ("agent_elsewhere", 1)
        assert ClusterAgent.objects.get().refused_code == "agent_elsewhere"

    def test_one_token_opens_a_session_every_few_seconds(
        self, broker: Broker, far: Callable[..., AgentMessage]
    ) -> None:
        sessions.bye(far(HELLO, dialled(far())))
        assert (refused(far()), events("agent.connected"), events("agent.left")) == ("agent_soon", 1, 1)
        passed(6)
        assert (bool(dialled(far())), events("agent.connected")) == (True, 2)

    def test_two_that_dial_together_open_one_session(self, broker: Broker, far: Callable[..., AgentMessage]) -> None:
        late = far()
        sessions.bye(far(HELLO, dialled(far())))
        assert (refused(late), events("agent.connected")) == ("agent_elsewhere", 1)


def replace_protocol(number: int) -> AgentHello:
    return msgspec.structs.replace(HELLO, protocol=number)
