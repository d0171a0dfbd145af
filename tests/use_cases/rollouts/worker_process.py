"""Starts workers that die or stop at a named point: a process of its own, one JSON line in, one out.

Run as `python -m tests.use_cases.rollouts.worker_process`; each line is [command, argument, ...]. A worker is a fork:
the code is loaded once, and every worker has its own connections. Only here do the crash points do anything.
"""

import json
import os
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from typing import Any

import django

TTL, RENEW = 2.5, 0.5
DEADLINE, SPARE = 0.3, 1.0
WAIT_SECONDS = 100.0
"""A worker that takes longer is ended: its test fails, and the next one finds a foreman that answers."""


def prepare() -> None:
    """Creates the tables and closes the connection: PostgreSQL copies no database that has a connection."""
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", interactive=False, verbosity=0)
    connection.close()


def register(kubeconfig: str, name: str) -> str:
    """Registers a cluster and returns its id."""
    from migrations_app.use_cases.clusters.registration import Details, register_kubeconfig

    return str(register_kubeconfig(kubeconfig.encode(), Details(name=name)))


def rollout(cluster: str, steps: str) -> str:
    """Creates a running rollout of these steps, given as JSON; returns its id."""
    import msgspec

    from migrations_app.actions.plan import Step
    from migrations_app.models.cluster import Cluster
    from tests.use_cases.rollouts import building

    row = building.rollout(Cluster.objects.get(pk=cluster), *msgspec.json.decode(steps, type=list[Step]))
    return str(row.pk)


def start(row: str, point: str = "", nth: int = 1, how: str = "KILL") -> int:
    """Returns the process id of a worker that works until nothing is left to do, or gets that signal at that point."""
    from django.db import connections

    connections.close_all()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        _work(uuid.UUID(row), point=point, nth=nth, how=getattr(signal, f"SIG{how}"))
        code = 0
    finally:
        os._exit(code)


def wait(pid: int) -> int:
    """Returns how the worker ended or stands: its exit code, minus the signal that ended it, 1000 when it was stopped,
    and 1001 when it took too long.
    """
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        changed, status = os.waitpid(pid, os.WUNTRACED | os.WNOHANG)
        if changed:
            return 1000 if os.WIFSTOPPED(status) else os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return 1001


def send(pid: int, how: str) -> None:
    """Sends one of the started workers a signal."""
    os.kill(pid, getattr(signal, f"SIG{how}"))


def state(row: str) -> list[str]:
    from migrations_app.models.rollout import Rollout

    found = Rollout.objects.get(pk=row)
    return [found.state, found.cause_code]


def lines(row: str) -> list[dict[str, Any]]:
    """Returns the journal, with the time at which karpdash's audit log recorded each intent."""
    from migrations_app.models.audit import AuditEvent
    from migrations_app.models.rollout import Attempt

    said = AuditEvent.objects.filter(correlation=row, verb__in=("step.intent", "step.passed"))
    at = {(one.step, one.attempt): one.at for one in said}
    return [
        {
            "step": one.step, "number": one.number, "verb": one.verb, "outcome": one.outcome,
            "audit_id": one.audit_id, "recorded_at": at.get((one.step, one.number)),
        }
        for one in Attempt.objects.filter(rollout_id=row).order_by("pk")
    ]  # fmt: skip


def chain() -> bool:
    """Whether the numbers of the audit log have no gap and each event refers to the one before."""
    from migrations_app.models.audit import AuditEvent

    rows = list(AuditEvent.objects.order_by("seq").values_list("seq", "prev", "hash"))
    gapless = [seq for seq, _, _ in rows] == list(range(1, len(rows) + 1))
    return gapless and all(after[1] == before[2] for before, after in pairwise(rows))


def _work(row: uuid.UUID, *, point: str, nth: int, how: signal.Signals) -> None:
    from migrations_app.execution import steps as request
    from migrations_app.models.rollout import Rollout
    from migrations_app.use_cases.rollouts import journal, lease, worker

    lease.TTL, lease.RENEW_SECONDS = timedelta(seconds=TTL), RENEW  # type: ignore[assignment]  # tests only
    request.DEADLINE_SECONDS, request.MARGIN_SECONDS = DEADLINE, SPARE
    left, renewal, renew = nth, threading.Lock(), lease.renew

    def renew_alone(lease_token: lease.LeaseToken) -> bool:
        with renewal:
            return renew(lease_token)

    def reached(name: str) -> None:
        nonlocal left
        left -= name == point
        if name == point and left == 0 and how == signal.SIGSTOP:
            # Stopped in the middle of a renewal it would keep SQLite's one write lock, and no other worker could go on.
            with renewal:
                os.kill(os.getpid(), how)
        elif name == point and left == 0:
            os.kill(os.getpid(), how)

    lease.renew, journal.reached = renew_alone, reached
    while Rollout.objects.get(pk=row).state == "running":
        worker.advance(row, holder=f"worker-{os.getpid()}")
        time.sleep(0.02)


def races(count: int, same: bool) -> list[list[list[str]]]:
    """Returns for each round the two rollouts and the answers to the two starters."""
    from tests.use_cases.rollouts.races import pairs, race

    rounds = pairs(count, same=same)
    return [[rows, told] for rows, told in zip(rounds, race(rounds), strict=True)]


_ALL = (prepare, register, rollout, start, wait, send, state, lines, chain, races)
WORDS: dict[str, Callable[..., Any]] = {word.__name__: word for word in _ALL}


def serve(words: dict[str, Callable[..., Any]]) -> None:
    """Answers lines until there are none."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "karpdash.settings"
    django.setup()
    for line in sys.stdin:
        asked, *arguments = json.loads(line)
        sys.stdout.write(json.dumps(words[asked](*arguments)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve(WORDS)
