"""The stand-in itself: a tick sees the cluster and does what is due; a thread ticks until it is stopped."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.servers.apiserver import ApiServer
from tests.standin.api import Api
from tests.standin.garbage import Garbage
from tests.standin.karpenter import Karpenter
from tests.standin.pods import Pods, counted
from tests.standin.switches import Switches
from tests.standin.view import View, look

REST_SECONDS = 0.05
MOST_TICKS = 400


class Standin:
    """`lowest` is the smallest margin that each budget ever had: healthy pods above those it asks for."""

    def __init__(self, server: ApiServer, switches: Switches | None = None) -> None:
        self.switches = switches or Switches()
        self.lowest: dict[str, int] = {}
        self._api = Api.of(server)
        self._parts = (Pods(self._api, self.switches), Garbage(self._api), Karpenter(self._api, self.switches))
        self._stop = threading.Event()

    def tick(self) -> int:
        """How many requests changed something."""
        before = self._api.writes
        view = look(self._api, self.switches.version)
        self._measure(view)
        for part in self._parts:
            part.work(view)
        return self._api.writes - before

    def settle(self, *, ticks: int = MOST_TICKS) -> int:
        """Ticks until nothing is left to do; returns how many that took. Raises when there is no end."""
        for number in range(ticks):
            if not self.tick():
                return number
        raise AssertionError(f"the cluster is not at rest after {ticks} ticks")

    @contextmanager
    def running(self) -> Iterator["Standin"]:
        """Ticks beside the test while the block lasts; raises at its end what broke in between."""
        crashes: list[BaseException] = []
        self._stop.clear()
        thread = threading.Thread(target=self._run, args=(crashes,), name="standin", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            thread.join(30)
        if crashes:
            raise crashes[0]

    def close(self) -> None:
        self._api.close()

    def _run(self, crashes: list[BaseException]) -> None:
        try:
            while not self._stop.is_set():
                if not self.tick():
                    self._stop.wait(REST_SECONDS)
        except BaseException as crash:  # noqa: BLE001 - it is raised again in the thread of the test
            crashes.append(crash)

    def _measure(self, view: View) -> None:
        for budget in view.budgets:
            name = f"{budget['metadata']['namespace']}/{budget['metadata']['name']}"
            _, healthy, wanted = counted(view, budget)
            self.lowest[name] = min(self.lowest.get(name, healthy - wanted), healthy - wanted)
