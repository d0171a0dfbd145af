"""The twin of a sample cluster as a row: loaded, advanced to now, changed, and saved by compare-and-set.

Every process sees the same state: a change counts when its row is written, and a process that was too late repeats its
work on the new state. The simulator only runs when the state is loaded, for all the time that has passed since.
"""

import uuid
import zlib
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TypeVar

import msgspec
from django.utils import timezone

from migrations_app.conversion.webhook import CONVERTED, converted
from migrations_app.errors import ServerFailed
from migrations_app.manifests import JsonMap
from migrations_app.models.sample_twin import SampleTwin
from migrations_app.simulator.behaviour import Behaviour, Delays
from migrations_app.simulator.clock import SimulatedClock
from migrations_app.simulator.instance_sizes import TYPE, known_sizes
from migrations_app.simulator.memory import SimulatorMemory
from migrations_app.simulator.simulator import KarpenterSimulator
from migrations_app.twin.loading import SavedTwin
from migrations_app.twin.ports.controllers import TwinChanges, TwinControllers
from migrations_app.twin.server import Twin

MINOR = 28
SPEED_FACTOR = 20
"""How many times faster nodes and pods start and stop than in a usual cluster."""
DELAYS = Delays(
    node_ready=(60 / SPEED_FACTOR,),
    pod_start=15 / SPEED_FACTOR,
    pod_stop=5 / SPEED_FACTOR,
    instance_stop=30 / SPEED_FACTOR,
    disruption_poll=10 / SPEED_FACTOR,
    provision_batch=1 / SPEED_FACTOR,
)
ZONES = ("eu-central-1a", "eu-central-1b", "eu-central-1c")
UNTRACKED = (("", "pods"), ("", "nodes"), ("policy", "poddisruptionbudgets"))
MIN_CORES = 4
MAX_WRITE_ATTEMPTS = 30
"""How often a change is tried while other processes write; each failure means that another change was stored."""
COMPRESSION_LEVEL = 1
_SIZES = {known_siz.name: known_siz for known_siz in known_sizes()}
T = TypeVar("T")


class TwinControl(msgspec.Struct, frozen=True, kw_only=True):
    """The behaviour of the sample's Karpenter: its API version, whether drift replaces nodes, and how many at once.
    `release` runs, as this revision of its Helm release.
    """

    version: str = "v1beta1"
    drifts: bool = True
    at_once: int = 1
    release: str = ""
    revision: int = 1


class TwinState(msgspec.Struct, frozen=True, kw_only=True):
    """The complete state of one sample cluster. `at` is the time up to which it was simulated; `server` is the answer
    to GET /version.
    """

    twin: SavedTwin
    memory: SimulatorMemory
    control: TwinControl
    server: JsonMap
    at: datetime


class SampleRemoved(ServerFailed):
    """The sample cluster was removed meanwhile."""

    code = "sample_gone"


class _Controllers(TwinControllers):
    """The requests of the simulator's controllers; a controller tries a refused request again."""

    def create(self, path: str, body: JsonMap) -> JsonMap | None:
        try:
            return super().create(path, body)
        except ServerFailed:
            return None

    def patch(self, path: str, body: JsonMap) -> JsonMap | None:
        try:
            return super().patch(path, body)
        except ServerFailed:
            return None

    def evict(self, pod: JsonMap) -> bool:
        try:
            return super().evict(pod)
        except ServerFailed:
            return False


class RunningTwin:
    """A twin with its simulator, at one time of its state."""

    def __init__(self, state: TwinState, *, seed: str) -> None:
        self.clock = SimulatedClock(state.at)
        self.twin = Twin(self.clock.now, minor=MINOR, seed=seed, untracked=UNTRACKED, version=state.server)
        self.twin.restore(state.twin)
        self.twin.converters.update(dict.fromkeys(CONVERTED, converted))
        self.control, self._server = state.control, state.server
        self._behaviour = behaviour(state.control)
        self._simulator = KarpenterSimulator(
            _Controllers(self.twin), self._behaviour, clock=self.clock, changes=TwinChanges(self.twin)
        )
        self._simulator.recall(state.memory)

    def advance(self, to: datetime) -> None:
        """Simulates the time until `to`; a time in the past changes nothing."""
        self._simulator.advance(self.clock, max(to, self.clock.now()))

    def settle(self) -> None:
        """Lets the controllers do everything that is due now."""
        self._simulator.settle()

    def set_control(self, control: TwinControl) -> None:
        """Changes the controller's behaviour from now on."""
        self.control = control
        self._behaviour.version, self._behaviour.drifts = control.version, control.drifts
        self._behaviour.at_once = control.at_once

    def state(self) -> TwinState:
        return TwinState(
            twin=self.twin.saved(),
            memory=self._simulator.memory(),
            control=self.control,
            server=self._server,
            at=self.clock.now(),
        )


def behaviour(control: TwinControl) -> Behaviour:
    """The behaviour of Karpenter in the samples: usual sizes with at least four cores, three zones."""
    sample_behaviour = Behaviour(
        version=control.version, drifts=control.drifts, at_once=control.at_once, consolidates=False, delays=DELAYS
    )
    sample_behaviour.sizes = tuple(size for size in known_sizes() if size.capacity.cpu >= MIN_CORES * 1000)
    sample_behaviour.zones = ZONES
    return sample_behaviour


def begun(documents: Iterable[JsonMap], control: TwinControl, *, server: JsonMap, now: datetime) -> TwinState:
    """The state of a new sample cluster, after all controllers have finished."""
    twin = Twin(lambda: now, minor=MINOR, seed=f"sample/{uuid.uuid4()}", untracked=UNTRACKED)
    twin.load(_with_room(document) for document in documents)
    empty = TwinState(twin=twin.saved(), memory=SimulatorMemory(), control=control, server=server, at=now)
    played = RunningTwin(empty, seed=f"sample/{uuid.uuid4()}")
    played.settle()
    return played.state()


def _with_room(document: JsonMap) -> JsonMap:
    """The node with the allocatable resources of its instance type."""
    size = _SIZES.get((document["metadata"].get("labels") or {}).get(TYPE, "")) if document["kind"] == "Node" else None
    if size is None:
        return document
    room, capacity = size.allocatable, size.capacity
    status = {
        "allocatable": {"cpu": f"{room.cpu}m", "memory": str(room.memory), "pods": str(room.pods)},
        "capacity": {"cpu": f"{capacity.cpu}m", "memory": str(capacity.memory), "pods": str(capacity.pods)},
    }
    return document | {"status": document["status"] | status}


def packed(state: TwinState) -> bytes:
    return zlib.compress(msgspec.json.encode(state), COMPRESSION_LEVEL)


def unpacked(body: bytes) -> TwinState:
    return msgspec.json.decode(zlib.decompress(body), type=TwinState)


class StoredTwin:
    """The twin of one row. Not for several threads at once."""

    def __init__(self, cluster_id: uuid.UUID) -> None:
        self._cluster = cluster_id
        self._revision = 0
        self._saved_at = 0
        self._played: RunningTwin | None = None

    def sample(self) -> str:
        """The name of the sample that it was created from. Raises SampleRemoved."""
        name = SampleTwin.objects.filter(pk=self._cluster).values_list("sample", flat=True).first()
        if name is None:
            raise SampleRemoved("the sample cluster was removed")
        return name

    def current(self) -> Twin:
        """The twin in its current state. What the simulator did meanwhile is stored. Raises SampleRemoved."""
        return self._play(lambda _: None)[0].twin

    def control(self) -> TwinControl:
        """The behaviour of its Karpenter in the stored state. Raises SampleRemoved."""
        return self._newest().control

    def change(self, work: Callable[[RunningTwin], T]) -> T:
        """Does the work on the newest state and stores the result; if another process was faster, repeats all of it.

        Raises SampleRemoved, and ServerFailed `busy` if others write all the time.
        """
        return self._play(work)[1]

    def _play(self, work: Callable[[RunningTwin], T]) -> tuple[RunningTwin, T]:
        for _ in range(MAX_WRITE_ATTEMPTS):
            played = self._newest()
            self._played = None  # after an error in between, the state is loaded again
            played.advance(timezone.now().astimezone(UTC))
            result = work(played)
            played.settle()
            if self._save(played):
                self._played = played
                return played, result
        raise ServerFailed("the sample cluster is changed by too many other requests", code="busy")

    def _newest(self) -> RunningTwin:
        revision = SampleTwin.objects.filter(pk=self._cluster).values_list("revision", flat=True).first()
        if revision is None:
            raise SampleRemoved("the sample cluster was removed")
        if self._played is not None and revision == self._revision:
            return self._played
        row = SampleTwin.objects.filter(pk=self._cluster).first()
        if row is None:
            raise SampleRemoved("the sample cluster was removed")
        self._revision = row.revision
        self._played = RunningTwin(unpacked(bytes(row.body)), seed=f"{self._cluster}/{row.revision}")
        self._saved_at = self._played.twin.revision
        return self._played

    def _save(self, played: RunningTwin) -> bool:
        """Stores the state. False if the row was written since it was read."""
        if played.twin.revision == self._saved_at:
            return True
        changed = {"body": packed(played.state()), "changed_at": timezone.now(), "revision": self._revision + 1}
        if not SampleTwin.objects.filter(pk=self._cluster, revision=self._revision).update(**changed):
            return False
        self._revision += 1
        self._saved_at = played.twin.revision
        return True
