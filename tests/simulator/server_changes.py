"""What changed on a real API server, without listing everything again while nothing was written."""

import time
from collections.abc import Iterable, Iterator

from migrations_app.simulator.changes import ListedChanges, ObjectChange
from tests.simulator.http_api import HttpSimulatorApi

UNSERVED_SECONDS = 1.0
"""How often it is asked again for kinds that were not served: what is served changes a moment after the last write."""


class ServerChanges(ListedChanges):
    """Lists when the server's revision is another than at the last listing."""

    def __init__(self, api: HttpSimulatorApi) -> None:
        super().__init__(api)
        self._server = api
        self._listed: tuple[str, tuple[str, ...]] | None = None
        self._at = 0.0

    def read(self, paths: Iterable[str]) -> Iterator[ObjectChange]:
        now = self._server.revision(), tuple(paths)
        late = bool(self.unserved) and time.monotonic() - self._at > UNSERVED_SECONDS
        if now != self._listed or late:
            self._listed, self._at = now, time.monotonic()
            yield from super().read(now[1])

    def restart(self) -> None:
        super().restart()
        self._listed = None
