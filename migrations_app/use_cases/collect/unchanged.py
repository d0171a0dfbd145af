"""Keeps parts of long lists for the next scan, and takes them again where the server proves that nothing has changed.

The proof is a watch from the version at which the list was read (`clients/kubernetes/watching.py`). Without a proof, or
in any doubt, the list is read whole.
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
from migrations_app.errors import ReadError
from migrations_app.inventory.objects import karpenter as o
from migrations_app.inventory.parts import Part, Seen, is_whole
from migrations_app.use_cases.collect.parts import Job
from migrations_app.use_cases.collect.reading import ListNote, Parts, Reading

LEAST: Final = 2000
"""Objects of a list that is worth a proof: a shorter one is read whole as fast."""
LONGEST: Final = timedelta(days=1)
"""After a day a list is read whole whatever is proven: a database that was put back counts versions anew."""
MOST_PAUSES: Final = 23
"""Scans in a row that ask for no proof, after proofs that failed every time."""
WAITS: Final = (3, 12)
"""Seconds of a watch, at least and at most. Bookmarks come two seconds before its end."""
SHARE: Final = 8
"""A watch waits for an eighth of the time that reading the list took."""
SPARE: Final = 10
"""Seconds that a proof may take besides its watch. There has to be time left to read the list twice over after it."""
MOMENT: Final = "%Y-%m-%dT%H:%M:%SZ"
_READ_BY: Final = ("clients/kubernetes", "inventory", "karpenter", "use_cases/collect")
"""The sources that make a part of the answers: with another release of them nothing that was kept is taken."""
_DECODERS: Final[Mapping[str, "msgspec.json.Decoder[Seen[Any]]"]] = {
    "pods": msgspec.json.Decoder(Seen[o.PodGroup]),
    "nodes": msgspec.json.Decoder(Seen[o.Node]),
}


class KeptPart(msgspec.Struct, frozen=True, kw_only=True):
    """A part of one scan, and the list that it was made of. `body` is empty while nothing is worth keeping."""

    key: str = ""
    """Whose list it was and who read it: cluster, credentials, path, version of the server, our own sources."""
    read_at: str = ""
    """When the list was read whole."""
    version: str = ""
    """The resource version of the list."""
    count: int = 0
    seconds: float = 0.0
    """How long it took to read."""
    body: bytes = b""
    misses: int = 0
    """Proofs in a row that failed."""
    pauses: int = 0
    """Scans to come that read the list whole without asking for a proof."""


@dataclass(slots=True)
class PartMemory:
    """What an earlier scan kept, by part; after the scan what the next one needs in its place, and what was proven.

    `bound` says which cluster is read with which credentials.
    """

    api: WatchingApi
    bound: str
    now: datetime
    kept: Mapping[str, KeptPart] = field(default_factory=dict)
    least: int = LEAST
    fresh: dict[str, KeptPart] = field(default_factory=dict)
    """Only what differs from `kept`."""
    proven: dict[str, str] = field(default_factory=dict)
    """The parts that were taken, and when each was read whole."""

    def read(self, job: Job, reading: Reading) -> Parts:
        """The part of the job, kept or read whole. Raises ReadError as the job does."""
        name = job.gives[0]
        known = self.kept.get(name, KeptPart())
        asks = self._is_worth_a_proof(known, job, reading=reading)
        part = _opened(name, known.body) if asks else None
        if part is not None and self._is_proven(known, job, reading=reading):
            self.proven[name] = known.read_at
            self._keep(name, msgspec.structs.replace(known, misses=0))
            return {name: part}
        misses = known.misses + 1 if asks else known.misses
        pauses = min(2**misses - 2, MOST_PAUSES) if asks else max(known.pauses - 1, 0)
        started, noting = time.monotonic(), replace(reading, noted=[])
        try:
            parts = job.read(noting)
        except ReadError:
            if asks:
                self._keep(name, KeptPart(misses=misses, pauses=pauses))
            raise
        took = time.monotonic() - started
        filled = self._filled(noting.noted or [], part=parts[name], reading=reading) if not pauses else KeptPart()
        seconds = round(took, 1) if filled.body else 0.0
        self._keep(name, msgspec.structs.replace(filled, misses=misses, pauses=pauses, seconds=seconds))
        return parts

    def _keep(self, name: str, part: KeptPart) -> None:
        if part != self.kept.get(name, KeptPart()):
            self.fresh[name] = part

    def _is_worth_a_proof(self, known: KeptPart, job: Job, *, reading: Reading) -> bool:
        if not known.body or job.lists is None:
            return False
        if time.monotonic() + _watch_seconds(known) + SPARE + 2 * known.seconds > reading.ends:
            return False
        age = self.now - datetime.fromisoformat(known.read_at)
        resources = reading.candidates(job.lists)
        same = len(resources) == 1 and known.key == self._key(resources[0], reading)
        return same and timedelta(0) <= age < LONGEST

    def _is_proven(self, known: KeptPart, job: Job, *, reading: Reading) -> bool:
        resource = reading.resource(job.lists) if job.lists else None
        try:
            return resource is not None and self.api.is_unchanged(
                resource, since=known.version, count=known.count, seconds=_watch_seconds(known)
            )
        except ReadError:
            return False

    def _filled(self, noted: list[ListNote], *, part: Part[Any], reading: Reading) -> KeptPart:
        """The part as it is kept after the list was read whole; an empty one where it is not worth it or in doubt."""
        list_note = noted[0] if len(noted) == 1 else None
        if list_note is None or not list_note.version or not isinstance(part, Seen) or not is_whole(part):
            return KeptPart()
        if part.count < self.least:
            return KeptPart()
        return KeptPart(
            key=self._key(list_note.resource, reading),
            read_at=self.now.strftime(MOMENT),
            version=list_note.version,
            count=part.count,
            body=msgspec.json.encode(part),
        )

    def _key(self, resource: Resource, reading: Reading) -> str:
        version = reading.found["version"].items
        parts = [self.bound, resource.path, *(entry.git_version for entry in version), _sources()]
        return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def _watch_seconds(known: KeptPart) -> int:
    least, most = WAITS
    return max(least, min(most, int(known.seconds / SHARE) + 2))


def _opened(name: str, body: bytes) -> Seen[Any] | None:
    try:
        return _DECODERS[name].decode(body)
    except (KeyError, msgspec.DecodeError):
        return None


@cache
def _sources() -> str:
    """A digest of everything here that a part depends on besides the cluster."""
    root = Path(migrations_app.__file__).parent
    digest = hashlib.sha256(metadata.version("msgspec").encode())
    for path in sorted(path for name in _READ_BY for path in (root / name).rglob("*.py")):
        digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return digest.hexdigest()
