"""Sends the AWS API calls of one session: one client for each service, one deadline for all calls, typed errors."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from botocore import xform_name

from migrations_app.clients.aws import errors
from migrations_app.clients.aws.answers import AwsAnswer
from migrations_app.clients.aws.cross_account import AwsLimits
from migrations_app.clients.aws.permissions import AwsPermission
from migrations_app.clients.aws.session import AwsSession
from migrations_app.errors import InvalidResponse, TimedOut, TooLarge

T = TypeVar("T")


class AwsCalls:
    """API calls of one session. Thread-safe."""

    def __init__(self, session: AwsSession, limits: AwsLimits) -> None:
        self._session = session
        self._limits = limits
        self._ends = time.monotonic() + limits.all_seconds
        self._lock = threading.Lock()
        self._clients: dict[str, Any] = {}

    def get(self, right: AwsPermission, read: Callable[[AwsAnswer], T], **parameters: Any) -> T:  # noqa: ANN401 - parameters of any call
        """The result of `read` on the response. Raises ReadError, including NotServed if AWS has no such object."""
        call = getattr(self._client(right), _method(right))
        try:
            return read(call(**parameters))
        except (KeyError, TypeError, AttributeError):
            raise _garbled(right) from None
        except errors.CAUGHT as error:
            raise errors.from_exception(error, right) from None

    def find(self, right: AwsPermission, read: Callable[[AwsAnswer], T], **parameters: Any) -> T | None:  # noqa: ANN401 - as above
        """Same as `get`, but returns None if AWS has no such object."""
        call = getattr(self._client(right), _method(right))
        try:
            return read(call(**parameters))
        except (KeyError, TypeError, AttributeError):
            raise _garbled(right) from None
        except errors.CAUGHT as error:
            if errors.is_absent(error):
                return None
            raise errors.from_exception(error, right) from None

    def pages(self, right: AwsPermission, read: Callable[[AwsAnswer], list[T]], **parameters: Any) -> Iterator[T]:  # noqa: ANN401 - as above
        """All rows of a paginated list. Raises TooLarge if the list exceeds the page limit, and ReadError."""
        paginator = self._client(right).get_paginator(_method(right))
        pages = iter(paginator.paginate(**parameters))
        for _ in range(self._limits.pages):
            rows = self._page(right, pages, read=read)
            if rows is None:
                return
            yield from rows
            self._check_time(right)
        raise TooLarge(f"{right.action} does not end after {self._limits.pages} pages")

    def close(self) -> None:
        """Drops the clients and the credentials."""
        with self._lock:
            self._clients.clear()
        self._session.close()

    def _page(
        self, right: AwsPermission, pages: Iterator[AwsAnswer], *, read: Callable[[AwsAnswer], list[T]]
    ) -> list[T] | None:
        try:
            page = next(pages, None)
            return None if page is None else read(page)
        except (KeyError, TypeError, AttributeError):
            raise _garbled(right) from None
        except errors.CAUGHT as error:
            raise errors.from_exception(error, right) from None

    def _client(self, right: AwsPermission) -> Any:  # noqa: ANN401 - stubs of most services are not installed
        self._check_time(right)
        with self._lock:
            if right.service not in self._clients:
                self._clients[right.service] = self._session.client(right.client or right.service)
            return self._clients[right.service]

    def _check_time(self, right: AwsPermission) -> None:
        if time.monotonic() >= self._ends:
            raise TimedOut(f"the time limit for AWS was over before {right.action}")


def _method(right: AwsPermission) -> str:
    name: str = xform_name(right.operation)
    return name


def _garbled(right: AwsPermission) -> InvalidResponse:
    return InvalidResponse(f"the answer to {right.action} is not in the form that AWS documents")
