"""The Celery app: queues, limits and the timetable. Beat only ticks; what is due stands in rows."""

import os
import time
from typing import Any

from celery import Celery
from celery.signals import heartbeat_sent, worker_ready, worker_shutdown
from kombu import Exchange, Queue

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "karpdash.settings")

from karpdash.env import current
from karpdash.lanes import QUEUES, ROUTES

ENV = current()
TASK_SECONDS = ENV.scan_deadline + 60
TICK = ENV.sweep_interval

app = Celery("karpdash")
app.conf.update(
    broker_url=ENV.broker_url,
    task_ignore_result=True,
    task_serializer="json",
    accept_content=["json"],
    # A killed worker's message comes back: acks late, and the visibility timeout is longer than any task.
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    task_time_limit=TASK_SECONDS,
    broker_transport_options={
        "visibility_timeout": TASK_SECONDS + 60,
        "unacked_restore_interval": 5,
        "unacked_restore_throttle": 1,
        "socket_connect_timeout": 2,
    },
    broker_connection_retry_on_startup=True,
    task_publish_retry=False,
    worker_max_tasks_per_child=200,
    worker_max_memory_per_child=500_000,
    worker_concurrency=ENV.worker_slots,
    # A worker without -Q serves every lane. Unsaid, exchange and key would be those of the default queue in each of
    # them, and every message would go to all.
    task_queues=[Queue(name, Exchange(name), routing_key=name) for name in QUEUES],
    task_default_queue="upkeep",
    task_routes=ROUTES,
    worker_hijack_root_logger=False,
    worker_soft_shutdown_timeout=10,
    timezone="UTC",
    beat_schedule_filename=str(ENV.data_dir / "beat"),
    beat_schedule={
        "due scans": {"task": "scan_fleet", "schedule": float(TICK), "options": {"expires": TICK}},
        "stranded rollouts": {"task": "sweep_rollouts", "schedule": float(TICK), "options": {"expires": TICK}},
        "audit checkpoints": {"task": "checkpoint", "schedule": 5.0, "options": {"expires": 5}},
        "stranded scans": {"task": "sweep", "schedule": float(TICK), "options": {"expires": TICK}},
        "waivers": {"task": "keep_waivers", "schedule": float(TICK), "options": {"expires": TICK}},
        "news": {"task": "notify", "schedule": float(TICK), "options": {"expires": TICK}},
        "old rows": {"task": "retain", "schedule": 600.0, "options": {"expires": 600}},
    },
)
app.autodiscover_tasks()

SIGN_OF_LIFE = 10.0
_last_sign = 0.0


@worker_ready.connect
@heartbeat_sent.connect
def _lives(sender: Any = None, **_kwargs: object) -> None:  # noqa: ANN401 - a consumer or its heart
    """The worker's main process gives a sign of life every ten seconds; it has no other use for the database."""
    global _last_sign
    if time.monotonic() - _last_sign < SIGN_OF_LIFE:
        return
    _last_sign = time.monotonic()
    from django.db import connection

    from migrations_app.flow import pulse

    pulse.beat(_name(sender), app.amqp.queues.consume_from)
    connection.close()


@worker_shutdown.connect
def _ends(sender: Any = None, **_kwargs: object) -> None:  # noqa: ANN401 - a worker
    from migrations_app.flow import pulse

    pulse.stopped(_name(sender))


def _name(sender: Any) -> str:  # noqa: ANN401 - consumers and workers know their host, hearts their dispatcher's
    return str(getattr(sender, "hostname", None) or sender.eventer.hostname)
