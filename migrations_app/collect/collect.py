"""Reads every part of a cluster into an inventory, a few at a time. An unreadable part is unseen with the reason."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from msgspec import UNSET

from migrations_app.clients.kubernetes.api import ClusterApi
from migrations_app.collect import missing_conversion
from migrations_app.collect import parts as readers
from migrations_app.collect.list_cache import PartMemory
from migrations_app.collect.reading import Parts, Reading
from migrations_app.errors import ReadError
from migrations_app.inventory.inventory import PART_NAMES, Inventory
from migrations_app.inventory.parts import NOT_CONVERTED, Behind, Part, Seen, Unseen
from migrations_app.inventory.struct_types import build_structs
from migrations_app.readiness.report import CollectResult, PartLine

MAX_CONCURRENT_READS = 4
"""Concurrent list requests: enough to hide latency, few enough for an API server under load."""

DOCUMENTS = "documents"
"""Name of the report line for skipped documents of a bundle; it is not a part of the inventory."""

ProgressListener = Callable[[str, int], None]
"""Called with the name of each part once it is read, and the number of parts read so far."""


@dataclass(slots=True)
class PartsRun:
    """The parts that were read so far, and the seconds that each took."""

    reading: Reading
    on_part: ProgressListener | None
    parts: dict[str, Part[Any]]
    seconds: dict[str, float]
    memory: PartMemory | None

    def read(self, job: "readers.Job") -> None:
        """Runs one job and stores its parts. Read errors are stored as Unseen, not raised."""
        started = time.monotonic()
        parts = self._blocked(job) or self._doubted(job, self._asked(job))
        for name in job.gives:
            self.parts[name] = parts[name]
            self.seconds[name] = round(time.monotonic() - started, 3)
            if self.on_part:
                self.on_part(name, len(self.parts))

    def _asked(self, job: "readers.Job") -> "Parts":
        try:
            self.reading.check_deadline()
            if self.memory and job.lists:
                return self.memory.read(job, self.reading)
            return job.read(self.reading)
        except ReadError as reason:
            return {name: Unseen(reason.code, reason.message) for name in job.gives}

    def _doubted(self, job: "readers.Job", parts: "Parts") -> "Parts":
        """The parts, with the unparsable objects of needed parts added: these objects would name more places to read.

        Objects of discovery are left out: a kind that discovery could not report is refused by its readers.
        """
        needed = (self.parts[name] for name in job.needs if name != "discovery")
        bad = tuple(unparsable for part in needed if isinstance(part, Seen) for unparsable in part.quarantined)
        return {
            name: replace(part, quarantined=(*part.quarantined, *bad)) if isinstance(part, Seen) and bad else part
            for name, part in parts.items()
        }

    def _blocked(self, job: "readers.Job") -> "Parts":
        for name in job.needs:
            part = self.parts[name]
            if isinstance(part, Unseen):
                # Not the code of the other part: if that one is forbidden, rights for this one would not help.
                why = f"{name} could not be read ({part.why}), which tells where to look"
                code = "not_asked" if part.why == "forbidden" else part.why
                return {part_name: Unseen(code, why, part.behind or Behind(name, part.why)) for part_name in job.gives}
        return {}


def collect(
    api: ClusterApi,
    *,
    cluster: str,
    deadline: float = 600.0,
    on_part: ProgressListener | None = None,
    now: str = "",
    memory: PartMemory | None = None,
) -> CollectResult:
    """Reads everything that a scan needs.

    `deadline` is in seconds; parts that are not read by then are unseen (`timeout`). With a `memory`, lists that are
    proven unchanged are not read again.
    """
    run = PartsRun(Reading(api, time.monotonic() + deadline), on_part, {}, {}, memory)
    run.read(readers.VERSION)
    run.read(readers.DISCOVERY)
    run.reading.learn(run.parts)
    for stage in (readers.FIRST, readers.SECOND):
        with thread_pool() as pool:
            list(pool.map(run.read, stage))
        run.reading.learn(run.parts)
    run.parts |= missing_conversion.read_by_content(run.reading)
    parts: dict[str, Any] = {**run.parts}
    inventory = Inventory(cluster=cluster, taken_at=taken_at(api, now), **parts)
    return CollectResult(inventory, (*(_line(name, run) for name in PART_NAMES), *_skipped_documents(api)))


@contextmanager
def thread_pool() -> Iterator[ThreadPoolExecutor]:
    """A small thread pool. On exit, running reads are not waited for."""
    build_structs()
    pool = ThreadPoolExecutor(MAX_CONCURRENT_READS, thread_name_prefix="part")
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def taken_at(api: ClusterApi, now: str) -> str:
    """The time of a scan: `now`, else the server's clock, else this machine's. RFC 3339, UTC."""
    return now or api.clock().server_date or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _skipped_documents(api: ClusterApi) -> Iterator[PartLine]:
    """A line about documents of a bundle without a readable kind: a check may depend on any of them."""
    clock = api.clock()
    if clock.passed_over:
        why = "no kind or no apiVersion that can be read"
        yield PartLine(name=DOCUMENTS, seen=True, count=clock.documents, quarantined=clock.passed_over, detail=why)


def _other_version_text(part: Seen[Any]) -> str:
    """The unusual version in which the list was read, and the reason; empty in the usual case."""
    other = part.other_version
    if other is None:
        return ""
    if other.why == NOT_CONVERTED:
        return f"v1beta1 where the content shows it: {other.detail}"
    return f"{part.served}, because {other.wanted} fails: {other.why} ({other.detail})"


def _line(name: str, run: PartsRun) -> PartLine:
    part = run.parts[name]
    seconds = run.seconds[name]
    if isinstance(part, Seen):
        bad = len(part.quarantined)
        first = f"{part.quarantined[0].name}: {part.quarantined[0].why}" if bad else ""
        codes = tuple(dict.fromkeys(unparsable.code for unparsable in part.quarantined if unparsable.code))
        return PartLine(
            name=name,
            seen=True,
            count=part.count,
            quarantined=bad,
            detail=first,
            seconds=seconds,
            reasons=codes or UNSET,
            read_as=_other_version_text(part),
            unchanged_since=run.memory.proven.get(name, "") if run.memory else "",
        )
    return PartLine(name=name, seen=False, why=part.why, detail=part.detail[:500], seconds=seconds)
