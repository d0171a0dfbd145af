"""Workers that run helm and die at a named place: the words of `worker_process`, and how a plan with helm is made.

Run as `python -m tests.helm.worker_process`.
"""

import os
import signal
import uuid
from dataclasses import replace
from pathlib import Path

from tests.use_cases.rollouts import worker_process

TTL, RENEW = 8.0, 1.0
DEADLINE, SPARE, FRESH = 0.3, 1.0, 2.0


def configure(helm: str, folder: str) -> None:
    """Switches upgrades of the controller on, with that program and the charts of that folder."""
    from django.conf import settings

    more = {"controller_upgrades": True, "helm": helm, "helm_seconds": 20, "data_dir": Path(folder)}
    settings.ENV = replace(settings.ENV, **more)


def plan(cluster: str, source: str) -> list[str]:
    """The id of a rollout that runs already, and why its preview could not be made; empty if it could."""
    from migrations_app.models.rollout import Rollout
    from migrations_app.use_cases.audit.log import Actor
    from migrations_app.use_cases.rollouts import preview
    from migrations_app.use_cases.rollouts.drafts import RolloutRequest, draft

    asked = RolloutRequest(action="upgrade_controller", parameters={"source": source})
    pk = draft(uuid.UUID(cluster), asked, by=Actor(name="ada"))
    preview.prepare(pk)
    row = Rollout.objects.get(pk=pk)
    for state in ("awaiting_approval", "approved", "running"):
        Rollout.objects.filter(pk=pk, state__in=("previewed", "awaiting_approval", "approved")).update(state=state)
    return [str(pk), row.cause]


def abort(row: str) -> None:
    """What a person asks for."""
    from migrations_app.models.rollout import Rollout

    Rollout.objects.filter(pk=row).update(stop_request="abort")


def start(row: str, point: str = "", nth: int = 1, how: str = "KILL") -> int:
    """As the worker process's own, with leases that outlast a change of helm."""
    from django.db import connections

    connections.close_all()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        from migrations_app.use_cases.rollouts.helm import runs

        worker_process.TTL, worker_process.RENEW = TTL, RENEW
        worker_process.DEADLINE, worker_process.SPARE = DEADLINE, SPARE
        runs.DEADLINE_SECONDS, runs.FRESH_SECONDS = DEADLINE + FRESH, FRESH
        worker_process._work(uuid.UUID(row), point=point, nth=nth, how=getattr(signal, f"SIG{how}"))
        code = 0
    finally:
        os._exit(code)


WORDS = {**worker_process.WORDS, **{word.__name__: word for word in (configure, plan, abort, start)}}

if __name__ == "__main__":
    worker_process.serve(WORDS)
