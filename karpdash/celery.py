"""The Celery app: queues, limits and the timetable. Beat only ticks; what is due stands in rows."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "karpdash.settings")

from karpdash.env import current

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
    worker_hijack_root_logger=False,
    worker_soft_shutdown_timeout=10,
    timezone="UTC",
    beat_schedule_filename=str(ENV.data_dir / "beat"),
    beat_schedule={
        "due scans": {"task": "scan_fleet", "schedule": float(TICK), "options": {"expires": TICK}},
        "stranded rollouts": {"task": "sweep_rollouts", "schedule": float(TICK), "options": {"expires": TICK}},
        "audit checkpoints": {"task": "checkpoint", "schedule": 5.0, "options": {"expires": 5}},
        "stranded scans": {"task": "sweep", "schedule": float(TICK), "options": {"expires": TICK}},
    },
)
app.autodiscover_tasks()
