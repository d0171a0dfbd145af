"""Behind a proxy every connection comes from the proxy, so the client's address is taken from its header."""

import ipaddress
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse


class ClientAddress:
    """Stores the last address of X-Forwarded-For where sign-in throttling and the audit log read it.

    The last address is set by the proxy itself; earlier ones are claims of the client. Without a configured proxy
    the header is ignored. `client_address` of the request is the same, but empty where a proxy is configured and told
    no address: then the address of the socket may be that of the proxy, and proves nothing of the client.
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
    """The last address; empty if it is not a valid address."""
    try:
        return str(ipaddress.ip_address(header.rpartition(",")[2].strip()))
    except ValueError:
        return ""
