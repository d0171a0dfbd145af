"""Limits of one scan: times, sizes and numbers of requests (K06-K10)."""

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientLimits:
    """Every number is the default of a setting. Seconds are wall-clock time; bytes are counted after decompression."""

    connect_seconds: float = 5.0
    read_seconds: float = 30.0
    """One response: from the last byte of the request to the last byte of the body."""
    call_seconds: float = 60.0
    """One call, with all its retries and pauses."""
    scan_seconds: float = 120.0
    """From opening the client to its last response."""
    bytes_per_second: int = 1000
    slow_start_seconds: float = 5.0
    """How long a body may stay below the minimum rate."""
    tries: int = 4
    first_pause_seconds: float = 0.25
    longest_pause_seconds: float = 5.0
    retry_after_seconds: float = 30.0
    page_bytes: int = 64 * MIB
    page_commas: int = 1_000_000
    """Counted before a page is decoded: each object costs some 70 bytes of memory, even one that is written as `0,`."""
    in_flight_bytes: int = 80 * MIB
    """Bodies being read at one moment, over all threads: a hostile server cannot multiply the page limit (T06)."""
    ahead_bytes: int = 8 * MIB
    """After a page larger than this the next page is not prefetched, so that two large pages are never in memory
    together.
    """
    scan_bytes: int = 2048 * MIB
    scan_objects: int = 2_000_000
    """Listed in one scan: the smallest object takes 30 bytes of an answer, and 400 bytes of memory once it is read."""
    error_bytes: int = 2 * KIB
    pages: int = 4000
    smallest_page: int = 10
    """A page that is too large is requested again in smaller pages, down to this many objects."""
    parallel: int = 4


DEFAULT = ClientLimits()
