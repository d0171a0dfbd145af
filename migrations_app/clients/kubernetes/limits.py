"""How long, how much and how often: the numbers of one scan (K06-K10)."""

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientLimits:
    """Every number is a setting with this default. Seconds are wall clock, bytes are counted after unpacking."""

    connect_seconds: float = 5.0
    read_seconds: float = 30.0
    """One answer: from the request's last byte to the body's last byte."""
    call_seconds: float = 60.0
    """One call with all its tries and pauses."""
    scan_seconds: float = 120.0
    """From opening the client to its last answer."""
    bytes_per_second: int = 1000
    slow_start_seconds: float = 5.0
    """A body may lag behind the minimum rate by this much."""
    tries: int = 4
    first_pause_seconds: float = 0.25
    longest_pause_seconds: float = 5.0
    retry_after_seconds: float = 30.0
    page_bytes: int = 64 * MIB
    in_flight_bytes: int = 80 * MIB
    """Bodies under way at one moment, all threads together: a hostile server cannot multiply the page limit (T06)."""
    ahead_bytes: int = 8 * MIB
    """After a page larger than this the next one is not read ahead, so that two large ones are never held."""
    scan_bytes: int = 2048 * MIB
    error_bytes: int = 2 * KIB
    pages: int = 4000
    smallest_page: int = 10
    """A page that is too large is asked for again in smaller ones, down to this many objects."""
    parallel: int = 4


DEFAULT = ClientLimits()
