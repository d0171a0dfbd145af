"""The answer to a request that an exception ended: a database that does not answer is not a bug."""

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template import loader
from django.views.defaults import server_error

RETRY_SECONDS = 5


def failed(request: HttpRequest) -> HttpResponse:
    """503 with what to do while the database is away or locked, 500 for anything else. Django calls it while it handles
    the exception. Both pages need no database."""
    if isinstance(sys.exception(), OperationalError | InterfaceError):
        page = loader.get_template("503.html").render({"sent": request.method == "POST"})
        return HttpResponse(page, status=503, headers={"Retry-After": str(RETRY_SECONDS)})
    return server_error(request)
