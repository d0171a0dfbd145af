"""Sends requests while releases change, and counts the answers of each web process."""

import http.client
import itertools
import json
import threading
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

PAUSE = 0.2
"""Seconds between two requests of each kind. Shorter ones keep two processors busy and find no more."""
SECONDS = 120.0
PORTS = tuple[int, ...]


@dataclass(slots=True)
class LoadBalancer:
    """A load balancer: sends requests to the web processes in turn, as a Service does to ready pods."""

    ports: PORTS = ()
    turns: Iterator[int] = field(default_factory=itertools.count)
    open: Counter[int] = field(default_factory=Counter)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def join(self, port: int) -> None:
        with self.changed:
            self.ports = (*self.ports, port)

    def leave(self, port: int) -> None:
        """Stops sending requests to that port; returns when all its requests are answered, as a pod's preStop waits."""
        with self.changed:
            self.ports = tuple(other for other in self.ports if other != port)
            assert self.changed.wait_for(lambda: self.open[port] == 0, SECONDS), f"requests hang on {port}"

    @contextmanager
    def turn(self) -> Iterator[int]:
        """Returns the port of the next request."""
        with self.changed:
            port = self.ports[next(self.turns) % len(self.ports)]
            self.open[port] += 1
        try:
            yield port
        finally:
            with self.changed:
                self.open[port] -= 1
                self.changed.notify_all()


class Load:
    """Reads pages and the API, and requests scans, until `stop`.

    `wrong` holds unexpected answers, `scans` the ids of the requested scans.
    """

    def __init__(self, front: LoadBalancer, who: Mapping[str, str], *, clusters: Sequence[str]) -> None:
        self.front, self.clusters = front, clusters
        self.cookie = {"Cookie": who["cookie"]}
        self.token = {"Authorization": f"Bearer {who['token']}", "Content-Type": "application/json"}
        self.answered: Counter[int] = Counter()
        self.wrong: list[str] = []
        self.scans: set[str] = set()
        self._ended = threading.Event()
        pages = ["/", "/rollouts/", *(f"/clusters/{cluster}/" for cluster in clusters)]
        kinds = (self._reads(pages, self.cookie), self._reads(["/api/v1/clusters"], self.token), self._scans())
        self._threads = [threading.Thread(target=self._run, args=(kind,), daemon=True) for kind in kinds]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(SECONDS)

    def scan(self, cluster: str) -> str:
        """Requests a scan and returns its id."""
        key = {"Idempotency-Key": uuid.uuid4().hex}
        body = self._ask("POST", f"/api/v1/clusters/{cluster}/scans", self.token | key, wanted=202)
        scan: str = json.loads(body)["id"] if body else ""
        self.scans.add(scan)
        return scan

    def _run(self, kind: Iterator[object]) -> None:
        while not self._ended.wait(PAUSE):
            next(kind)

    def _reads(self, paths: Sequence[str], headers: Mapping[str, str]) -> Iterator[bytes]:
        for path in itertools.cycle(paths):
            yield self._ask("GET", path, headers, wanted=200)

    def _scans(self) -> Iterator[str]:
        for cluster in itertools.cycle(self.clusters):
            yield self.scan(cluster)
            self._ended.wait(10 * PAUSE)  # each costs a worker more than it costs the pages

    def _ask(self, method: str, path: str, headers: Mapping[str, str], *, wanted: int) -> bytes:
        """Returns the body of the answer; empty for an unexpected one."""
        with self.front.turn() as port:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
            try:
                connection.request(method, path, body=b"{}" if method == "POST" else None, headers=dict(headers))
                answer = connection.getresponse()
                body = answer.read()
            except (OSError, http.client.HTTPException) as failed:
                self.wrong.append(f"{method} {path} of {port}: {type(failed).__name__}: {failed}")
                return b""
            finally:
                connection.close()
        self.answered[port] += 1
        if answer.status != wanted:
            self.wrong.append(f"{method} {path} of {port}: {answer.status} {body[:300]!r}")
            return b""
        return body
