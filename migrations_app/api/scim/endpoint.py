"""Base class of the SCIM endpoints: the token of a directory, limits, and errors in the format of RFC 7644."""

import logging
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import RequestDataTooBig
from django.core.signals import got_request_exception
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpResponseBase
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.permissions import BasePermission
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView, set_rollback

from migrations_app import errors
from migrations_app.api.framework.fields import StrictJsonParser
from migrations_app.api.framework.throttling import CallerThrottle
from migrations_app.api.framework.views import MIB, JsonOnly
from migrations_app.manifests import JsonMap
from migrations_app.queries.visibility import NOTHING, visibility_scope
from migrations_app.use_cases.accounts.directory_people import DIRECTORY_PREFIX
from migrations_app.use_cases.accounts.directory_tokens import DirectoryUse, directory_of
from migrations_app.use_cases.audit.log import SYSTEM, Actor, acting_as, set_actor

log = logging.getLogger(__name__)
MEDIA_TYPE = "application/scim+json"
ERROR = "urn:ietf:params:scim:api:messages:2.0:Error"
_TYPES = {"name_taken": "uniqueness"}


class ScimError(exceptions.APIException):
    """A refusal with the `scimType` of RFC 7644, table 9; empty for a status without one."""

    def __init__(self, detail: str, *, kind: str = "", status: int = 400) -> None:
        super().__init__(detail)
        self.kind = kind
        self.status_code = status


class DirectoryToken(BaseAuthentication):
    """Authentication by the token of a directory. Sessions and all other tokens are refused."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, DirectoryUse]:
        """Returns an anonymous user and the use of the token. Raises AuthenticationFailed."""
        scheme, _, secret = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        use = directory_of(secret.strip()) if scheme.lower() == "bearer" else None
        if use is None:
            raise exceptions.AuthenticationFailed("a token of a directory is needed")
        return AnonymousUser(), use

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002 - DRF's signature
        return 'Bearer realm="karpdash-scim"'


class IsDirectory(BasePermission):
    """Allows requests with the token of a directory, and no others."""

    def has_permission(self, request: Request, view: Any) -> bool:  # noqa: ANN401, ARG002 - DRF's signature
        return isinstance(request.auth, DirectoryUse)


class ScimParser(StrictJsonParser):
    media_type = MEDIA_TYPE


class ScimRenderer(JSONRenderer):
    media_type = MEDIA_TYPE
    charset = "utf-8"


class ScimEndpoint(APIView):
    """Base of the SCIM views."""

    schema = None
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    authentication_classes = [DirectoryToken]
    permission_classes = [IsDirectory]
    parser_classes = [ScimParser, StrictJsonParser]
    renderer_classes = [ScimRenderer]
    throttle_classes = [CallerThrottle]
    content_negotiation_class: type[BaseContentNegotiation] = JsonOnly

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:  # noqa: ANN401 - DRF's signature
        with acting_as(SYSTEM), visibility_scope(NOTHING):
            return super().dispatch(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - DRF's signature
        super().initial(request, *args, **kwargs)
        address = str(request.META.get("REMOTE_ADDR", ""))
        use = request.auth
        if not isinstance(use, DirectoryUse):
            raise exceptions.NotAuthenticated
        by = Actor(name=f"{DIRECTORY_PREFIX}{use.name}", method="token", address=address, token_id=str(use.id))
        set_actor(by, request_id=str(getattr(request, "request_id", "")))
        length = request.META.get("CONTENT_LENGTH") or "0"
        if not length.isdecimal() or int(length) > MIB:
            raise ScimError(f"at most {MIB} bytes are accepted", status=413)

    def get_exception_handler(self) -> Any:  # noqa: ANN401 - DRF's signature
        return exception_answer


def body_of(request: Request) -> JsonMap:
    """Returns the body, a JSON object. Raises ScimError `invalidSyntax`."""
    if not isinstance(request.data, dict) or not request.data:
        raise ScimError("an object is needed", kind="invalidSyntax")
    return dict(request.data)


def exception_answer(error: Exception, context: JsonMap) -> Response:
    """Returns the answer to any exception of a SCIM endpoint; DRF calls this function."""
    set_rollback()
    status, kind, detail = _problem_of(error)
    headers = {"Retry-After": "5"} if status == 503 else {}
    if isinstance(error, exceptions.APIException):
        wait, challenge = getattr(error, "wait", None), getattr(error, "auth_header", None)
        headers |= {"Retry-After": str(int(wait))} if wait else {}
        headers |= {"WWW-Authenticate": challenge} if challenge else {}
    if status in (500, 503):
        log.error("request failed", exc_info=error, extra={"request_id": getattr(context["request"], "request_id", "")})
        got_request_exception.send(sender=None, request=context["request"])
    body: JsonMap = {"schemas": [ERROR], "status": str(status), "detail": detail}
    return Response(body | ({"scimType": kind} if kind else {}), status=status, headers=headers)


def _problem_of(error: Exception) -> tuple[int, str, str]:
    """Returns status, scimType and detail. Of an internal error the text is not sent."""
    if isinstance(error, ScimError):
        return error.status_code, error.kind, str(error.detail)
    if isinstance(error, errors.InvalidInput):
        return 400, "invalidValue", str(error)
    if isinstance(error, errors.Conflict):
        return 409, _TYPES.get(error.code, ""), error.message
    if isinstance(error, errors.NotFound | Http404):
        return 404, "", error.message if isinstance(error, errors.NotFound) else "there is nothing here"
    if isinstance(error, exceptions.ParseError):
        return 400, "invalidSyntax", str(error.detail)
    if isinstance(error, exceptions.APIException):
        return error.status_code, "", str(error.detail)
    if isinstance(error, RequestDataTooBig):
        return 413, "", f"at most {MIB} bytes are accepted"
    if isinstance(error, OperationalError | InterfaceError):
        return 503, "", "the database does not answer"
    return 500, "", "a fault of karpdash; its log has the request id"
