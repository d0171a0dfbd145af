"""Maps every failure of an API call to an error of migrations_app/errors.py (K18). Bodies are never shown whole; no
library type leaks out.
"""

import http.client
import re
import ssl
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
import urllib3.exceptions as u

from migrations_app import errors
from migrations_app.clients.kubernetes.api import ApiRequest
from migrations_app.clients.secret import clean

CAUGHT = (u.HTTPError, http.client.HTTPException, OSError, ValueError, zlib.error, RecursionError)
"""The exceptions a call may raise. ssl.SSLError and TimeoutError are OSErrors."""


@dataclass(frozen=True, slots=True)
class HttpFailure:
    """`again`: whether a read may be retried. `after`: the server's Retry-After, in seconds.

    `elsewhere`: a retry makes sense only at another address of the same server.
    """

    error: errors.ReadError
    again: bool = False
    after: float | None = None
    elsewhere: bool = False


_MESSAGE = re.compile(rb'"message":\s*"((?:[^"\\]|\\.){1,1500})')


class _ErrorDetails(msgspec.Struct, frozen=True):
    name: str = ""


class _ErrorStatus(msgspec.Struct, frozen=True):
    message: str = ""
    reason: str = ""
    details: _ErrorDetails | None = None


def from_status(status: int, body: bytes, *, headers: Mapping[str, str], request: ApiRequest) -> HttpFailure:
    """The failure for a response that is not 2xx; `body` is its beginning."""
    error_status = _status(body)
    text = clean(error_status.message) or "no reason given"
    if status == 401:
        return HttpFailure(errors.Unauthorized("the API server does not accept the credentials"))
    if status == 403:
        return HttpFailure(errors.Forbidden(_forbidden(error_status, request)))
    if status == 404:
        return HttpFailure(_absent(error_status, request))
    if status == 410:
        return HttpFailure(errors.Expired("the list's version is no longer kept by the server"))
    if 300 <= status < 400:
        return HttpFailure(
            errors.InvalidResponse("the server redirects; redirects are not followed", code="redirected")
        )
    if status == 429:
        return HttpFailure(
            errors.ServerFailed("the API server is overloaded", code="throttled"), again=True, after=pause(headers)
        )
    if status in (408, 504):
        return HttpFailure(errors.TimedOut(f"the API server did not finish {request.what}: {text}"), again=True)
    if status >= 500:
        return _failed(status, text, headers=headers, request=request)
    return HttpFailure(errors.ServerFailed(f"{request.what}: HTTP {status}: {text}", code="refused"))


def _status(body: bytes) -> _ErrorStatus:
    try:
        return msgspec.json.decode(body, type=_ErrorStatus)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        # The body was truncated or is not a Status object: its message is near the beginning.
        match = _MESSAGE.search(body)
        return _ErrorStatus(_unescaped(match[1])) if match else _ErrorStatus()


def _unescaped(text: bytes) -> str:
    try:
        return msgspec.json.decode(b'"%s"' % text, type=str)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return text.decode("utf-8", "replace")


def _forbidden(error_status: _ErrorStatus, request: ApiRequest) -> str:
    if "system:anonymous" in error_status.message:
        return f"the API server took the request for {request.what} as anonymous: no credentials reached it"
    return f"may not {request.verb} {request.what}; missing rule: {request.rule}"


def _absent(error_status: _ErrorStatus, request: ApiRequest) -> errors.NotServed:
    if request.name and error_status.details is not None and error_status.details.name:
        return errors.NotServed(f"there is no {request.name} among {request.what}", code="absent")
    return errors.NotServed(f"the API server does not serve {request.what}")


def _failed(status: int, text: str, *, headers: Mapping[str, str], request: ApiRequest) -> HttpFailure:
    if "convert CR from an invalid group/version" in text:
        return HttpFailure(errors.ServerFailed(f"{request.what}: {text}", code=errors.STORED_VERSION_GONE))
    if "conversion webhook" in text or "conversion for" in text:
        failed = errors.ServerFailed(f"{request.what}: {text}", code=errors.CONVERSION_FAILED)
        return HttpFailure(failed)
    error = errors.ServerFailed(f"{request.what}: HTTP {status}: {text}")
    return HttpFailure(error, again=True, after=pause(headers))


def pause(headers: Mapping[str, str]) -> float | None:
    """Retry-After in whole seconds; None for dates, invalid values and values with more than four digits (K08)."""
    text = headers.get("Retry-After", "").strip()
    return float(text) if text.isascii() and text.isdigit() and len(text) <= 4 else None


def from_exception(error: BaseException) -> HttpFailure:
    """The failure for any exception in CAUGHT."""
    tls_error = _find_cause(error, ssl.SSLError)
    if isinstance(tls_error, ssl.SSLError) and not isinstance(tls_error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return HttpFailure(_tls(tls_error))
    if isinstance(error, u.NewConnectionError):  # in urllib3 this is a subclass of the timeout errors too
        return HttpFailure(errors.Unreachable("nothing accepts connections at the server's address"), again=True)
    if isinstance(error, u.ConnectTimeoutError):
        return HttpFailure(errors.TimedOut("the server did not answer the connection in time"), elsewhere=True)
    if isinstance(error, u.TimeoutError | TimeoutError) or _find_cause(error, TimeoutError):
        return HttpFailure(errors.TimedOut("the server's answer did not arrive in time"))
    if _is_not_http(error):
        return HttpFailure(errors.InvalidResponse("the server's answer is not valid HTTP of an API server"))
    return HttpFailure(errors.Unreachable("the connection was cut", code="cut"), again=True)


def _find_cause(error: BaseException, kind: type[BaseException]) -> BaseException | None:
    """The exception itself, its cause, its context or one of its arguments, if it is of that type; None otherwise."""
    candidates = (error, error.__cause__, error.__context__, *error.args)
    return next((candidate for candidate in candidates if isinstance(candidate, kind)), None)


def _is_not_http(error: BaseException) -> bool:
    http_error = _find_cause(error, http.client.HTTPException)
    if http_error is not None and not isinstance(
        http_error, http.client.IncompleteRead | http.client.RemoteDisconnected
    ):
        return True
    plain = isinstance(
        error, ValueError | zlib.error | RecursionError | u.DecodeError | u.InvalidHeader | u.LocationValueError
    )
    return plain and not isinstance(error, u.ProtocolError)


# Values of OpenSSL's X509_V_ERR_* constants.
_TLS_CODES: Mapping[int, tuple[str, str]] = {
    2: ("tls_untrusted", "the server's certificate is not signed by the registered CA"),
    7: ("tls_untrusted", "the server's certificate is not signed by the registered CA"),
    9: ("tls_not_yet_valid", "the server's certificate is not valid yet"),
    10: ("tls_expired", "the server's certificate has expired"),
    18: ("tls_untrusted", "the server's certificate is self-signed and not the registered one"),
    19: ("tls_untrusted", "the server's certificate is not signed by the registered CA"),
    20: ("tls_untrusted", "the server's certificate is not signed by the registered CA"),
    21: ("tls_untrusted", "the server's certificate is not signed by the registered CA"),
    62: ("tls_name", "the server's certificate is for another name"),
    64: ("tls_name", "the server's certificate is for another address"),
}


def _tls(error: ssl.SSLError) -> errors.TlsRefused:
    if isinstance(error, ssl.SSLCertVerificationError):
        code, message = _TLS_CODES.get(error.verify_code, ("tls_invalid", "the server's certificate is not valid"))
        return errors.TlsRefused(message, code=code)
    reason = error.reason or ""
    if "WRONG_VERSION" in reason or "HTTP_REQUEST" in reason or "RECORD_LAYER" in reason:
        return errors.TlsRefused("the server does not speak TLS", code="tls_not_spoken")
    if "PROTOCOL_VERSION" in reason or "UNSUPPORTED_PROTOCOL" in reason:
        return errors.TlsRefused("the server speaks only outdated TLS", code="tls_outdated")
    if "ALERT" in reason:
        alert = reason.partition("ALERT_")[2].lower().replace("_", " ") or reason.lower()
        message = f"the server ended TLS with an alert ({alert}): it may refuse our client certificate or TLS version"
        return errors.TlsRefused(message, code="tls_alert")
    return errors.TlsRefused("the TLS connection failed", code="tls_failed")
