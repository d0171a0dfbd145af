"""Beat ends when it is told to, also where the SystemExit of Celery's signal handler is lost."""

from pathlib import Path
from typing import Any

import pytest
from celery.beat import Service

from karpdash.celery import ProbedScheduler, app


class LosingExit(ProbedScheduler):
    """Its first message meets the signal, as in redis-py while that waits for an answer: Celery logs the error that
    comes out, and goes on.
    """

    turns = 0
    service: Service
    producer = None  # no broker is there

    def setup_schedule(self) -> None:
        """Nothing is stored."""

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        self.service.sync()  # what the handler does before it raises SystemExit

    def tick(self, *args: Any, **more: Any) -> float:
        type(self).turns += 1
        assert self.turns < 3, "beat goes on after it was stopped"
        return super().tick(*args, **more)


def test_a_lost_exit_ends_beat_at_the_next_turn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("karpdash.celery.ALIVE", tmp_path / "alive")
    service = Service(app, max_interval=0.01, scheduler_cls=LosingExit)
    service.scheduler.service = service
    service.scheduler.data = {"now": service.scheduler.Entry(name="now", task="sweep", schedule=0.0, app=app)}
    service.start()
    assert LosingExit.turns == 2
