"""K07, K08: reads are tried again, a few times; nothing else is."""

import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from migrations_app.clients.kubernetes import transport as client
from migrations_app.clients.kubernetes.limits import ClientLimits
from migrations_app.errors import (
    ServerFailed,
    Unreachable,
)
from tests.clients.kubernetes.rig import FAST, always, failure, outcome, speaking
from tests.fakes.evilk8s import Request, Script, Wire


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the client would have waited each time, in seconds."""
    waited: list[float] = []
    monkeypatch.setattr(client, "time", SimpleNamespace(monotonic=time.monotonic, sleep=waited.append))
    return waited


def flaky(*answers: Callable[[Wire], None]) -> Script:
    """One answer after another, then good ones."""
    left = list(answers)

    def script(_: Request, wire: Wire) -> None:
        left.pop(0)(wire) if left else wire.answer(b"good")

    return script


@pytest.mark.parametrize(
    "sick",
    [
        lambda wire: wire.cut(),
        lambda wire: wire.answer(b"", status="503 Unavailable"),
        lambda wire: wire.answer(b"", status="429 Slow", Retry_After="0"),
        lambda wire: wire.answer(b"", status="500 Oops"),
        lambda wire: wire.answer(b"", status="504 Late"),
        lambda wire: (wire.begin(), wire.chunk(b"half"), wire.cut()),
        lambda wire: (wire.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), wire.cut()),
    ],
)
def test_a_read_is_tried_again(sick: Callable[[Wire], None]) -> None:
    with speaking(flaky(sick, sick)) as (transport, evil):
        assert bytes(transport.get("/version").body) == b"good"
    assert [request.headers["user-agent"].split("=")[-1] for request in evil.requests] == ["1", "2", "3"]


def test_a_read_is_tried_four_times_at_most() -> None:
    away = speaking(always(lambda wire: wire.answer(b"", status="503 Unavailable")))
    with away as (transport, evil), pytest.raises(ServerFailed):
        transport.get("/version")
    assert len(evil.requests) == 4


def test_a_question_by_post_is_sent_once() -> None:  # A20
    with speaking(always(lambda wire: wire.cut())) as (transport, evil), pytest.raises(Unreachable):
        transport.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"kind": "x"})
    assert [(request.method, request.body) for request in evil.requests] == [("POST", b'{"kind": "x"}')]


@pytest.mark.parametrize("garbage", ["soon", "-1", "99999999999", "Fri, 02 Jan 2099 03:04:05 GMT", "1e9", "٣", ""])
def test_a_retry_after_that_is_no_number_is_ignored(garbage: str, pauses: list[float]) -> None:  # K08
    text = garbage.encode("utf-8").decode("latin-1")
    script = flaky(lambda wire: wire.answer(b"", status="429 Slow", Retry_After=text))
    with speaking(script) as (transport, _):
        assert bytes(transport.get("/version").body) == b"good"
    (pause,) = pauses
    assert pause <= FAST.longest_pause_seconds


def test_a_long_retry_after_is_waited_for_only_as_long_as_allowed(pauses: list[float]) -> None:  # K08
    script = flaky(lambda wire: wire.answer(b"", status="429 Slow", Retry_After="9000"))
    with speaking(script) as (transport, _):
        assert bytes(transport.get("/version").body) == b"good"
    assert pauses == [FAST.retry_after_seconds]


def test_a_retry_after_beyond_the_deadline_ends_the_call_at_once(pauses: list[float]) -> None:
    limits = ClientLimits(call_seconds=10, retry_after_seconds=30)
    script = always(lambda wire: wire.answer(b"", status="429 Slow", Retry_After="20"))
    assert outcome(failure(script, limits=limits)) == (ServerFailed, "throttled")
    assert pauses == []
