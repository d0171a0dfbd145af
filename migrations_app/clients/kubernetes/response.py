"""Reads one HTTP response in chunks: decompresses it and counts it against the limits (K06, K09)."""

import threading
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import urllib3

from migrations_app.clients.kubernetes.limits import KIB, ClientLimits
from migrations_app.errors import InvalidResponse, TooLarge

PIECE = 256 * KIB
LONGEST_LINE = 2 * 1024 * KIB
"""An event of a watch holds one object; an API server refuses those above 1.5 MiB."""
NO_ANSWER = "none"
_GZIP = 16 + zlib.MAX_WBITS


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """A 2xx response. `body` is not copied; `audit_id` links it to the server's audit log (K16)."""

    body: bytearray
    audit_id: str = ""


@dataclass(slots=True)
class TrafficMeter:
    """What one scan has read, over all threads."""

    limits: ClientLimits
    requests: int = 0
    total: int = 0
    in_flight: int = 0
    objects: int = 0
    server_date: str | None = None
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Number of requests by RBAC verb and status; NO_ANSWER if no response came."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self) -> None:
        with self._lock:
            self.requests += 1

    def note(self, verb: str, code: str) -> None:
        with self._lock:
            self.calls[verb, code] += 1

    def take(self, count: int) -> None:
        """Counts decoded bytes. Raises TooLarge if the scan, or the bodies being read, exceed their limit."""
        with self._lock:
            self.total += count
            self.in_flight += count
            if self.total > self.limits.scan_bytes:
                raise TooLarge("the scan has read more than its limit", code="scan_too_large")
            if self.in_flight > self.limits.in_flight_bytes:
                raise TooLarge("the answers in progress together are larger than the limit")

    def take_objects(self, count: int) -> None:
        """Counts listed objects. Raises TooLarge if the scan exceeds its limit."""
        with self._lock:
            self.objects += count
            if self.objects > self.limits.scan_objects:
                raise TooLarge("the scan has read more objects than its limit", code="scan_too_large")

    def release(self, count: int) -> None:
        with self._lock:
            self.in_flight -= count


def read_body(response: urllib3.BaseHTTPResponse, meter: TrafficMeter) -> bytearray:
    """The whole body, decompressed. Raises TooLarge, InvalidResponse, and the connection's own errors."""
    body = bytearray()
    with _counted(meter) as count:
        for piece in _pieces(response, meter.limits.page_bytes):
            count(len(piece))
            if len(body) + len(piece) > meter.limits.page_bytes:
                raise TooLarge("the answer is larger than the limit of a page")
            body += piece
    if body.count(b",") > meter.limits.page_commas:
        raise TooLarge("the answer lists more values than the limit of a page")
    return body


def read_beginning(response: urllib3.BaseHTTPResponse, most: int) -> bytes:
    """The first bytes of an error response, decompressed; empty if they cannot be decompressed."""
    content = bytearray()
    for piece in _pieces(response, most):
        content += piece[: most - len(content)]
        if len(content) >= most:
            break
    return bytes(content)


def read_lines(response: urllib3.HTTPResponse, meter: TrafficMeter) -> Iterator[bytes]:
    """The lines of the body as they arrive, without an unfinished last line. Raises as `read_body`."""
    rest = b""
    with _counted(meter) as count:
        for piece in response.stream(PIECE, decode_content=False):
            count(len(piece))
            *lines, rest = (rest + piece).split(b"\n")
            yield from (line for line in lines if line.strip())
            if len(rest) > LONGEST_LINE:
                raise TooLarge("a line of the answer is too long")


@contextmanager
def _counted(meter: TrafficMeter) -> Iterator["_Count"]:
    count = _Count(meter)
    try:
        yield count
    finally:
        meter.release(count.total)


@dataclass(slots=True)
class _Count:
    meter: TrafficMeter
    total: int = 0

    def __call__(self, count: int) -> None:
        self.total += count
        self.meter.take(count)


def _pieces(response: urllib3.BaseHTTPResponse, most: int) -> Iterator[bytes]:
    length = response.headers.get("Content-Length", "0")
    # With such a length, http.client reads until the connection ends, and a cut body would seem complete.
    if not all(number.strip().isdecimal() for number in length.split(",")):
        raise InvalidResponse("the Content-Length of the server's answer is not a number")
    encoding = (response.headers.get("Content-Encoding") or "identity").lower()
    if encoding == "identity":
        return _raw(response)
    if encoding == "gzip":
        return _unpacked(response, most)
    raise InvalidResponse("the server sent its answer in an encoding that was not requested")


def _raw(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    while piece := response.read(PIECE, decode_content=False):
        yield piece


def _unpacked(response: urllib3.BaseHTTPResponse, most: int) -> Iterator[bytes]:
    # zlib returns at most one byte beyond the limit, so a decompression bomb never expands.
    inflate = zlib.decompressobj(_GZIP)
    remaining = most + 1
    for packed in _raw(response):
        piece = inflate.decompress(packed, remaining)
        remaining -= len(piece)
        yield piece
        if remaining <= 0:
            raise TooLarge("the answer is larger than the limit of a page")
        if inflate.eof and inflate.unused_data:
            break
    if not inflate.eof or inflate.unused_data:
        raise InvalidResponse("the end of the compressed answer is invalid")
