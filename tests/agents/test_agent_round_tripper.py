"""An answer through an agent, as the transport reads it: its deadline, its rate, and what no answer is."""

import time
from typing import Any

import pytest

from migrations_app.clients.agents.agent_round_tripper import AgentRoundTripper
from migrations_app.clients.agents.protocol import AgentCall, AgentPiece
from migrations_app.clients.kubernetes.api import api_request
from migrations_app.clients.kubernetes.deadline_socket import ResponseDeadline, with_deadline
from migrations_app.clients.kubernetes.limits import DEFAULT
from migrations_app.clients.kubernetes.round_tripper import ApiCall
from migrations_app.errors import InvalidResponse

SESSION = "one"


class Mailbox:
    """Answers every call with these pieces; `patience` is how long each of them was waited for."""

    def __init__(self, *pieces: AgentPiece) -> None:
        self._pieces = pieces
        self.patience: list[float] = []
        self.dropped: list[str] = []

    def live_session(self) -> str:
        return SESSION

    def post(self, call: AgentCall) -> None:
        """Taken."""

    def piece(self, nonce: str, index: int, *, seconds: float) -> AgentPiece:
        self.patience.append(seconds)
        return self._pieces[index]

    def drop(self, nonce: str) -> None:
        self.dropped.append(nonce)


def piece(index: int, *, last: bool = False, body: bytes = b"", status: int = 200) -> AgentPiece:
    return AgentPiece(nonce="1", index=index, last=last, body=body, status=status)


def round_tripper_over(mailbox: Any) -> AgentRoundTripper:
    return AgentRoundTripper(mailbox, session=SESSION, ca_digest="a" * 64)


def a_call() -> ApiCall:
    return ApiCall(method="GET", request=api_request("get", "/version"), headers={}, ends=time.monotonic() + 600)


def test_the_first_piece_counts_for_the_rate() -> None:  # K06
    body = b"x" * (64 * DEFAULT.bytes_per_second)
    mailbox = Mailbox(piece(0, body=body), piece(1, last=True, body=b"y"))
    pace = ResponseDeadline(DEFAULT, ends=time.monotonic() + 600)
    with with_deadline(pace):
        response = round_tripper_over(mailbox).round_trip(a_call(), patience=30)
        pace.begin_body()
        assert response.read() == body + b"y"
    # 64 seconds' worth came: the next piece may take as long, beyond the slow start.
    assert mailbox.patience[1] > DEFAULT.slow_start_seconds + 60


@pytest.mark.parametrize("status", [0, 199, 600, -1])
def test_an_answer_without_a_status_of_http_is_none(status: int) -> None:
    mailbox = Mailbox(piece(0, last=True, status=status))
    with with_deadline(ResponseDeadline(DEFAULT, ends=time.monotonic() + 600)), pytest.raises(InvalidResponse):
        round_tripper_over(mailbox).round_trip(a_call(), patience=30)
    assert len(mailbox.dropped) == 1
