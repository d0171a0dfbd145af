"""Runs Celery's command line for a worker whose main process stops (SIGSTOP) when a process of its pool gets a scan:
as if it got no processor until the scan runs.
"""

import os
import signal
from collections.abc import Callable
from typing import Any

from celery.__main__ import main
from celery.concurrency.asynpool import Worker

_plain = Worker._make_recv_method


def _starving(self: Worker, conn: object) -> Callable[[float], tuple[bool, Any]]:
    receive = _plain(self, conn)

    def received(seconds: float) -> tuple[bool, Any]:
        ready, job = receive(seconds)
        if ready and job is not None and "scan_cluster" in str(job):
            os.kill(os.getppid(), signal.SIGSTOP)
        return ready, job

    return received


if __name__ == "__main__":
    Worker._make_recv_method = _starving
    main()
