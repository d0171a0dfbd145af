"""The one way to AWS: a right of aws_rights.py and its parameters in, the answer out, under a deadline."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from botocore import xform_name

from migrations_app.clients import aws_faults
from migrations_app.clients.aws_access import AwsLimits
from migrations_app.clients.aws_answers import Answer
from migrations_app.clients.aws_rights import Right
from migrations_app.clients.aws_session import AwsSession
from migrations_app.errors import Garbled, TimedOut, TooLarge

T = TypeVar("T")


class AwsCalls:
    """Calls with one session. May be used from several threads."""

    def __init__(self, session: AwsSession, limits: AwsLimits) -> None:
        self._session = session
        self._limits = limits
        self._ends = time.monotonic() + limits.all_seconds
        self._lock = threading.Lock()
        self._clients: dict[str, Any] = {}

    def get(self, right: Right, read: Callable[[Answer], T], **given: Any) -> T:  # noqa: ANN401 - parameters of any call
        """What `read` makes of the answer. Raises CouldNotLook, NotServed among them when AWS has none such."""
        call = getattr(self._client(right), _method(right))
        try:
            return read(call(**given))
        except (KeyError, TypeError, AttributeError):
            raise _garbled(right) from None
        except aws_faults.CAUGHT as wrong:
            raise aws_faults.from_exception(wrong, right) from None

    def find(self, right: Right, read: Callable[[Answer], T], **given: Any) -> T | None:  # noqa: ANN401 - as above
        """As `get`, but None when AWS has none such."""
        call = getattr(self._client(right), _method(right))
        try:
            return read(call(**given))
        except (KeyError, TypeError, AttributeError):
            raise _garbled(right) from None
        except aws_faults.CAUGHT as wrong:
            if aws_faults.is_absent(wrong):
                return None
            raise aws_faults.from_exception(wrong, right) from None

    def pages(self, right: Right, read: Callable[[Answer], list[T]], **given: Any) -> Iterator[T]:  # noqa: ANN401 - as above
        """Every row of a list. Raises TooLarge when it does not end, CouldNotLook."""
        paginator = self._client(right).get_paginator(_method(right))
        pages = iter(paginator.paginate(**given))
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

    def _page(self, right: Right, pages: Iterator[Answer], *, read: Callable[[Answer], list[T]]) -> list[T] | None:
        try:
            page = next(pages, None)
            return None if page is None else read(page)
        except (KeyError, TypeError, AttributeError):
            raise _garbled(right) from None
        except aws_faults.CAUGHT as wrong:
            raise aws_faults.from_exception(wrong, right) from None

    def _client(self, right: Right) -> Any:  # noqa: ANN401 - stubs of most services are not installed
        self._check_time(right)
        with self._lock:
            if right.service not in self._clients:
                self._clients[right.service] = self._session.client(right.service)
            return self._clients[right.service]

    def _check_time(self, right: Right) -> None:
        if time.monotonic() >= self._ends:
            raise TimedOut(f"the time for AWS was over before {right.action}")


def _method(right: Right) -> str:
    name: str = xform_name(right.operation)
    return name


def _garbled(right: Right) -> Garbled:
    return Garbled(f"the answer to {right.action} is not what AWS promises")
