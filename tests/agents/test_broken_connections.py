"""Agents that are killed, cut off, copied, revoked or of another release: the cluster is unreachable, never ready."""

import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from django.utils import timezone

from migrations_app.clients.agents.protocol import (
    AgentCall,
    AgentCalls,
    AgentPiece,
    AgentPoll,
)
from migrations_app.clients.agents.server_link import RefusedByServer, ServerLink
from migrations_app.errors import InvalidInput, Unauthorized
from migrations_app.models.audit import AuditEvent
from migrations_app.queries.clusters.agent import agent_detail
from migrations_app.use_cases.agents.tokens import mailbox_of, renew_agent_token, revoke_agent_token
from tests.agents.rig import LOST_AFTER, Site, agent_row, scanned, wait_for_end, wait_for_line
from tests.installations.slow_cluster import SlowCluster
from tests.servers.waiting import eventually


@pytest.fixture
def slow() -> Iterator[SlowCluster]:
    """A cluster that holds back its pods until `go_on` is set."""
    with SlowCluster() as cluster:
        yield cluster


@pytest.fixture
def seconds_until_lost(settings: Any, broker: str) -> Callable[[int], None]:
    """Changes the seconds after which an agent counts as lost."""

    def changed(seconds: int) -> None:
        settings.ENV = replace(settings.ENV, agent_lost_after=seconds)

    return changed


def refusal(link: ServerLink, what: str, message: object) -> str:
    with pytest.raises(RefusedByServer) as caught:
        link.tell(what, message)  # type: ignore[arg-type]  # any message
    return caught.value.code


def verbs() -> list[tuple[str, str]]:
    found = AuditEvent.objects.filter(verb__startswith="agent.").order_by("seq")
    return list(found.values_list("verb", "outcome"))


def test_an_agent_killed_in_a_scan_leaves_the_old_result_and_another_one_goes_on(  # R01, R11
    site: Site, slow: SlowCluster, seconds_until_lost: Callable[[int], None]
) -> None:
    cluster, token = site.register()
    agent = site.connected(token, slow.kubeconfig)
    slow.go_on.set()
    first = scanned(cluster)
    assert (first.state, first.error_code) == ("done", "")
    slow.go_on.clear()
    while slow.asked.acquire(blocking=False):
        pass

    def kill() -> None:
        slow.asked.acquire(timeout=60)
        agent.process.send_signal(signal.SIGKILL)

    seconds_until_lost(5)
    killer = threading.Thread(target=kill)
    killer.start()
    second = scanned(cluster)
    killer.join()
    assert (second.state, second.error_code, second.snapshot) == ("failed", "agent_lost", None)
    assert (cluster.latest, cluster.failures, cluster.last_error_code) == (first.snapshot, 1, "agent_lost")
    slow.go_on.set()
    site.connected(token, slow.kubeconfig)
    seconds_until_lost(LOST_AFTER)
    assert (scanned(cluster).state, cluster.failures) == ("done", 0)


def test_a_cluster_whose_agent_never_dialled_is_unreachable(site: Site) -> None:
    cluster, _ = site.register()
    assert (scanned(cluster).error_code, cluster.latest) == ("agent_lost", None)
    assert agent_detail(cluster.pk, now=timezone.now()).state == "awaited"


def test_a_revoked_token_ends_the_agent_and_the_line(site: Site, slow: SlowCluster) -> None:  # T28
    slow.go_on.set()
    cluster, token = site.register()
    agent = site.connected(token, slow.kubeconfig)
    assert scanned(cluster).state == "done"
    revoke_agent_token(cluster.pk)
    assert scanned(cluster).error_code == "agent_revoked"
    code, log = wait_for_end(agent)
    assert (code, "unknown or revoked" in log) == (3, True)
    renewed = site.token_file("again", renew_agent_token(cluster.pk, by="ada").secret)
    site.connected(renewed, slow.kubeconfig)
    assert scanned(cluster).state == "done"


def test_a_stolen_token_does_not_take_the_line_over(  # T28
    site: Site, slow: SlowCluster, seconds_until_lost: Callable[[int], None]
) -> None:
    slow.go_on.set()
    cluster, token = site.register()
    own = site.connected(token, slow.kubeconfig)
    session = agent_row(cluster).session
    with SlowCluster() as foreign:
        thief = site.start(token, foreign.kubeconfig)
        wait_for_line(thief, "another agent with this token is connected")
        assert (scanned(cluster).state, agent_row(cluster).session) == ("done", session)
        assert foreign.server.requests == []
    shown = agent_detail(cluster.pk, now=timezone.now())
    assert (shown.state, shown.refused_code) == ("connected", "agent_elsewhere")
    told = verbs()  # a slow machine takes more than a minute, and a refusal is recorded once in one
    assert set(told) == {
        ("agent.token_made", "done"),
        ("agent.connected", "done"),
        ("agent.refused", "agent_elsewhere"),
    }
    assert told.count(("agent.connected", "done")) == 1
    seconds_until_lost(6)
    since = timezone.now()
    eventually(lambda: since < (agent_row(cluster).heard_at or since), what="the agent to be heard of for 6 seconds")
    own.stop()  # killed where it takes too long: then there is no goodbye, and it counts as lost after those seconds
    wait_for_line(thief, "connected to")  # who left in order leaves the place to the next one at once


def test_another_release_is_refused_with_the_reason(site: Site) -> None:
    cluster, token = site.register()
    with pytest.raises(RefusedByServer) as caught:
        site.link(token.read_text(), protocol=99)
    assert (caught.value.code, agent_row(cluster).refused_code) == ("agent_version", "agent_version")
    assert verbs()[-1] == ("agent.refused", "agent_version")


def test_an_agent_that_is_not_heard_of_is_lost_and_keeps_its_session(
    site: Site, seconds_until_lost: Callable[[int], None]
) -> None:
    cluster, token = site.register()
    seconds_until_lost(2)
    link = site.link(token.read_text())
    mailbox = mailbox_of(agent_row(cluster))
    eventually(lambda: not mailbox.live_session(), what="the agent to count as lost")
    assert scanned(cluster).error_code == "agent_lost"
    seconds_until_lost(LOST_AFTER)
    link.ask("poll", AgentPoll(1), kind=AgentCalls)
    assert mailbox.live_session() == link.session


class TestAnswers:
    """Each piece of an answer is taken once, in order, of this session, while somebody waits for it."""

    @pytest.fixture
    def line(self, site: Site) -> tuple[ServerLink, object]:
        cluster, token = site.register()
        return site.link(token.read_text()), mailbox_of(agent_row(cluster))

    def test_a_replayed_piece_is_refused(self, line) -> None:
        link, mailbox = line
        call = AgentCall(nonce="abc1", method="GET", path="/version", until=timezone.now().timestamp() + 60)
        mailbox.post(call)
        (found,) = link.ask("poll", AgentPoll(8), kind=AgentCalls).calls
        assert (msgspec.structs.replace(found, seconds=call.seconds), found.seconds <= call.seconds) == (call, True)
        piece = AgentPiece(nonce="abc1", index=0, last=False, status=200, body=b"one")
        link.tell("piece", piece)
        with pytest.raises(RefusedByServer) as caught:
            link.tell("piece", AgentPiece(nonce="abc1", index=0, last=True, status=200, body=b"two"))
        assert (caught.value.code, caught.value.expected) == ("agent_not_awaited", 1)
        assert (mailbox.piece("abc1", 0, seconds=5), mailbox.piece("abc1", 1, seconds=0.1)) == (piece, None)
        mailbox.drop("abc1")
        assert refusal(link, "piece", AgentPiece(nonce="abc1", index=1, last=True)) == "agent_not_awaited"

    def test_an_answer_that_nobody_asked_for_is_refused(self, line) -> None:
        link, _ = line
        assert refusal(link, "piece", AgentPiece(nonce="ffff", index=0, last=True)) == "agent_not_awaited"

    def test_a_session_that_is_over_brings_nothing(self, line) -> None:
        link, _ = line
        link.session = "0" * 32
        assert {refusal(link, what, message) for what, message in MESSAGES} == {"agent_session"}

    def test_an_oversize_message_is_refused(self, line) -> None:  # K09
        link, _ = line
        with pytest.raises(RefusedByServer) as caught:
            link.tell("piece", AgentPiece(nonce="abc1", index=0, last=True, body=b"x" * 700_000))
        assert caught.value.code == "agent_message"

    def test_what_somebody_wrote_into_the_broker_is_passed_over(self, line, broker: str) -> None:  # T27
        import redis

        link, mailbox = line
        with redis.Redis.from_url(broker) as connection:
            here = f"karpdash:agent:{mailbox.agent}:{mailbox.session}"
            connection.set(f"{here}:call:abc1", "0", px=60_000)
            connection.rpush(f"{here}:calls", b"abc1:" + b"forged")
        assert link.ask("poll", AgentPoll(8), kind=AgentCalls).calls == ()


MESSAGES = (("poll", AgentPoll(1)), ("piece", AgentPiece(nonce="abc1", index=0, last=True)))


def test_an_unknown_token_is_refused(site: Site) -> None:
    with pytest.raises(Unauthorized):
        site.link("kd_" + "x" * 43)


def test_tokens_are_for_clusters_with_an_agent(site: Site, slow: SlowCluster) -> None:
    from tests.builders.rows import a_cluster

    with pytest.raises(InvalidInput):
        renew_agent_token(a_cluster("near").pk, by="ada")
