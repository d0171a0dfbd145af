"""The lanes of work and the worker of each: what hangs in one does not hold up the others (R20)."""

import argparse
import os
import sys
from collections.abc import Sequence

from karpdash.env import Env, current
from migrations_app.errors import InvalidSetting

WORKERS = ("probe", "scan", "action")
"""Each serves the lane of its name; that of the actions serves the upkeep as well, which is short."""
QUEUES = ("probe", "scan", "action", "upkeep")
ROUTES = {
    "probe_cluster": {"queue": "probe"},
    "scan_cluster": {"queue": "scan"},
    "prepare_rollout": {"queue": "action"},
    "advance_rollout": {"queue": "action"},
    # News waits for receivers as probes wait for clusters: it ends by its own clock, and holds no rollout up.
    "deliver": {"queue": "probe"},
}
"""What is named here has its own lane; everything else is upkeep."""


def worker_command(lane: str, env: Env, *, name: str = "") -> list[str]:
    """The words that start a worker for that lane, or for all of them with `all`."""
    words = ["-m", "celery", "-A", "karpdash.celery", "worker", "--loglevel", "warning"]
    words += ["--without-heartbeat", "--without-gossip"]
    return [sys.executable, *words, *_of_lane(lane, env), *(("-n", f"{name}@%h") if name else ())]


def _of_lane(lane: str, env: Env) -> Sequence[str]:
    if lane == "probe":
        # Probes wait for the network and end by their own clock: threads of one process hold many of them.
        return "-Q", "probe", "-P", "threads", "-c", str(env.probe_slots)
    if lane == "scan":
        return "-Q", "scan", "-c", str(env.worker_slots)
    if lane == "action":
        return "-Q", "action,upkeep", "-c", str(env.action_slots)
    return ()


def beat_command() -> list[str]:
    """The words that start the timetable."""
    return [sys.executable, "-m", "celery", "-A", "karpdash.celery", "beat", "--loglevel", "warning", "--pidfile", ""]


def run(argv: Sequence[str]) -> int:
    """`karpdash worker LANE` and `karpdash worker beat`: becomes that process, so that signals reach it.

    2 with one line when it may not start.
    """
    parser = argparse.ArgumentParser(prog="karpdash worker", description="Serve a lane of work, or tick.")
    parser.add_argument("lane", choices=(*WORKERS, "all", "beat"), help="beat is the timetable; one of it is enough")
    lane = parser.parse_args(argv).lane
    try:
        command = beat_command() if lane == "beat" else worker_command(lane, current(), name=f"{lane}-{os.getpid()}")
        _refuse_unsafe()
        os.execv(command[0], command)  # noqa: S606 - our own words, no shell
    except InvalidSetting as wrong:
        sys.stderr.write(f"karpdash worker: {wrong}\n")
    return 2


def _refuse_unsafe() -> None:
    """Celery passes over what Django's checks find; a worker has the same keys and the same clusters as the pages."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "karpdash.settings")
    from karpdash.system_checks import refuse_unsafe

    refuse_unsafe()
