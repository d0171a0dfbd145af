"""What a task that fails sends to its worker's main process: through a pipe of 64 KiB that it may not fill."""

import pickle

import pytest
from billiard.einfo import ExceptionInfo
from celery.app.trace import build_tracer

from karpdash.celery import app
from migrations_app.errors import TaskFailed
from migrations_app.tasks import LoggedTask

PIPE = 65_536
"""Bytes that a pipe of Linux holds."""


def fall(depth: int) -> None:
    if depth:
        fall(depth - 1)
    raise ValueError("x" * 100_000)


@pytest.fixture
def failing():
    task = app.task(fall, name="tests.fall", shared=False)
    yield task
    app.tasks.pop(task.name, None)


def traced(task, *args):
    return build_tracer(task.name, task, app=app)("an id", args, {}, {})


def test_a_failure_is_small(failing):  # R28
    result = traced(failing, 60).retval
    assert isinstance(result, ExceptionInfo)
    assert isinstance(result.exception, TaskFailed)
    assert str(result.exception) == "ValueError"
    size = len(pickle.dumps(result))
    assert size == len(pickle.dumps(traced(failing, 0).retval))
    assert size < PIPE


def test_its_log_tells_where(failing, caplog):
    traced(failing, 0)
    (told,) = [record for record in caplog.records if record.name == "migrations_app.tasks"]
    assert (told.getMessage(), told.task) == ("task failed", "tests.fall")
    assert told.exc_info is not None
    assert isinstance(told.exc_info[1], ValueError)


def test_called_directly_it_raises_what_went_wrong(failing):
    with pytest.raises(ValueError, match="x"):
        failing(0)


def test_every_task_of_ours_is_of_that_kind():
    app.loader.import_default_modules()
    ours = [task for name, task in app.tasks.items() if not name.startswith("celery.")]
    assert len(ours) > 15
    assert [task.name for task in ours if not isinstance(task, LoggedTask)] == []
