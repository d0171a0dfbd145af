"""One call at the agent: sent once, answered in pieces within the limits, and refused without asking the server."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from migrations_app.clients.addresses import OutboundPolicy
from migrations_app.clients.agents.api_target import ApiTarget
from migrations_app.clients.agents.call_rules import AllowedCalls
from migrations_app.clients.agents.protocol import AgentCall, AgentPiece
from migrations_app.clients.agents.relay_call import relayed
from migrations_app.clients.kubernetes.connection import Server
from migrations_app.errors import OtherCluster
from tests.clients.kubernetes.rig import CANARY, PATIENT, connection
from tests.fakes.evilk8s import EvilServer, Request, Wire

NODES = AgentCall(nonce="1", method="GET", path="/api/v1/nodes", query=(("limit", "500"),))
PATCH = AgentCall(
    nonce="2", method="PATCH", path="/api/v1/nodes/one", content_type="application/merge-patch+json", body=b'{"a": 1}'
)
HERE = OutboundPolicy(allow_loopback=True)
BODY = b'{"items": [' + b"1," * 500_000 + b"1]}"


@pytest.fixture
def server() -> Iterator[EvilServer]:
    def script(request: Request, wire: Wire) -> None:
        wire.answer(BODY if request.method == "GET" else b'{"kind": "Node"}')

    with EvilServer(script) as found:
        yield found


def answered(
    server: EvilServer, call: AgentCall, *, acts: bool = False, awaited: bool = True, **limits: int
) -> list[AgentPiece]:
    target = ApiTarget(lambda: connection(server), reach=HERE, limits=PATIENT)
    bounds = replace(PATIENT, **limits)  # type: ignore[arg-type]  # any of its numbers
    allowed = AllowedCalls(acts=acts)
    return list(relayed(call, target=target, allowed=allowed, limits=bounds, begin=lambda _: awaited))


def test_an_answer_comes_in_numbered_pieces(server: EvilServer) -> None:
    pieces = answered(server, NODES)
    assert [(one.index, one.last) for one in pieces] == [(0, False), (1, True)]
    assert (b"".join(one.body for one in pieces), pieces[0].status) == (BODY, 200)
    (asked,) = server.requests
    assert (asked.path, asked.headers["authorization"]) == ("/api/v1/nodes", f"Bearer {CANARY}")
    assert CANARY.encode() not in b"".join(one.body for one in pieces)


def test_an_oversize_answer_ends_as_too_large(server: EvilServer) -> None:  # K09
    *_, last = answered(server, NODES, page_bytes=600_000)
    assert (last.failure, last.last) == ("too_large", True)


def test_a_reading_agent_answers_a_change_as_rbac_would(server: EvilServer) -> None:  # A26
    (piece,) = answered(server, PATCH)
    told = json.loads(piece.body)
    assert (piece.status, told["reason"], server.requests) == (403, "Forbidden", [])
    assert told["message"] == "karpdash agent: this agent was installed to read only: it does not patch nodes"


def test_a_change_is_sent_once_and_as_it_is(server: EvilServer) -> None:  # A20
    (piece,) = answered(server, PATCH, acts=True)
    assert (piece.status, json.loads(piece.body)) == (200, {"kind": "Node"})
    (asked,) = server.requests
    assert (asked.method, json.loads(asked.body)) == ("PATCH", {"a": 1})
    assert asked.headers["content-type"] == "application/merge-patch+json"


def test_a_change_that_nobody_waits_for_is_not_sent(server: EvilServer) -> None:  # A22
    assert (answered(server, PATCH, acts=True, awaited=False), server.requests) == ([], [])


def test_a_server_that_is_gone_is_told_as_such(server: EvilServer) -> None:
    target = ApiTarget(lambda: connection(server, server=Server("127.0.0.1", 9)), reach=HERE, limits=PATIENT)
    allowed = AllowedCalls(acts=False)
    (piece,) = relayed(NODES, target=target, allowed=allowed, limits=PATIENT, begin=lambda _: True)
    assert (piece.failure, piece.index, piece.last) == ("unreachable", 0, True)


def test_another_api_server_than_at_the_start_is_not_spoken_to(server: EvilServer) -> None:  # A05
    found = iter([connection(server), connection(server, server=Server("127.0.0.1", 9))])
    target = ApiTarget(lambda: next(found), reach=HERE, limits=PATIENT)
    with pytest.raises(OtherCluster):
        target.round_tripper()
    with pytest.raises(OtherCluster):
        target.require_same()
