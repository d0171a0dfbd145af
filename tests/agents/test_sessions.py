"""What the server answers an agent, whatever the broker knows: one place for each token, and a bounded audit log."""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from migrations_app.clients.agents.mailbox import AgentMailbox
from migrations_app.clients.agents.protocol import (
    PROTOCOL,
    AgentCall,
    AgentHello,
    AgentPoll,
    AgentWelcome,
    packed,
    unpacked,
)
from migrations_app.errors import Conflict, InvalidInput, Unreachable
from migrations_app.models.audit import AuditEvent
from migrations_app.models.cluster import ClusterAgent
from migrations_app.use_cases.agents import sessions
from migrations_app.use_cases.agents.sessions import AgentMessage
from migrations_app.use_cases.agents.tokens import agent_of, mailbox_of, register_agent, renew_agent_token
from migrations_app.use_cases.clusters.registration import Details
from tests.use_cases.clusters.eks import KEYS

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
            case "EXISTS":
                return int(words[1] in self.kept)
            case "PTTL":
                return 60_000 if words[1] in self.kept else -2
            case "RPUSH":
                self.kept.setdefault(words[1], []).append(words[2])
            case "LPOP":
                return self.kept[words[1]].pop(0) if self.kept.get(words[1]) else None
            case "DEL":
                for name in words[1:]:
                    self.kept.pop(name, None)
        return None


@pytest.fixture
def broker(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Broker:
    settings.ENV = replace(settings.ENV, encryption_keys=KEYS)
    found = Broker()
    monkeypatch.setattr(AgentMailbox, "_command", lambda *words: found(*words))
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
        passed(sessions.seconds_until_lost() / 2)
        broker.kept.clear()
        assert refused(far()) == "agent_elsewhere"
        passed(sessions.seconds_until_lost() / 2)
        assert dialled(far())

    def test_an_agent_is_noted_while_the_broker_is_gone(self, broker: Broker, far: Callable[..., AgentMessage]) -> None:
        session = dialled(far())
        passed(sessions.seconds_until_lost())
        broker.answers = False
        with pytest.raises(Unreachable):
            sessions.poll(far(AgentPoll(1), session))
        broker.answers = True
        broker.kept.clear()
        assert refused(far()) == "agent_elsewhere"

    def test_a_new_token_ends_the_line_at_once(
        self, broker: Broker, far: Callable[..., AgentMessage], django_capture_on_commit_callbacks: Any
    ) -> None:
        dialled(far())
        row = far().agent
        mailbox = mailbox_of(row)
        assert mailbox.live_session() == row.session
        with django_capture_on_commit_callbacks(execute=True):
            renew_agent_token(row.cluster_id, by="ada")
        assert mailbox.live_session() == ""

    def test_a_call_is_for_the_session_that_it_was_left_for(
        self, broker: Broker, far: Callable[..., AgentMessage]
    ) -> None:  # T27
        before, after = replace(mailbox_of(far().agent), session="one"), replace(mailbox_of(far().agent), session="two")
        before.post(AgentCall(nonce="abc1", method="GET", path="/version", until=time.time() + 60))
        assert (before.awaits("abc1"), after.awaits("abc1"), after.take(1, seconds=0)) == (True, False, ())
        for name in list(broker.kept):  # who writes into the broker puts it where the next session looks
            broker.kept[name.replace(":one:", ":two:")] = broker.kept[name]
        assert (after.awaits("abc1"), after.take(1, seconds=0)) == (True, ())


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


@pytest.mark.parametrize(
    "said",
    [
        {"ca_digest": ""}, {"ca_digest": "A" * 64}, {"ca_digest": "a" * 65}, {"ca_digest": "a" * 63 + "\n"},
        {"ca_digest": "a" * 64 + "\n"}, {"server": "https://192.0.2.7/" + "a" * 500}, {"server": "http://192.0.2.7"},
    ],
)  # fmt: skip
def test_what_no_agent_says_of_its_server_is_not_stored(
    broker: Broker, far: Callable[..., AgentMessage], said: dict[str, str]
) -> None:
    with pytest.raises(InvalidInput) as caught:
        sessions.hello(far(msgspec.structs.replace(HELLO, **said)))
    assert (caught.value.code, far().agent.session, events("agent.connected")) == ("agent_message", "", 0)


def replace_protocol(number: int) -> AgentHello:
    return msgspec.structs.replace(HELLO, protocol=number)
