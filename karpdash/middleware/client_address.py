"""Reads the client's address from the proxy's header, because behind a proxy every connection comes from the proxy."""

import ipaddress
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse


class ClientAddress:
    """Stores the last address of X-Forwarded-For where sign-in throttling and the audit log read it.

    The proxy itself sets the last address; earlier addresses are claims of the client. Without a configured proxy the
    header is ignored. `client_address` of the request is the same, but empty if a proxy is configured and sent no
    address: then the socket's address may be that of the proxy, and proves nothing about the client.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        address = str(request.META.get("REMOTE_ADDR", ""))
        if settings.ENV.behind_proxy and (address := _last_address(request.headers.get("X-Forwarded-For", ""))):
            request.META["REMOTE_ADDR"] = address
        request.client_address = address  # type: ignore[attr-defined]  # read where tokens are bound to networks
        return self.get_response(request)


def _last_address(header: str) -> str:
    """Returns the last address; empty if it is not a valid address."""
    try:
        return str(ipaddress.ip_address(header.rpartition(",")[2].strip()))
    except ValueError:
        return ""
