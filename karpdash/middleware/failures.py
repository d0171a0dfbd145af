"""The answer to a request that an exception ended: a database that does not answer is not a bug."""

import sqlite3
import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template import loader
from django.views.defaults import bad_request, server_error

RETRY_SECONDS = 5


def failed(request: HttpRequest) -> HttpResponse:
    """503 with what to do while the database is away or locked, 500 for anything else. Django calls it while it handles
    the exception. Both pages need no database."""
    return _unavailable(request) if _of_database(sys.exception()) else server_error(request)


def refused(request: HttpRequest, exception: Exception) -> HttpResponse:
    """As `failed`, with 400 for anything else: Django takes a session that could not be stored for one that was ended
    meanwhile, also if the database did not answer."""
    return _unavailable(request) if _of_database(exception) else bad_request(request, exception)


def _of_database(error: BaseException | None) -> bool:
    """Whether the database did not answer, here or before that error. SQLite's driver reports wrong SQL, such as a
    missing table, by the same class and a code of its own; that is a bug.
    """
    while error is not None and not isinstance(error, OperationalError | InterfaceError):
        error = error.__cause__ or error.__context__
    return error is not None and getattr(error.__cause__, "sqlite_errorcode", None) != sqlite3.SQLITE_ERROR


def _unavailable(request: HttpRequest) -> HttpResponse:
    page = loader.get_template("503.html").render({"sent": request.method == "POST"})
    return HttpResponse(page, status=503, headers={"Retry-After": str(RETRY_SECONDS)})
