"""The Celery app: queues, limits and the beat schedule. Beat only ticks; the rows of the database say which work is
due.
"""

import ctypes
import gc
import os
import signal
from pathlib import Path
from typing import Any

from celery import Celery
from celery.beat import Scheduler, Service
from celery.bootsteps import StartStopStep
from celery.signals import task_postrun, worker_before_create_process, worker_init, worker_shutdown
from kombu import Exchange, Queue

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "karpdash.settings")

from karpdash.configuration.env import current
from karpdash.processes.python_gc import collect_as_usual
from karpdash.processes.queues import QUEUES, ROUTES, SOFT_STOP
from karpdash.processes.soft_stop import SoftStop
from migrations_app.clients.liveness_file import LivenessFile

ENV = current()
TASK_SECONDS = ENV.scan_deadline + 60
TICK = ENV.sweep_interval
SOCKET_SECONDS = 5
"""How long one answer of the broker may take. A worker's wait for a message is an answer of at most a second."""
ALIVE = LivenessFile(Path(ENV.alive_file) if ENV.alive_file else None)
_MALLOC_TRIM = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
"""The function of the C library that returns unused memory to the system; only glibc has it."""

app = Celery("karpdash", task_cls="migrations_app.tasks:LoggedTask")
app.conf.update(
    broker_url=ENV.broker_url,
    task_ignore_result=True,
    task_serializer="json",
    accept_content=["json"],
    # The message of a killed worker is redelivered: acks are late, and the visibility timeout exceeds any task.
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    # Commands in the broker would stop a worker, or its queues, without a trace in any row (T27).
    worker_enable_remote_control=False,
    task_time_limit=TASK_SECONDS,
    broker_transport_options={
        "visibility_timeout": TASK_SECONDS + 60,
        "unacked_restore_interval": 5,
        "unacked_restore_throttle": 1,
        "socket_connect_timeout": 2,
        # Without it a request that sends a message hangs for as long as a broker that is there does not answer.
        "socket_timeout": SOCKET_SECONDS,
        # Sending a message fails at once while the broker is down: the sweeper finds the row later (R05).
        "max_retries": 1,
        "interval_start": 0.2,
        "interval_step": 0.0,
        "interval_max": 0.2,
    },
    broker_connection_retry_on_startup=True,
    task_publish_retry=False,
    worker_max_tasks_per_child=200,
    worker_max_memory_per_child=500_000,
    worker_concurrency=ENV.worker_slots,
    # A worker without -Q serves every queue. Without an explicit exchange and key, each queue would use those of the
    # default queue, and every message would go to all queues.
    task_queues=[Queue(name, Exchange(name), routing_key=name) for name in QUEUES],
    task_default_queue="upkeep",
    task_routes=ROUTES,
    worker_consumer="karpdash.processes.consumer:Consumer",
    worker_hijack_root_logger=False,
    worker_soft_shutdown_timeout=SOFT_STOP,
    timezone="UTC",
    # The schedule is in memory: the rows say what is due, and a schedule in a file fails when the disk is full (R25).
    beat_scheduler="karpdash.celery:ProbedScheduler",
    beat_schedule={
        "due scans": {"task": "scan_fleet", "schedule": float(TICK), "options": {"expires": TICK}},
        "stranded rollouts": {"task": "sweep_rollouts", "schedule": float(TICK), "options": {"expires": TICK}},
        "journeys": {"task": "sweep_journeys", "schedule": float(TICK), "options": {"expires": TICK}},
        "campaigns": {"task": "sweep_campaigns", "schedule": float(TICK), "options": {"expires": TICK}},
        "AWS organizations": {"task": "sweep_organizations", "schedule": 60.0, "options": {"expires": 60}},
        "audit checkpoints": {"task": "checkpoint", "schedule": 5.0, "options": {"expires": 5}},
        "stranded scans": {"task": "sweep", "schedule": float(TICK), "options": {"expires": TICK}},
        "waivers": {"task": "keep_waivers", "schedule": float(TICK), "options": {"expires": TICK}},
        "news": {"task": "notify", "schedule": float(TICK), "options": {"expires": TICK}},
        "old rows": {"task": "retain", "schedule": 600.0, "options": {"expires": 600}},
    },
)
app.autodiscover_tasks()

HEARTBEAT_SECONDS = 10.0


class Heartbeat(StartStopStep):
    """Writes the worker's heartbeat row every ten seconds from the main loop, which uses the database for
    nothing else.

    Celery's own heartbeat goes to the broker and nothing reads it. It is off, because a worker that is stopped while
    its broker is down would retry the last heartbeat for ever.
    """

    requires = ("celery.worker.consumer.tasks:Tasks",)
    _next: Any = None

    def start(self, consumer: Any) -> None:  # noqa: ANN401 - celery has no types
        consumer.timer.call_after(0, _lives, (consumer.hostname,))
        self._next = consumer.timer.call_repeatedly(HEARTBEAT_SECONDS, _lives, (consumer.hostname,))

    def stop(self, _consumer: Any) -> None:  # noqa: ANN401 - as above
        if self._next is not None:
            self._next.cancel()


app.steps["consumer"].add(Heartbeat)
app.steps["consumer"].add(SoftStop)


class ProbedScheduler(Scheduler):
    """Beat's scheduler that touches the file of the health check at every turn: at least every five seconds, when the
    next checkpoint is due.

    It ends at the turn after the signal that stops beat: Celery's handler closes the scheduler and raises SystemExit,
    which is lost where redis-py waits for an answer, since redis-py then reads from the connection that it closed.
    """

    _is_closed = False

    def close(self) -> None:
        """Called once beat is to stop."""
        super().close()
        self._is_closed = True

    def tick(self, *args: Any, **more: Any) -> float:  # noqa: ANN401 - celery has no types
        """Sends the messages that are due. Returns the seconds until the next turn. Raises SystemExit once closed."""
        if self._is_closed:
            raise SystemExit(0)
        ALIVE.touch()
        return float(super().tick(*args, **more))


def tick() -> None:
    """Runs beat in a thread until the process ends. If beat fails, the process is stopped, and both are started
    again.
    """
    try:
        Service(app, max_interval=1, scheduler_cls=Scheduler).start()
    finally:
        os.kill(os.getpid(), signal.SIGQUIT)


def _lives(name: str) -> None:
    ALIVE.touch()
    from django.db import connection

    from migrations_app.use_cases.runtime import heartbeat

    heartbeat.write_heartbeat(name, app.amqp.queues.consume_from)
    connection.close()


@worker_init.connect
def _build_structs(**_kwargs: object) -> None:
    """Builds msgspec structs before tasks run in parallel."""
    app.loader.import_default_modules()
    from migrations_app.inventory.struct_types import build_structs

    build_structs()


@worker_before_create_process.connect
def _share_memory(**_kwargs: object) -> None:
    """Runs before a process of the pool is forked: freezes existing objects, so that the child's garbage collector does
    not write to shared memory.
    """
    collect_as_usual()


@task_postrun.connect
def _return_memory(**_kwargs: object) -> None:
    """Returns memory that a scan used to the system: the C library would keep it for the next scan, hours later."""
    if _MALLOC_TRIM is not None:
        gc.collect()
        _MALLOC_TRIM(0)


@worker_shutdown.connect
def _ends(sender: Any = None, **_kwargs: object) -> None:  # noqa: ANN401 - a worker
    from migrations_app.use_cases.runtime import heartbeat

    heartbeat.delete_heartbeat(sender.hostname)
