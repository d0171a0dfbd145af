"""A whole plan on the real API server: drafted, previewed by dry runs, carried out, and taken back step by step."""

import uuid
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from migrations_app.actions.conditions import all_hold
from migrations_app.actions.plan import Plan
from migrations_app.actions.request import ObjectVersion
from migrations_app.models.cluster import Cluster
from migrations_app.models.rollout import Attempt, Rollout
from migrations_app.samples.installation import Install, controller
from migrations_app.use_cases.audit.log import Actor
from migrations_app.use_cases.clusters.registration import Details, register_kubeconfig
from migrations_app.use_cases.rollouts import preview, worker
from migrations_app.use_cases.rollouts.drafts import RolloutRequest, draft
from migrations_app.use_cases.runtime.connections import connect_writer
from tests.servers.apiserver import ApiServer

ADA = Actor(name="ada")
QUICK = {"allow_loopback": True, "gate_poll": 0, "settle_seconds": 0, "encryption_keys": (("k", b"k" * 32),)}
LEFT_OUT = ("uid", "resourceVersion", "creationTimestamp", "generation")


def put(server: ApiServer, *docs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Creates the documents, with their status; returns them as stored."""
    return [_put(server, doc) for doc in docs]


def _put(server: ApiServer, doc: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {key: value for key, value in doc["metadata"].items() if key not in LEFT_OUT}
    made = server.admin.create({**doc, "metadata": metadata})
    if not doc.get("status"):
        return made
    return server.admin.patch(server.admin.path_of(made, "status"), {"status": doc["status"]})


def installed(server: ApiServer, version: str, **env: str) -> None:
    """The Deployment of a controller of that release, which tells a scan what runs."""
    docs = controller(Install(cluster="test", version=version, env=env), ["outside"])
    put(server, *(doc for doc in docs if doc["kind"] == "Deployment"))


def registered(server: ApiServer) -> Cluster:
    text = server.kubeconfig(server.admin_token).encode()
    return Cluster.objects.get(pk=register_kubeconfig(text, Details(name="shop", by="ada")))


def previewed(cluster: Cluster, action: str, **parameters: Any) -> Rollout:
    """The rollout after its preview; in state `previewed` every dry run passed."""
    pk = draft(cluster.pk, RolloutRequest(action=action, parameters=parameters), by=ADA)
    preview.prepare(pk)
    return Rollout.objects.get(pk=pk)


def plan_of(row: Rollout) -> Plan:
    return msgspec.json.decode(bytes(row.plan), type=Plan)


def carried_out(row: Rollout, *, between: Callable[[], object] = lambda: None) -> Rollout:
    """The rollout after its run; approval is another part's affair. `between` plays the cluster's controllers."""
    for state in ("awaiting_approval", "approved", "running"):
        Rollout.objects.filter(pk=row.pk).update(state=state)
    for _ in range(60):
        if not worker.advance(row.pk, holder=f"w-{uuid.uuid4()}"):
            break
        between()
    row.refresh_from_db()
    return row


def gone(server: ApiServer, *paths: str) -> None:
    """Lets these objects go at once, whatever finalizers they have: what Karpenter's controllers do in their time."""
    for path in paths:
        if server.admin.request("GET", path).status == 200:
            server.admin.patch(path, {"metadata": {"finalizers": None}})
            server.admin.request("DELETE", path)


def applied(row: Rollout) -> list[str]:
    return [one.step for one in Attempt.objects.filter(rollout=row, outcome="applied")]


def taken_back(row: Rollout) -> list[str]:
    """Sends the undoing of every step, newest first; returns the steps of which a read shows that it is undone."""
    undone = []
    with connect_writer(row.cluster) as writer:
        for step in reversed(plan_of(row).steps):
            if step.undo is not None:
                sent = writer.send(step.undo, ObjectVersion.of(writer.read(step.undo.target)), own={}, purpose="undo")
                assert sent.done, sent
                assert all_hold(step.undo_postconditions, writer.read(step.undo.target)), step.title
                undone.append(step.id)
    return undone
