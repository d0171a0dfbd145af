"""A scan worker whose process gets too few file descriptors, too little memory or disk: a program of its own.

Run as `python -m tests.trust.starved` with an installation's settings; each line is [word, argument, ...], each answer
a JSON value. What is tried are the tasks that a worker runs; the limit ends with the task.
"""

import json
import os
import resource
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any

import django

MIB = 1024 * 1024
PAGE = 4096
MEMORY, FILES, DISK = "memory", "files", "disk"


def register(kubeconfig: str) -> str:
    """The id of the new cluster, in a database that has all tables."""
    from django.core.management import call_command

    from migrations_app.use_cases.clusters.registration import Details, register_kubeconfig

    call_command("migrate", interactive=False, verbosity=0)
    return str(register_kubeconfig(kubeconfig.encode(), Details(name="starved")))


def scan(cluster: str, what: str, spare: int) -> list[Any]:
    """State and code of a scan whose task had no more than that much left; nothing is limited where `what` is empty."""
    from django import db

    from migrations_app import tasks
    from migrations_app.models.scan import Scan
    from migrations_app.use_cases.scans.queue import request_scan

    key = request_scan(cluster, by="ada").scan_id  # a scan that was lost before is this one still
    with limited(what, spare):
        try:
            tasks.scan_cluster(str(key))
        except Exception as crash:  # noqa: BLE001 - a worker's task ends so, and the worker goes on
            sys.stderr.write(f"{type(crash).__name__}: {crash}\n")
    db.close_old_connections()  # as a worker does after each task
    row = Scan.objects.get(pk=key)
    return [row.state, row.error_code, len(threading.enumerate())]


def late() -> int:
    """Ends the leases of running scans; returns how many the sweep would enqueue again."""
    from django.db.models.functions import Now

    from migrations_app.models.scan import Scan
    from migrations_app.use_cases.scans import queue

    Scan.objects.filter(state="running").update(lease_until=Now() - timedelta(seconds=1))
    return len(queue.scans_to_enqueue())


def told() -> dict[str, Any]:
    """What the last snapshot calls whole, by part; and whether the database is as it has to be."""
    from migrations_app.models.scan import Scan, Snapshot
    from tests.installations.errands import chain

    done = Scan.objects.filter(state="done").order_by("-finished_at")
    last = done.first()
    lines = last.snapshot.report().parts if last and last.snapshot else ()
    return {
        "whole": {line.name: line.count for line in lines if line.seen and not line.quarantined and not line.read_as},
        "chain": chain(),
        "done": [len(done), done.values("snapshot").distinct().count(), Snapshot.objects.count()],
        "halves": _halves(),
    }


def _halves() -> list[str]:
    """Snapshots whose findings are not those of their report."""
    from migrations_app.models.scan import Snapshot

    return [
        str(one.pk)
        for one in Snapshot.objects.select_related("content")
        if sorted(one.content.findings.values_list("check_id", "hop", "status"))
        != sorted((check.id, check.hop, check.status) for check in one.report().checks)
    ]


@contextmanager
def limited(what: str, spare: int) -> Iterator[None]:
    """So many more descriptors, MiB of address space, or pages of 4 KiB of disk, than there are now."""
    if what in ("", DISK):
        with _filled(spare) if what else nullcontext():
            yield
        return
    kind = resource.RLIMIT_AS if what == MEMORY else resource.RLIMIT_NOFILE
    before = resource.getrlimit(kind)
    resource.setrlimit(kind, (_held() + spare * MIB if what == MEMORY else _descriptors(spare), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(kind, before)


@contextmanager
def _filled(spare: int) -> Iterator[None]:
    """The disk of the database is full but for so many pages."""
    from django.db import connection

    connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")  # else the old log has room enough
    filling = Path(connection.settings_dict["NAME"]).parent / "filling"
    disk = os.statvfs(filling.parent)
    try:
        with filling.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, disk.f_bavail * disk.f_frsize - spare * PAGE))
        yield
    finally:
        filling.unlink(missing_ok=True)


def _held() -> int:
    """Bytes of address space that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _descriptors(spare: int) -> int:
    """The limit at which `spare` more can be opened."""
    free = (number for number in range(1 << 16) if not _is_open(number))
    return next(number for left, number in enumerate(free) if left == spare)


def _is_open(number: int) -> bool:
    """Asked without opening anything, as a look into /proc would."""
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


_WORDS = (register, scan, late, told)
ERRANDS: dict[str, Callable[..., Any]] = {word.__name__: word for word in _WORDS}

if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "karpdash.settings"
    django.setup()
    for line in sys.stdin:
        word, *arguments = json.loads(line)
        sys.stdout.write(json.dumps(ERRANDS[word](*arguments)) + "\n")
        sys.stdout.flush()
