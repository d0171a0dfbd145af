"""K18: every answer that is not good has a typed reason."""

import json

import pytest

from migrations_app.errors import (
    Expired,
    Forbidden,
    InvalidResponse,
    NotServed,
    ReadError,
    ServerFailed,
    TimedOut,
    Unauthorized,
    Unreachable,
)
from tests.clients.kubernetes.rig import always, failure, outcome, speaking
from tests.fakes.evilk8s import EvilServer

STATUSES = [
    ("401 Unauthorized", Unauthorized, "unauthorized"),
    ("403 Forbidden", Forbidden, "forbidden"),
    ("404 Not Found", NotServed, "not_served"),
    ("410 Gone", Expired, "expired"),
    ("301 Moved", InvalidResponse, "redirected"),
    ("302 Found", InvalidResponse, "redirected"),
    ("307 Again", InvalidResponse, "redirected"),
    ("400 Bad", ServerFailed, "refused"),
    ("406 No", ServerFailed, "refused"),
    ("408 Late", TimedOut, "timeout"),
    ("429 Slow", ServerFailed, "throttled"),
    ("500 Oops", ServerFailed, "server_failed"),
    ("503 Away", ServerFailed, "server_failed"),
    ("504 Late", TimedOut, "timeout"),
    ("999 Odd", ServerFailed, "server_failed"),
]


@pytest.mark.parametrize(("status", "kind", "code"), STATUSES)
def test_a_status_becomes_a_reason(status: str, kind: type[ReadError], code: str) -> None:
    error = failure(
        always(lambda wire: wire.answer(b"<html>oops</html>", status=status, Location="https://127.0.0.1/"))
    )
    assert outcome(error) == (kind, code)


def test_a_redirect_is_not_followed() -> None:  # K04
    with EvilServer(always(lambda wire: wire.answer(b"secret"))) as inner:
        to = f"{inner.url}/latest/meta-data"
        error = failure(always(lambda wire: wire.answer(b"", status="302 Found", Location=to)))
        assert (outcome(error), inner.requests, inner.connections) == ((InvalidResponse, "redirected"), [], 0)


def test_a_refusal_names_the_missing_rule() -> None:
    error = failure(always(lambda wire: wire.answer(b"{}", status="403 No")), path="/apis/karpenter.sh/v1/nodepools")
    rule = '{apiGroups: ["karpenter.sh"], resources: ["nodepools"], verbs: ["get"]}'
    assert error.message == f"may not get nodepools.karpenter.sh; missing rule: {rule}"


def test_a_refused_anonymous_request_says_so() -> None:
    body = b'{"message": "nodes is forbidden: User \\"system:anonymous\\" cannot list"}'
    error = failure(always(lambda wire: wire.answer(body, status="403 No")), path="/api/v1/nodes")
    assert error.message == ("the API server took the request for nodes as anonymous: no credentials reached it")


def test_an_absent_object_is_told_from_an_unknown_kind() -> None:
    body = b'{"kind": "Status", "message": "gone", "reason": "NotFound", "details": {"name": "aws-auth"}}'
    script = always(lambda wire: wire.answer(body, status="404 Not Found"))
    path = "/api/v1/namespaces/kube-system/configmaps/aws-auth"
    assert outcome(failure(script, path=path)) == (NotServed, "absent")
    assert outcome(failure(script, path="/api/v1/configmaps")) == (NotServed, "not_served")


def test_a_failed_conversion_is_its_own_reason_and_asked_once() -> None:
    text = 'conversion webhook for karpenter.sh/v1beta1, Kind=NodePool failed: Post "https://karpenter.svc": refused'
    body = json.dumps({"kind": "Status", "message": text, "details": {"x": "y" * 5000}}).encode()
    failing = speaking(always(lambda wire: wire.answer(body, status="500 Oops")))
    with failing as (transport, evil), pytest.raises(ServerFailed) as caught:
        transport.get("/apis/karpenter.sh/v1/nodepools", verb="list")
    assert (caught.value.code, len(evil.requests)) == ("conversion_failed", 1)
    assert caught.value.message == f"nodepools.karpenter.sh: {text}"


def test_a_stored_version_that_is_gone_is_its_own_reason_and_asked_once() -> None:
    text = "request to convert CR from an invalid group/version: karpenter.sh/v1beta1"
    body = json.dumps({"kind": "Status", "message": text}).encode()
    failing = speaking(always(lambda wire: wire.answer(body, status="500 Oops")))
    with failing as (transport, evil), pytest.raises(ServerFailed) as caught:
        transport.get("/apis/karpenter.sh/v1/nodepools", verb="list")
    assert (caught.value.code, len(evil.requests)) == ("stored_version_gone", 1)


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"\x00" * 100 + b"\r\n",
    ],
)
def test_an_answer_that_is_no_http_has_a_reason(raw: bytes) -> None:  # K18
    error = failure(always(lambda wire: wire.raw(raw), lambda wire: wire.cut()))
    assert outcome(error) in [(InvalidResponse, "garbled"), (Unreachable, "cut")]
