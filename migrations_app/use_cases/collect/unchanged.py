"""Keeps parts of long lists for the next scan, and takes them again where the list still holds the very same objects.

The proof is a list of its own, from the current state: the metadata of every object, without the objects. Only where it
has the uid and the resource version of each one, in order, as the list had when it was read, the kept part is taken.
Anything else, an error too, means that the list is read whole. No watch and no cache of the server is believed.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import msgspec

import migrations_app
from migrations_app.clients.kubernetes.api import MarkingApi
from migrations_app.errors import ReadError
from migrations_app.inventory.list_marks import ListMarks, MarkedList
from migrations_app.inventory.objects import karpenter as o
from migrations_app.inventory.parts import Part, Seen, is_whole
from migrations_app.use_cases.collect.parts import Job
from migrations_app.use_cases.collect.reading import ListNote, Parts, Reading

LEAST: Final = 2000
"""Objects of a list that is worth a proof: a shorter one is read whole as fast."""
LONGEST: Final = timedelta(days=1)
"""After a day a list is read whole, whatever its marks say: a database that was put back may count versions anew."""
MOST_PAUSES: Final = 23
"""Scans in a row that do not ask for a proof, after lists that had changed every time."""
MOMENT: Final = "%Y-%m-%dT%H:%M:%SZ"
_READ_BY: Final = ("inventory", "karpenter", "use_cases/collect", "clients/kubernetes/reader.py")
"""The sources that make a part of the answers: with another release of them nothing that was kept is taken."""
_DECODERS: Final[Mapping[str, "msgspec.json.Decoder[Seen[Any]]"]] = {
    "pods": msgspec.json.Decoder(Seen[o.PodGroup]),
    "nodes": msgspec.json.Decoder(Seen[o.Node]),
}


class KeptPart(msgspec.Struct, frozen=True, kw_only=True):
    """A part of one scan, and the list that it was made of. `body` is empty while nothing is worth keeping."""

    key: str = ""
    """Where it was read and by what: path, version of the server, our own sources."""
    read_at: str = ""
    """When the list was read whole."""
    marks: MarkedList = MarkedList(0, ())
    body: bytes = b""
    misses: int = 0
    """Proofs in a row that failed because the list had changed."""
    pauses: int = 0
    """Scans to come that read the list whole without asking for a proof."""


@dataclass(slots=True)
class PartMemory:
    """What an earlier scan kept, by part; after the scan what the next one needs in its place, and what was proven."""

    api: MarkingApi
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
        same = self._same(known, job, reading=reading)
        if same and (part := _opened(name, known.body)) is not None:
            self.proven[name] = known.read_at
            self._keep(name, msgspec.structs.replace(known, misses=0))
            return {name: part}
        noting = replace(reading, noted=[])
        parts = job.read(noting)
        self._keep(name, self._after(known, noting.noted or [], part=parts[name], missed=same is False, reading=reading))
        return parts

    def _keep(self, name: str, part: KeptPart) -> None:
        if part != self.kept.get(name, KeptPart()):
            self.fresh[name] = part

    def _same(self, known: KeptPart, job: Job, *, reading: Reading) -> bool | None:
        """Whether the list holds what it held; None if that was not asked, or not answered."""
        if not known.body or not self._is_recent(known.read_at) or job.lists is None:
            return None
        resources = reading.candidates(job.lists)
        if len(resources) != 1 or known.key != _key(ListNote(resources[0], None), reading):
            return None
        marks = ListMarks()
        try:
            for page in self.api.marks(resources[0]):
                reading.check_deadline()
                marks.extend(page.marks)
                expected = known.marks.count - marks.count
                if not marks.begins(known.marks) or (page.remaining is not None and page.remaining != expected):
                    return False
        except ReadError:
            return None
        return marks.whole() == known.marks

    def _is_recent(self, read_at: str) -> bool:
        return timedelta(0) <= self.now - datetime.fromisoformat(read_at) < LONGEST

    def _after(
        self, known: KeptPart, noted: list[ListNote], *, part: Part[Any], missed: bool, reading: Reading
    ) -> KeptPart:
        """What is kept after the list was read whole."""
        misses = known.misses + missed
        pauses = min(2**misses - 2, MOST_PAUSES) if missed else max(known.pauses - 1, 0)
        waits = KeptPart(misses=misses, pauses=pauses)
        marks = noted[0].marks if len(noted) == 1 else None
        if pauses or marks is None or marks.count < self.least or not is_whole(part) or part.count != marks.count:
            return waits
        return KeptPart(
            key=_key(noted[0], reading),
            read_at=self.now.strftime(MOMENT),
            marks=marks,
            body=msgspec.json.encode(part),
            misses=misses,
        )


def _opened(name: str, body: bytes) -> Seen[Any] | None:
    try:
        return _DECODERS[name].decode(body)
    except (KeyError, msgspec.DecodeError):
        return None


def _key(note: ListNote, reading: Reading) -> str:
    version = reading.found["version"].items
    told = [note.resource.path, *(one.git_version for one in version), _sources()]
    return hashlib.sha256(msgspec.json.encode(told)).hexdigest()


@cache
def _sources() -> str:
    """A digest of everything here that a part depends on besides the cluster."""
    root = Path(migrations_app.__file__).parent
    digest = hashlib.sha256(f"{metadata.version('msgspec')}".encode())
    for name in _READ_BY:
        for path in sorted([root / name, *(root / name).rglob("*.py")]):
            if path.is_file():
                digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return digest.hexdigest()
