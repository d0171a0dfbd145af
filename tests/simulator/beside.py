"""The simulator on a real API server, in a thread beside the test."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from migrations_app.simulator.behaviour import Behaviour
from migrations_app.simulator.simulator import KarpenterSimulator
from tests.servers.apiserver import ApiServer
from tests.simulator.http_api import HttpSimulatorApi
from tests.simulator.server_changes import ServerChanges

REST_SECONDS = 0.05


class ServerSimulator(KarpenterSimulator):
    """Works on this server when told to, or all the time while `running` lasts."""

    def __init__(self, server: ApiServer, behaviour: Behaviour | None = None) -> None:
        self._http = HttpSimulatorApi.of(server)
        self._stop = threading.Event()
        super().__init__(self._http, behaviour, changes=ServerChanges(self._http))

    @contextmanager
    def running(self) -> Iterator["ServerSimulator"]:
        """Works beside the test while the block lasts; raises at its end what broke in between."""
        crashes: list[BaseException] = []
        self._stop.clear()
        thread = threading.Thread(target=self._run, args=(crashes,), name="simulator", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            thread.join(30)
            if crashes:  # also where the block has failed: it may have waited for what nobody did any more
                raise crashes[0]

    def close(self) -> None:
        self._http.close()

    def _run(self, crashes: list[BaseException]) -> None:
        try:
            while not self._stop.is_set():
                if not self.work():
                    self._stop.wait(REST_SECONDS)
        except BaseException as crash:  # noqa: BLE001 - it is raised again in the thread of the test
            crashes.append(crash)
