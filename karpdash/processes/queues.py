"""The task queues and the worker of each, so that a blocked task in one queue does not delay
the others (R20).
"""

import argparse
import os
import socket
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from karpdash.configuration.env import Env, current
from migrations_app.errors import InvalidSetting

WORKERS = ("probe", "scan", "action")
"""Each worker serves the queue of its name; the action worker also serves upkeep, whose tasks are short."""
UPKEEP = "upkeep"
"""The worker of upkeep alone, for an installation that only scans and has no action worker."""
QUEUES = ("probe", "scan", "action", "upkeep")
ROUTES = {
    "probe_cluster": {"queue": "probe"},
    "scan_cluster": {"queue": "scan"},
    "rehearse": {"queue": "scan"},
    "look_at_organization": {"queue": "scan"},
    "prepare_rollout": {"queue": "action"},
    "advance_campaign": {"queue": "action"},
    "advance_journey": {"queue": "action"},
    # Reading a stored scan runs on the scan workers, because there are the most of them.
    "preview_campaign_member": {"queue": "scan"},
    "advance_rollout": {"queue": "action"},
    # Notifications wait for receivers as probes wait for clusters: they have their own timeout, and must not delay
    # rollouts.
    "deliver": {"queue": "probe"},
}
"""Tasks with a queue of their own; every other task is upkeep."""
SOFT_STOP = 10
"""Seconds that running tasks have left once their worker is asked to stop by SIGQUIT."""
KILL_AFTER = 5
"""Seconds after which a task's process that does not end on SIGTERM is killed."""
LAST_SECONDS = 10
"""Seconds that the worker has left then, for its heartbeat row and for the broker."""


def worker_command(queue: str, env: Env, *, name: str = "") -> list[str]:
    """Returns the command line of a worker for that queue, or for all queues with `all`."""
    arguments = ["-m", "celery", "-A", "karpdash.celery", "worker", "--loglevel", "warning"]
    arguments += ["--without-heartbeat", "--without-gossip", "--without-mingle"]
    return [sys.executable, *arguments, *_command_options(queue, env), *(("-n", f"{name}@%h") if name else ())]


@dataclass(frozen=True, slots=True)
class _QueueWorker:
    """The options of a queue's worker: its queues, its kind of pool, and how many tasks it runs at once."""

    queues: str
    pool: str
    slots: int


def _worker_of(queue: str, env: Env) -> _QueueWorker:
    if queue == "probe":
        # Probes wait for the network and have their own timeout: many of them run as threads of one process.
        return _QueueWorker("probe", "threads", env.probe_slots)
    if queue == "scan":
        return _QueueWorker("scan", "prefork", env.worker_slots)
    if queue == UPKEEP:
        return _QueueWorker("upkeep", "prefork", 1)
    return _QueueWorker("action,upkeep", "prefork", max(env.action_slots, 1))


def _command_options(queue: str, env: Env) -> Sequence[str]:
    if queue not in (*WORKERS, UPKEEP):
        return ()
    options = _worker_of(queue, env)
    return "-Q", options.queues, "-P", options.pool, "-c", str(options.slots)


def serve(queue: str, *, name: str, ticking: bool = False) -> int:
    """Runs the worker of that queue in this process until it is stopped; returns its exit code. Does the same as the
    worker's command line, without libraries that only the command line needs. `ticking`: beat runs as a thread of the
    worker.
    """
    from karpdash.celery import app, tick

    options = _worker_of(queue, current())
    if ticking:
        threading.Thread(target=tick, name="beat", daemon=True).start()
    worker = app.Worker(
        hostname=f"{name}@{socket.gethostname()}",
        queues=options.queues,
        pool=options.pool,
        concurrency=options.slots,
        loglevel="WARNING",
        without_heartbeat=True,
        without_gossip=True,
        without_mingle=True,
        quiet=True,
    )
    worker.start()
    return int(worker.exitcode or 0)


def beat_command() -> list[str]:
    """Returns the command line of beat."""
    return [sys.executable, "-m", "celery", "-A", "karpdash.celery", "beat", "--loglevel", "warning", "--pidfile", ""]


_QUEUE_HELP = (
    "beat is the timetable, one of it is enough; upkeep is in place of action where KARPDASH_ACTION_SLOTS is 0"
)


def make_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(prog="karpdash worker", description="Serve a queue of work, or the timetable.")
    parser.add_argument("queue", choices=(*WORKERS, UPKEEP, "all", "beat"), help=_QUEUE_HELP)
    return parser


def run(argv: Sequence[str]) -> int:
    """`karpdash worker QUEUE` and `karpdash worker beat`: replaces this process, so that signals reach the
    worker.

    Returns 2 after one line if the worker must not start.
    """
    queue = make_parser().parse_args(argv).queue
    try:
        command = beat_command() if queue == "beat" else worker_command(queue, current(), name=f"{queue}-{os.getpid()}")
        _refuse_unsafe()
        os.environ["CELERY_SKIP_CHECKS"] = "1"  # ours were just run; Django's own would load every page, some 40 MiB
        os.execv(command[0], command)  # noqa: S606 - our own words, no shell
    except InvalidSetting as error:
        sys.stderr.write(f"karpdash worker: {error}\n")
    return 2


def _refuse_unsafe() -> None:
    """Raises InvalidSetting if Django's checks fail, because Celery ignores them; a worker has the same keys and
    clusters as the web process.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "karpdash.settings")
    from karpdash.configuration.system_checks import refuse_unsafe

    refuse_unsafe()
