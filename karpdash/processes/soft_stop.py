"""Stops a worker on SIGQUIT from its event loop: running tasks have some seconds, then they are ended."""

import os
import signal
from contextlib import suppress
from time import monotonic
from typing import Any

from celery.bootsteps import StartStopStep
from celery.signals import worker_shutdown
from celery.utils.threads import bound_open_broker_sockets  # type: ignore[attr-defined]  # not in the stubs
from celery.worker import state
from celery.worker.worker import SHUTDOWN_SOCKET_TIMEOUT  # type: ignore[attr-defined]  # as above

from karpdash.processes.queues import KILL_AFTER, LAST_SECONDS, SOFT_STOP

CHECK_SECONDS = 0.2
OK = 0


class SoftStop(StartStopStep):
    """A worker that gets SIGQUIT takes no more tasks, and ends when its tasks have ended: those that still run after
    SOFT_STOP seconds get SIGTERM and their messages are redelivered; processes that run on for KILL_AFTER seconds more
    get SIGKILL. Whatever else it waits for, SIGALRM ends it LAST_SECONDS later, and its pool with it. A second SIGQUIT
    cuts the first wait short.

    Celery does all this in the signal handler, wherever the signal met the program. Meanwhile it reads nothing from
    its pool: a task that was accepted just before is never ended, and a lock that the interrupted code holds is never
    released. Here the handler only counts signals. While the worker has no broker, Celery's own handler is set.
    """

    requires = ("celery.worker.consumer.tasks:Tasks",)
    _celerys: Any = None
    _timer: Any = None
    _signals = 0
    _tasks_end_at = 0.0
    """When running tasks are ended, by the monotonic clock; 0 before the first check after the signal."""
    _kill_at = 0.0
    """When those that ignore SIGTERM are killed; 0 before tasks are ended."""
    _ending: frozenset[int] = frozenset()
    """The processes that got SIGTERM."""

    def start(self, consumer: Any) -> None:  # noqa: ANN401 - celery has no types
        self._celerys = signal.signal(signal.SIGQUIT, self._handle)
        self._timer = consumer.timer.call_repeatedly(CHECK_SECONDS, self._check, (consumer,))

    def stop(self, consumer: Any) -> None:  # noqa: ANN401 - as above
        """Gives the signal back to Celery. If the broker is lost while the worker stops, the worker ends now."""
        if self._timer is None:
            return
        self._timer.cancel()
        signal.signal(signal.SIGQUIT, self._celerys)
        if self._signals and state.should_stop is None:
            worker_shutdown.send(sender=consumer.controller)  # Celery sends it only before a stop that waits
            state.should_terminate = OK  # type: ignore[assignment]  # the stubs know only None

    def _handle(self, *_: object) -> None:
        if not self._signals:
            signal.alarm(SOFT_STOP + KILL_AFTER + LAST_SECONDS)
            signal.signal(signal.SIGTERM, lambda *_: None)  # it would wait for the end of all tasks
        self._signals += 1

    def _check(self, consumer: Any) -> None:  # noqa: ANN401 - as above
        if not self._signals:
            return
        now = monotonic()
        if not self._tasks_end_at:
            self._tasks_end_at = now + SOFT_STOP
            with suppress(*consumer.connection_errors):
                consumer.task_consumer.cancel()
        if not state.reserved_requests and not state.active_requests and self._all_ended(now):
            # What is left to say to the broker must not wait for one that is silent.
            bound_open_broker_sockets(consumer.connection, SHUTDOWN_SOCKET_TIMEOUT)
            state.should_stop = OK  # type: ignore[assignment]  # as above
        elif self._signals > 1 or now >= self._tasks_end_at:
            self._end_tasks(consumer, now)

    def _end_tasks(self, consumer: Any, now: float) -> None:  # noqa: ANN401 - as above
        """Gives up the tasks. A pool of threads goes on with them until the worker ends."""
        if not self._kill_at:
            self._kill_at = now + KILL_AFTER
            if processes := frozenset(consumer.pool.info.get("processes", ())):
                self._end_processes(consumer, processes)
        for request in (*state.reserved_requests, *state.active_requests):
            state.task_ready(request)

    def _end_processes(self, consumer: Any, processes: frozenset[int]) -> None:  # noqa: ANN401 - as above
        """Sends SIGTERM to every process of the pool, once (a second one would not let its task say that it ended): an
        idle one may have a task that is not known yet.
        """
        self._ending = processes
        consumer.pool.flush()  # no waiting task goes to a process that is free now
        told = {request.worker_pid for request in state.active_requests}
        consumer.cancel_active_requests()
        for pid in processes - told:
            consumer.pool.terminate_job(pid)
        consumer.pool.close()  # starts no process in the place of those

    def _all_ended(self, now: float) -> bool:
        left = [pid for pid in self._ending if not _has_ended(pid)]
        if now >= self._kill_at:
            for pid in left:
                os.kill(pid, signal.SIGKILL)
        return not left


def _has_ended(pid: int) -> bool:
    """Whether that child has ended. Its exit code is left for the pool."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True
