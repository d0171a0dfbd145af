"""Behind a proxy the connection comes from the proxy: the address of the client is what the proxy says it is."""

import ipaddress
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse


class ClientAddress:
    """Puts the last address of X-Forwarded-For where the throttle of sign-ins and the audit log look for it.

    The last one is the proxy's own word; those before it are whatever a client claims. Nothing of it is believed
    without a proxy.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if settings.ENV.behind_proxy and (address := _last(request.headers.get("X-Forwarded-For", ""))):
            request.META["REMOTE_ADDR"] = address
        return self.get_response(request)


def _last(told: str) -> str:
    """Empty for what is no address."""
    try:
        return str(ipaddress.ip_address(told.rpartition(",")[2].strip()))
    except ValueError:
        return ""
