"""Runs etcd for tests, which need two operations: reset the content at once, and forget old revisions."""

import base64
import bisect
import json
import urllib.request
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.servers.processes import Child, free_port

FIRST, PAST_LAST = "/registry/", "/registry0"
SELDOM_COLLECTED = {"GOGC": "400"}
"""Go collects garbage once the heap is five times what is in use, which costs memory: the processes that
tests/conversion/test_apiserver.py and its like start take a seventh less CPU time."""
_NO_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Stored(NamedTuple):
    """A key's value, still base64, and the revision that wrote it."""

    value: str
    revision: int


class Etcd:
    """A running etcd at `url` that never syncs to disk.

    It sends every watch its progress once in `progress_seconds`; bookmarks of the API server follow.
    """

    def __init__(self, program: Path, folder: Path, *, progress_seconds: int) -> None:
        port, peer_port = free_port(), free_port()
        self.url = f"http://127.0.0.1:{port}"
        peer = f"http://127.0.0.1:{peer_port}"
        self.child = Child(
            [
                program,
                f"--data-dir={folder / 'data'}",
                f"--listen-client-urls={self.url}",
                f"--advertise-client-urls={self.url}",
                f"--listen-peer-urls={peer}",
                f"--initial-advertise-peer-urls={peer}",
                f"--initial-cluster=default={peer}",
                "--unsafe-no-fsync",
                f"--quota-backend-bytes={8 << 30}",
                f"--experimental-watch-progress-notify-interval={progress_seconds}s",
                "--log-level=error",
            ],
            log=folder / "etcd.log",
            env=SELDOM_COLLECTED,
        )
        self.child.wait_until(self._is_healthy, what="etcd")

    def stop(self) -> None:
        self.child.stop()

    def contents(self) -> dict[str, Stored]:
        """Returns every key of the API server with its value."""
        return {key: Stored(row["value"], int(row["mod_revision"])) for key, row in self._rows(keys_only=False)}

    def revisions(self) -> dict[str, int]:
        """Returns every key of the API server with the revision that wrote it."""
        return {key: int(row["mod_revision"]) for key, row in self._rows(keys_only=True)}

    def put(self, key: str, value: str) -> int:
        """Writes a value, given in base64; returns its revision."""
        return int(self._call("kv/put", {"key": _coded(key), "value": value})["header"]["revision"])

    def put_all(self, values: Sequence[tuple[str, str]]) -> int:
        """Writes values, given in base64, in one transaction; returns their number."""
        puts = [{"requestPut": {"key": _coded(key), "value": value}} for key, value in values]
        self._call("kv/txn", {"success": puts})
        return len(puts)

    def value(self, key: str) -> bytes | None:
        """Returns the value of a key; None if there is no such key."""
        rows = self._call("kv/range", {"key": _coded(key)}).get("kvs", [])
        return base64.b64decode(rows[0]["value"]) if rows else None

    def delete(self, keys: Iterable[str], *, beside: Sequence[str]) -> None:
        """Deletes the keys; `beside` are the sorted keys that stay: one request deletes all keys between two of
        those.
        """
        gaps: dict[int, list[str]] = {}
        for key in keys:
            gaps.setdefault(bisect.bisect(beside, key), []).append(key)
        for members in gaps.values():
            self._call("kv/deleterange", {"key": _coded(min(members)), "range_end": _coded(max(members) + "\0")})

    def compact(self) -> None:
        """Forgets all revisions before the newest: older continue tokens and watches answer 410 from now on."""
        newest = self._call("kv/range", {"key": _coded(FIRST)})["header"]["revision"]
        self._call("kv/compaction", {"revision": newest, "physical": True})

    def _rows(self, *, keys_only: bool) -> list[tuple[str, dict[str, Any]]]:
        query = {"key": _coded(FIRST), "range_end": _coded(PAST_LAST), "keys_only": keys_only}
        rows = self._call("kv/range", query).get("kvs", [])
        return [(base64.b64decode(row["key"]).decode(), row) for row in rows]

    def _is_healthy(self) -> bool:
        try:
            return bool(self._call("maintenance/status", {}).get("leader"))
        except OSError:
            return False

    def _call(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(f"{self.url}/v3/{path}", data=json.dumps(body).encode())
        with _NO_PROXY.open(request, timeout=60) as response:
            answer: dict[str, Any] = json.loads(response.read())
            return answer


def _coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
