"""The codes of the API's problems. Codes are stable; titles and texts may change.

The exception of the API's own refusals. Imports no views, so that DRF's defaults can be made of our classes.

Errors as application/problem+json (RFC 9457), with a stable code and the id of the request.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.core.signals import got_request_exception
from django.db import InterfaceError, OperationalError
from django.http import Http404
from rest_framework import exceptions
from rest_framework.exceptions import APIException
from rest_framework.response import Response
from rest_framework.views import set_rollback

from migrations_app import errors


@dataclass(frozen=True, slots=True)
class Code:
    """What a code means and what a client can do about it."""

    status: int
    title: str
    meaning: str


CODES: dict[str, Code] = {
    "bad_input": Code(400, "Bad input", "A value cannot be used; `errors` points at it."),
    "invalid": Code(400, "Invalid request", "Fields or parameters are missing, unknown or wrong; see `errors`."),
    "malformed": Code(400, "Malformed body", "The body is not the JSON or form it says it is."),
    "bad_cursor": Code(400, "Bad cursor", "The cursor is none that this list gave out; start without one."),
    "bad_kubeconfig": Code(400, "Kubeconfig refused", "It holds what is never used, or lacks what is needed."),
    "bad_bundle": Code(400, "Bundle refused", "The bundle cannot be read, or is larger than what is taken."),
    "unknown_target": Code(400, "Unknown target", "The target is neither a known release, nor a minor, nor a hop."),
    "unknown_action": Code(400, "Unknown action", "There is no action of that id."),
    "unknown_parameter": Code(400, "Unknown choice", "The action asks for no such choice."),
    "missing_parameter": Code(400, "Choice missing", "The action needs this choice."),
    "bad_parameter": Code(400, "Bad choice", "The choice is of another shape than the action asks for."),
    "name_not_typed": Code(400, "Name not typed", "Send the cluster's name, exactly as it is, in `typed`."),
    "reason_needed": Code(400, "Reason needed", "This is only done with a reason."),
    "bad_window": Code(400, "Bad window", "A change window has days 0 to 6 and goes from HH:MM to HH:MM, UTC."),
    "bad_approvals": Code(400, "Bad approvals", "A number for each risk; destructive plans are never below 1."),
    "out_of_range": Code(400, "Out of range", "The number is too small or too large; the detail says what is taken."),
    "key_needed": Code(400, "Idempotency-Key needed", "Send a key of your own making; a retry then does nothing new."),
    "not_signed_in": Code(401, "Not signed in", "Send a bearer token, or the session cookie of a signed-in browser."),
    "bad_token": Code(401, "Token refused", "The token is unknown, expired or revoked, or its owner is disabled."),
    "forbidden": Code(403, "Not allowed", "The token lacks a scope, or its owner the right; the detail names it."),
    "csrf": Code(403, "Cross-site request refused", "A browser's change needs the CSRF token, from our own pages."),
    "password_change_needed": Code(403, "Choose a password first", "The account still has a one-time password."),
    "person_needed": Code(403, "A person is needed", "People approve and settle in the browser, never over the API."),
    "second_person": Code(403, "A second person is needed", "Whoever made or asked for it does not agree to it alone."),
    "sign_in_again": Code(
        403, "Sign in again", "What cannot be undone wants proof of the person again, in the browser."
    ),
    "not_found": Code(404, "Not found", "There is no such thing, or it is not yours."),
    "method_not_allowed": Code(405, "Method not allowed", "The Allow header names what may be done here."),
    "conflict": Code(409, "Conflict", "Somebody else was first, or the state moved."),
    "name_taken": Code(409, "Name taken", "There is another one of that name."),
    "derived": Code(409, "Told by the ARN", "The label stands in the ARN of the cluster and cannot be set otherwise."),
    "draft_used": Code(409, "Draft used", "An external id belongs to one cluster; ask for a new draft."),
    "no_identity": Code(409, "No AWS identity", "karpdash is nobody to AWS yet; the detail names the settings."),
    "in_progress": Code(409, "Still under way", "The first request with this Idempotency-Key has no answer yet."),
    "answer_lost": Code(409, "Answer lost", "The request was done; its answer can no longer be read."),
    "moved": Code(409, "Moved", "The rollout is in another state now, in which this cannot be done; read it again."),
    "digest_moved": Code(409, "Another plan", "The digest is not that of this plan."),
    "approval_missing": Code(409, "Approval missing", "Too few approvals hold now; people give them in the browser."),
    "closed": Code(409, "Closed", "The policy lets this not begin now; the detail says why."),
    "policy_moved": Code(409, "Policy changed", "The policy was changed since the plan was made; make a new plan."),
    "kill_switch": Code(409, "Stopped", "All changes of clusters are stopped; two people lift it in the browser."),
    "busy": Code(409, "Cluster busy", "Another rollout holds this cluster; the detail names it."),
    "expired": Code(409, "Plan too old", "A plan is good for four hours; make a new one."),
    "disk_full": Code(409, "Disk full", "No scan begins while the disk is nearly full; it goes on by itself."),
    "audit_blocked": Code(409, "Audit log behind", "Nothing is changed while the audit log cannot be carried outside."),
    "rollout_holds": Code(409, "A rollout is under way", "A cluster is not forgotten while a rollout holds it."),
    "export_unproven": Code(409, "Export unreadable", "What was kept of before does not open any more."),
    "stale": Code(412, "Changed meanwhile", "The If-Match does not fit: read again and decide anew."),
    "too_large": Code(413, "Too large", "The body is larger than what is taken here."),
    "unsupported_media_type": Code(415, "Unsupported media type", "Send application/json, or a form for uploads."),
    "key_reused": Code(422, "Key reused", "This Idempotency-Key came with another request before."),
    "if_match_needed": Code(428, "If-Match needed", "Send the ETag of what you have read in an If-Match header."),
    "throttled": Code(429, "Too many requests", "Wait as long as Retry-After says."),
    "failed": Code(500, "Server failed", "A fault of karpdash; the request id finds it in the log."),
    "not_answered": Code(503, "No answer", "AWS or the cluster could not be asked; the detail says why. Try again."),
    "unavailable": Code(503, "Not available", "The database or a key of karpdash is not there; try again later."),
}


def known(code: str, *, otherwise: str) -> str:
    """The code itself where the catalogue has it, else the general one."""
    return code if code in CODES else otherwise


class Problem(APIException):
    """A refusal of our own, by its code."""

    def __init__(self, code: str, detail: str = "", *, retry_after: int | None = None) -> None:
        super().__init__(detail or CODES[code].meaning, code=code)
        self.code = code
        self.status_code = CODES[code].status
        self.retry_after = retry_after


log = logging.getLogger(__name__)
MEDIA_TYPE = "application/problem+json"
Tree = dict[str, Any]


def answered(wrong: Exception, context: Tree) -> Response:
    """The answer to any exception of an endpoint; DRF calls it. A fault of ours is logged with its request id."""
    set_rollback()
    request = context["request"]
    body = _body(wrong)
    if body["status"] >= 500:
        log.error("request failed", exc_info=wrong, extra={"request_id": getattr(request, "request_id", "")})
        got_request_exception.send(sender=None, request=request)
    body |= {"instance": request.path, "request_id": getattr(request, "request_id", "")}
    return Response(body, status=body["status"], headers=_headers(body), content_type=MEDIA_TYPE)


def _body(wrong: Exception) -> Tree:
    code, detail = _told(wrong)
    body: Tree = {
        "type": f"/api/v1/problems/{code}",
        "title": CODES[code].title,
        "status": CODES[code].status,
        "detail": detail or CODES[code].meaning,
        "code": code,
    }
    if isinstance(wrong, exceptions.ValidationError):
        body["errors"] = list(_pointed(wrong.detail, ()))
    elif isinstance(wrong, errors.BadInput) and wrong.where:
        body["errors"] = [{"pointer": f"#/{_escaped(wrong.where)}", "detail": wrong.message, "code": wrong.code}]
    wait = _wait(wrong)
    return body | ({"retry_after": wait} if wait is not None else {})


def _told(wrong: Exception) -> tuple[str, str]:
    """Code and detail."""
    if isinstance(wrong, Problem):
        return wrong.code, str(wrong.detail)
    if isinstance(wrong, errors.KarpdashError):
        return _of_ours(wrong), wrong.message
    for kind, code in _OF_OTHERS:
        if isinstance(wrong, kind):
            return code, str(wrong.detail) if code in _TOLD_AS_IS and isinstance(wrong, exceptions.APIException) else ""
    return "failed", ""


def _of_ours(wrong: errors.KarpdashError) -> str:
    if isinstance(wrong, errors.BadSetting):
        return "unavailable"
    if isinstance(wrong, errors.CouldNotLook):
        return "not_answered"  # its own codes speak of that other server, not of this request
    for kind, general in _OF_OURS:
        if isinstance(wrong, kind):
            return known(wrong.code, otherwise=general)
    return "failed"


_OF_OURS = (
    (errors.BadKubeconfig, "bad_kubeconfig"),
    (errors.BadBundle, "bad_bundle"),
    (errors.BadInput, "bad_input"),
    (errors.NotFound, "not_found"),
    (errors.Conflict, "conflict"),
    (errors.Denied, "forbidden"),
)
_OF_OTHERS: tuple[tuple[type[Exception], str], ...] = (
    (exceptions.ValidationError, "invalid"),
    (exceptions.ParseError, "malformed"),
    (exceptions.NotAuthenticated, "not_signed_in"),
    (exceptions.AuthenticationFailed, "bad_token"),
    (exceptions.PermissionDenied, "forbidden"),
    (PermissionDenied, "forbidden"),
    (Http404, "not_found"),
    (exceptions.MethodNotAllowed, "method_not_allowed"),
    (exceptions.UnsupportedMediaType, "unsupported_media_type"),
    (exceptions.Throttled, "throttled"),
    (RequestDataTooBig, "too_large"),
    (SuspiciousOperation, "malformed"),
    (OperationalError, "unavailable"),
    (InterfaceError, "unavailable"),
)
_TOLD_AS_IS = ("malformed", "forbidden", "bad_token")


def _wait(wrong: Exception) -> int | None:
    if isinstance(wrong, exceptions.Throttled):
        return max(1, int(getattr(wrong, "wait", None) or 1))
    if isinstance(wrong, OperationalError | InterfaceError):
        return 5
    return wrong.retry_after if isinstance(wrong, Problem) else None


def _headers(body: Tree) -> dict[str, str]:
    found = {}
    if body["status"] == 401:
        found["WWW-Authenticate"] = 'Bearer realm="karpdash"'
    if "retry_after" in body:
        found["Retry-After"] = str(body["retry_after"])
    return found


def _pointed(detail: Any, path: tuple[str, ...]) -> Iterator[Tree]:  # noqa: ANN401 - DRF's nest of lists and dicts
    if isinstance(detail, dict):
        for name, below in detail.items():
            yield from _pointed(below, path if name == "non_field_errors" else (*path, str(name)))
    elif isinstance(detail, list):
        for below in detail:
            yield from _pointed(below, path)
    else:
        pointer = "#" + "".join(f"/{_escaped(step)}" for step in path)
        yield {"pointer": pointer, "detail": str(detail), "code": str(getattr(detail, "code", "invalid"))}


def _escaped(step: str) -> str:
    """A step of a JSON pointer (RFC 6901)."""
    return step.replace("~", "~0").replace("/", "~1")
