"""A scene on a real API server, with the simulator beside it on simulated time, and a rollout carried out there."""

import copy
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from migrations_app.collect.collect import collect
from migrations_app.models.rollout import Attempt, Rollout
from migrations_app.rehearsals.reading import read_objects
from migrations_app.simulator.behaviour import Behaviour
from migrations_app.simulator.clock import SimulatedClock
from migrations_app.simulator.simulator import KarpenterSimulator
from migrations_app.use_cases.rollouts import worker
from tests.actions.on_server import installed
from tests.rehearsals.scene import Scene
from tests.servers.apiserver import ApiServer
from tests.simulator.http_api import HttpSimulatorApi

Document = dict[str, Any]
GIVEN_OUT = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields")
ORDER = (
    "Provisioner", "AWSNodeTemplate", "NodePool", "EC2NodeClass", "Machine", "Node", "ReplicaSet", "StatefulSet",
    "DaemonSet", "PodDisruptionBudget", "Pod",
)  # fmt: skip
"""Owners before what they own."""
POLL = timedelta(seconds=5)


def load(server: ApiServer, scene: Scene) -> None:
    """Puts the scene there as a rehearsal reads it, with the controller's Deployment."""
    api = scene.bundle()
    found = read_objects(api, collect(api, cluster="shop").inventory)
    server.load_crds("alpha_and_beta")
    uids: dict[tuple[str, str], str] = {}
    documents = [one for kind in ORDER for one in found.of(kind)]
    for space in sorted({one["metadata"].get("namespace", "") for one in documents} - {""}):
        server.admin.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
    for one in documents:
        _put(server, copy.deepcopy(one), uids)
    installed(server, "0.32.10", FEATURE_GATES=scene.gates)


def _put(server: ApiServer, document: Document, uids: dict[tuple[str, str], str]) -> None:
    """Creates it with its status; owners are named by the uids that the server gave them."""
    metadata = document["metadata"]
    own = {key: value for key, value in metadata.items() if key not in GIVEN_OUT}
    if metadata.get("ownerReferences"):
        own["ownerReferences"] = [
            one | {"uid": uids[one["kind"], one["uid"]]}
            for one in metadata["ownerReferences"]
            if (one["kind"], one["uid"]) in uids
        ]
    body = {**document, "metadata": own}
    if body["kind"] == "PodDisruptionBudget":
        body["apiVersion"] = "policy/v1beta1"  # a server of 1.20
    made = server.admin.create({key: value for key, value in body.items() if key != "status"})
    uids[document["kind"], metadata.get("uid", "")] = made["metadata"]["uid"]
    if document.get("status"):
        server.admin.patch(server.admin.path_of(made, "status"), {"status": document["status"]})


def behaviour_of(api: Any) -> Behaviour:
    """How a rehearsal has the simulator behave for this cluster."""
    from migrations_app.rehearsals.assumptions import assumptions_of

    inventory = collect(api, cluster="shop").inventory
    return assumptions_of(read_objects(api, inventory), inventory).behaviour


@dataclass(slots=True)
class SimulatedRun:
    """A rollout on the server, carried out by the worker, with the simulator between its moves."""

    server: ApiServer
    behaviour: Behaviour
    clock: SimulatedClock = field(init=False)
    simulator: KarpenterSimulator = field(init=False)
    _api: HttpSimulatorApi = field(init=False)

    def __post_init__(self) -> None:
        self.clock = SimulatedClock(datetime.now(UTC))
        self._api = HttpSimulatorApi.of(self.server)
        self.simulator = KarpenterSimulator(self._api, self.behaviour, clock=self.clock)
        self.simulator.settle()

    def carry_out(self, row: Rollout, *, most: int = 600) -> Rollout:
        """The rollout after its end; approval is another part's affair."""
        for state in ("awaiting_approval", "approved", "running"):
            Rollout.objects.filter(pk=row.pk).update(state=state)
        Rollout.objects.filter(pk=row.pk).update(started_at=datetime.now(UTC) - timedelta(minutes=5))
        for _ in range(most):
            before = Attempt.objects.filter(rollout=row).count()
            if not worker.advance(row.pk, holder=f"w-{uuid.uuid4()}"):
                break
            if Attempt.objects.filter(rollout=row).count() > before:
                self.simulator.settle()
            else:
                self.simulator.advance(self.clock, self._next_poll())
        self.simulator.measurements.finish()
        self._api.close()
        row.refresh_from_db()
        return row

    def _next_poll(self) -> datetime:
        """The first look of a gate, one every POLL, at which the cluster can be another one than now."""
        now, moment = self.clock.now(), self.simulator.next_moment()
        polls = -(-(moment - now) // POLL) if moment is not None else 1
        return now + POLL * max(1, polls)
