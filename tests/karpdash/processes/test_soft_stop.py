"""What a worker does with SIGQUIT; tests/installations/test_soft_stop.py has real workers."""

from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from celery.worker import state

from karpdash.processes import soft_stop
from karpdash.processes.queues import KILL_AFTER, LAST_SECONDS, SOFT_STOP


@pytest.fixture
def clock(monkeypatch):
    """Sets the time: `clock.now`."""
    made = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(soft_stop, "monotonic", lambda: made.now)
    return made


@pytest.fixture
def consumer(monkeypatch, clock):
    """A consumer with one process, which runs a task."""
    running = Mock(worker_pid=4711)
    for which in ("reserved_requests", "active_requests"):
        monkeypatch.setattr(state, which, {running})
    monkeypatch.setattr(state, "task_ready", Mock())
    monkeypatch.setattr(soft_stop, "signal", Mock())
    return Mock(connection_errors=(OSError,), pool=Mock(info={"processes": [4711]}))


@pytest.mark.parametrize(
    ("signals", "later", "ended"),
    [(0, SOFT_STOP, 0), (1, 0, 0), (1, SOFT_STOP - 1, 0), (1, SOFT_STOP, 1), (2, 0, 1)],
)
def test_tasks_are_ended_after_some_seconds_or_at_the_second_signal(consumer, clock, signals, later, ended):  # R28
    step = soft_stop.SoftStop(consumer)
    for _ in range(signals):
        step._handle()
    step._check(consumer)
    clock.now += later
    step._check(consumer)
    assert consumer.cancel_active_requests.call_count == ended
    assert consumer.task_consumer.cancel.call_count == min(signals, 1)


def test_a_broker_that_is_lost_meanwhile_does_not_keep_the_worker(consumer, monkeypatch):  # R28
    monkeypatch.setattr(state, "should_terminate", None)
    monkeypatch.setattr(soft_stop, "worker_shutdown", told := Mock())
    step = soft_stop.SoftStop(consumer)
    step._timer = Mock()
    step._handle()
    step.stop(consumer)
    assert state.should_terminate == soft_stop.OK
    told.send.assert_called_once_with(sender=consumer.controller)


def test_a_stop_before_the_start_changes_nothing(consumer, monkeypatch):
    monkeypatch.setattr(state, "should_terminate", None)
    soft_stop.SoftStop(consumer).stop(consumer)
    assert state.should_terminate is None


def test_a_worker_that_waits_for_ever_is_ended_by_an_alarm(consumer):  # R28
    step = soft_stop.SoftStop(consumer)
    step._handle()
    step._handle()
    soft_stop.signal.alarm.assert_called_once_with(SOFT_STOP + KILL_AFTER + LAST_SECONDS)
