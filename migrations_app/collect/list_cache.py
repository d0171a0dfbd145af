"""Stores parts of long lists for the next scan, and uses them again if the server proves that the list is unchanged.

The proof is a watch from the version at which the list was read (`clients/kubernetes/watching.py`). Without a proof, or
in any doubt, the whole list is read.
"""

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import msgspec

import migrations_app
from migrations_app.clients.kubernetes.api import Resource, WatchingApi
from migrations_app.collect.parts import Job
from migrations_app.collect.reading import ListNote, Parts, Reading
from migrations_app.errors import ReadError
from migrations_app.inventory.objects import karpenter as o
from migrations_app.inventory.parts import Part, Seen, is_whole

MIN_OBJECTS: Final = 2000
"""Minimum number of objects for a proof: a shorter list is read as fast."""
MAX_LIST_AGE: Final = timedelta(days=1)
"""After a day the whole list is read despite any proof: a restored database may count versions anew."""
MAX_PAUSES: Final = 23
"""Maximum number of scans in a row without a proof, after proofs that failed repeatedly."""
WATCH_SECONDS: Final = (3, 12)
"""Minimum and maximum seconds of a watch. Bookmarks come two seconds before its end."""
WATCH_TIME_DIVISOR: Final = 8
"""A watch lasts an eighth of the time that reading the list took."""
PROOF_SECONDS: Final = 10
"""Seconds that a proof may take besides its watch. Afterwards there has to be time left to read the list twice."""
TIME_FORMAT: Final = "%Y-%m-%dT%H:%M:%SZ"
_READ_BY: Final = ("clients/kubernetes", "inventory", "karpenter", "collect")
"""The source folders that affect a part: after a change in them, stored parts are not used."""
_DECODERS: Final[Mapping[str, "msgspec.json.Decoder[Seen[Any]]"]] = {
    "pods": msgspec.json.Decoder(Seen[o.PodGroup]),
    "nodes": msgspec.json.Decoder(Seen[o.Node]),
}


class CachedPart(msgspec.Struct, frozen=True, kw_only=True):
    """A part of one scan, and data of its list. `body` is empty if the part is not worth storing."""

    key: str = ""
    """A digest of what the list depends on: cluster, credentials, path, version of the server, karpdash's own
    sources.
    """
    read_at: str = ""
    """When the whole list was read."""
    version: str = ""
    """The resource version of the list."""
    count: int = 0
    seconds: float = 0.0
    """Seconds that reading the list took."""
    body: bytes = b""
    misses: int = 0
    """Number of failed proofs in a row."""
    pauses: int = 0
    """Number of coming scans that read the whole list without a proof."""


@dataclass(slots=True)
class PartMemory:
    """The stored parts of an earlier scan, and after the scan the parts for the next one.

    `bound` identifies the cluster and the credentials.
    """

    api: WatchingApi
    bound: str
    now: datetime
    cached: Mapping[str, CachedPart] = field(default_factory=dict)
    least: int = MIN_OBJECTS
    fresh: dict[str, CachedPart] = field(default_factory=dict)
    """Only parts that differ from `cached`."""
    proven: dict[str, str] = field(default_factory=dict)
    """The parts that were used again, with the time when each was read completely."""

    def read(self, job: Job, reading: Reading) -> Parts:
        """The part of the job, stored or newly read. Raises ReadError as the job does."""
        name = job.gives[0]
        known = self.cached.get(name, CachedPart())
        asks = self._is_worth_a_proof(known, job, reading=reading)
        part = _opened(name, known.body) if asks else None
        if part is not None and self._is_proven(known, job, reading=reading):
            self.proven[name] = known.read_at
            self._keep(name, msgspec.structs.replace(known, misses=0))
            return {name: part}
        misses = known.misses + 1 if asks else known.misses
        pauses = min(2**misses - 2, MAX_PAUSES) if asks else max(known.pauses - 1, 0)
        started, noting = time.monotonic(), replace(reading, noted=[])
        try:
            parts = job.read(noting)
        except ReadError:
            if asks:
                self._keep(name, CachedPart(misses=misses, pauses=pauses))
            raise
        took = time.monotonic() - started
        filled = self._filled(noting.noted or [], part=parts[name], reading=reading) if not pauses else CachedPart()
        seconds = round(took, 1) if filled.body else 0.0
        self._keep(name, msgspec.structs.replace(filled, misses=misses, pauses=pauses, seconds=seconds))
        return parts

    def _keep(self, name: str, part: CachedPart) -> None:
        if part != self.cached.get(name, CachedPart()):
            self.fresh[name] = part

    def _is_worth_a_proof(self, known: CachedPart, job: Job, *, reading: Reading) -> bool:
        if not known.body or job.lists is None:
            return False
        if time.monotonic() + _watch_seconds(known) + PROOF_SECONDS + 2 * known.seconds > reading.ends:
            return False
        age = self.now - datetime.fromisoformat(known.read_at)
        resources = reading.candidates(job.lists)
        same = len(resources) == 1 and known.key == self._key(resources[0], reading)
        return same and timedelta(0) <= age < MAX_LIST_AGE

    def _is_proven(self, known: CachedPart, job: Job, *, reading: Reading) -> bool:
        resource = reading.resource(job.lists) if job.lists else None
        try:
            return resource is not None and self.api.is_unchanged(
                resource, since=known.version, count=known.count, seconds=_watch_seconds(known)
            )
        except ReadError:
            return False

    def _filled(self, noted: list[ListNote], *, part: Part[Any], reading: Reading) -> CachedPart:
        """The part to store after the whole list was read; an empty one if it is not worth storing or in doubt."""
        list_note = noted[0] if len(noted) == 1 else None
        if list_note is None or not list_note.version or not isinstance(part, Seen) or not is_whole(part):
            return CachedPart()
        if part.count < self.least:
            return CachedPart()
        return CachedPart(
            key=self._key(list_note.resource, reading),
            read_at=self.now.strftime(TIME_FORMAT),
            version=list_note.version,
            count=part.count,
            body=msgspec.json.encode(part),
        )

    def _key(self, resource: Resource, reading: Reading) -> str:
        version = reading.found["version"].items
        parts = [self.bound, resource.path, *(entry.git_version for entry in version), _sources()]
        return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def _watch_seconds(known: CachedPart) -> int:
    least, most = WATCH_SECONDS
    return max(least, min(most, int(known.seconds / WATCH_TIME_DIVISOR) + 2))


def _opened(name: str, body: bytes) -> Seen[Any] | None:
    try:
        return _DECODERS[name].decode(body)
    except (KeyError, msgspec.DecodeError):
        return None


@cache
def _sources() -> str:
    """A digest of all source files and libraries here that affect a part."""
    root = Path(migrations_app.__file__).parent
    digest = hashlib.sha256(metadata.version("msgspec").encode())
    for path in sorted(path for name in _READ_BY for path in (root / name).rglob("*.py")):
        digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return digest.hexdigest()
