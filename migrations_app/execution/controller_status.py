"""Reads the state of the controller after an upgrade: Deployment, pods, and the Lease of its leader."""

from collections.abc import Iterator
from typing import Any

import msgspec

from migrations_app.actions.changes import ObjectTarget
from migrations_app.actions.conditions import value_at
from migrations_app.actions.gates.controller_gate import ControllerGate, ControllerStatus, PodOfController
from migrations_app.clients.kubernetes.api import Resource, Writer
from migrations_app.errors import ReadError
from migrations_app.karpenter import kinds
from migrations_app.manifests import JsonMap

LEASES = ("coordination.k8s.io", "v1", "leases", "Lease")


def controller_status(writer: Writer, gate: ControllerGate) -> ControllerStatus | None:
    """The current state of the controller; None if its Deployment could not be read."""
    row = kinds.DEPLOYMENT
    target = ObjectTarget(row.group, "v1", row.plural, row.kind, gate.deployment, namespace=gate.namespace)
    try:
        deployment = writer.read(target)
    except ReadError:
        return None
    if deployment is None:
        return ControllerStatus()
    status = deployment.get("status") or {}
    return ControllerStatus(
        found=True,
        observed=_number(status.get("observedGeneration")) >= _number(value_at(deployment, ("metadata", "generation"))),
        wanted=_number(value_at(deployment, ("spec", "replicas"))),
        total=_number(status.get("replicas")),
        updated=_number(status.get("updatedReplicas")),
        available=_number(status.get("availableReplicas")),
        pods=_pods(writer, deployment, namespace=gate.namespace),
        holder=_holder(writer, gate) if gate.leader else "",
    )


def _pods(writer: Writer, deployment: JsonMap, *, namespace: str) -> tuple[PodOfController, ...] | None:
    labels = value_at(deployment, ("spec", "selector", "matchLabels"))
    if not isinstance(labels, dict) or not labels:
        return None
    selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    resource = Resource("", "v1", kinds.POD.plural, namespace=namespace, label_selector=selector)
    try:
        every = [msgspec.json.decode(raw) for page in writer.pages(resource) for raw in page.items]
    except (ReadError, msgspec.DecodeError):
        return None
    return tuple(_pod(pod) for pod in every if not value_at(pod, ("metadata", "deletionTimestamp")))


def _pod(read: Any) -> PodOfController:  # noqa: ANN401 - plain JSON
    conditions = value_at(read, ("status", "conditions")) or []
    ready = any(condition.get("type") == "Ready" and condition.get("status") == "True" for condition in conditions)
    return PodOfController(
        name=str(value_at(read, ("metadata", "name"))), images=tuple(images_of(read.get("spec"))), ready=ready
    )


def images_of(pod_spec: Any) -> Iterator[str]:  # noqa: ANN401 - plain JSON
    """The images of the containers, in order."""
    for container in value_at(pod_spec, ("containers",)) or []:
        if isinstance(container, dict) and isinstance(container.get("image"), str):
            yield container["image"]


def leader_target(gate: ControllerGate) -> ObjectTarget:
    """The Lease of the controller's leader, for a gate that names one."""
    group, version, plural, kind = LEASES
    return ObjectTarget(group, version, plural, kind, gate.leader, namespace=gate.namespace)


def _holder(writer: Writer, gate: ControllerGate) -> str | None:
    try:
        lease = writer.read(leader_target(gate))
    except ReadError:
        return None
    return str(value_at(lease, ("spec", "holderIdentity")) or "")


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
