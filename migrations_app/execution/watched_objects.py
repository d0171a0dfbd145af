"""Reads the one object whose own status a gate waits for: a delivery, or a workload."""

from migrations_app.actions.changes import ObjectTarget
from migrations_app.actions.gates.delivery_gate import DeliveryStatus, delivery_status
from migrations_app.actions.gates.workload_gate import WorkloadProgress, workload_progress
from migrations_app.clients.kubernetes.api import Writer
from migrations_app.errors import ReadError


def delivery_seen(writer: Writer, target: ObjectTarget) -> DeliveryStatus | None:
    """The status of the delivery object; None if it could not be read."""
    try:
        return delivery_status(writer.read(target))
    except ReadError:
        return None


def workload_seen(writer: Writer, target: ObjectTarget) -> WorkloadProgress | None:
    """The status of the workload; None if it could not be read."""
    try:
        return workload_progress(target.kind, writer.read(target))
    except ReadError:
        return None
