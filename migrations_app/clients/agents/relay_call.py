"""One call of the karpdash server in the agent: refused, or sent to the API server once and answered in pieces."""

import json
import time
from collections.abc import Callable, Generator, Iterator
from itertools import count
from typing import Any, Final

import urllib3

from migrations_app.clients.agents.api_target import ApiTarget
from migrations_app.clients.agents.call_rules import AllowedCalls
from migrations_app.clients.agents.protocol import MAX_PIECE, PASSED_ON, AgentCall, AgentPiece
from migrations_app.clients.kubernetes import errors
from migrations_app.clients.kubernetes.api import Verb, api_request
from migrations_app.clients.kubernetes.deadline_socket import ResponseDeadline, with_deadline
from migrations_app.clients.kubernetes.limits import ClientLimits
from migrations_app.clients.kubernetes.round_tripper import ApiCall
from migrations_app.errors import KarpdashError, TooLarge

_LONGEST_CALL: Final = 120.0
_REVIEW: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_VERBS: Final[dict[str, Verb]] = {
    "GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete",
}  # fmt: skip


def changes(call: AgentCall) -> bool:
    """Whether the call may change the cluster."""
    return call.method != "GET" and call.path != _REVIEW


def refused(call: AgentCall, why: str) -> AgentPiece:
    """An answer like that of an API server whose RBAC refuses the call: it shows that nothing was sent."""
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}
    body = json.dumps(status | {"message": f"karpdash agent: {why}"}).encode()
    headers = {"Content-Type": "application/json"}
    return AgentPiece(nonce=call.nonce, index=0, last=True, status=403, headers=headers, body=body)


def relayed(
    call: AgentCall,
    *,
    target: ApiTarget,
    allowed: AllowedCalls,
    limits: ClientLimits,
    begin: Callable[[AgentCall], bool],
) -> Generator[AgentPiece, None, None]:
    """Yields the pieces of the answer. A change is sent only if `begin` returns True."""
    if why := allowed.refusal(call):
        yield refused(call, why)
        return
    ends = time.monotonic() + min(call.seconds, _LONGEST_CALL)
    index = 0
    try:
        if changes(call) and not begin(call):
            return
        for piece in _answer_pieces(call, target, limits=limits, ends=ends):
            index = piece.index + 1
            yield piece
    except errors.CAUGHT as error:
        yield _failed(call, index, error=errors.from_exception(error).error)
    except KarpdashError as error:
        yield _failed(call, index, error=error)


def _failed(call: AgentCall, index: int, *, error: KarpdashError) -> AgentPiece:
    return AgentPiece(nonce=call.nonce, index=index, last=True, failure=error.code, message=error.message)


def _answer_pieces(call: AgentCall, target: ApiTarget, *, limits: ClientLimits, ends: float) -> Iterator[AgentPiece]:
    round_tripper, token = target.round_tripper()
    headers = {"Accept": call.accept, "Accept-Encoding": call.encoding, "User-Agent": call.user_agent}
    if call.content_type:
        headers["Content-Type"] = call.content_type
    if token:
        headers["Authorization"] = f"Bearer {token.reveal()}"
    request = api_request(_VERBS[call.method], call.path)
    api_call = ApiCall(
        method=call.method, request=request, query=call.query, headers=headers, body=_body(call), ends=ends
    )
    deadline = ResponseDeadline(limits, ends=ends)
    with with_deadline(deadline):
        response = round_tripper.round_trip(api_call, patience=deadline.seconds_left())
        try:
            deadline.begin_body()
            yield from _pieces(call, response, most=limits.page_bytes)
        finally:
            response.close()


def _body(call: AgentCall) -> Any:  # noqa: ANN401 - plain JSON, or bytes
    """The body in the form that the client expects: JSON as an object, every other kind as bytes."""
    if call.body is None:
        return None
    return json.loads(call.body) if "json" in call.content_type else call.body


def _pieces(call: AgentCall, response: urllib3.HTTPResponse, *, most: int) -> Iterator[AgentPiece]:
    """The body as the server encoded it, read one piece ahead, so that a short answer is one piece."""
    passed = {name: response.headers[name] for name in PASSED_ON if name in response.headers}
    body = response.read(MAX_PIECE, decode_content=False)
    size = len(body)
    for index in count():
        following = response.read(MAX_PIECE, decode_content=False) if body else b""
        size += len(following)
        if size > most:
            raise TooLarge("the answer is larger than the limit of a page")
        yield AgentPiece(
            nonce=call.nonce, index=index, last=not following, status=response.status, headers=passed, body=body
        )
        if not following:
            return
        body = following
