"""What an object of Flux or Argo CD reports about the chart that it has to deliver, and what is missing yet."""

from collections.abc import Iterator
from typing import Any

from migrations_app.actions.changes import ActionValue, ObjectTarget
from migrations_app.actions.conditions import value_at
from migrations_app.manifests import JsonMap

LONGEST_WORDS = 200
DEPLOYED = "deployed"


class DeliveryGate(ActionValue, frozen=True):
    """A delivery, and the version of the chart that it has to install."""

    target: ObjectTarget
    version: str


class DeliveryStatus(ActionValue, frozen=True):
    """The delivery as it was read. `version` is the last version that it installed, `told` its own error message."""

    found: bool = False
    observed: bool = False
    """Whether Flux or Argo CD has processed the newest content of the object."""
    ready: bool = False
    version: str = ""
    told: str = ""


def delivery_reasons(gate: DeliveryGate, seen: DeliveryStatus | None) -> list[str]:
    """The reasons why the gate does not hold yet, as text; empty if it holds."""
    if seen is None:
        return [f"{gate.target.display_name} could not be read"]
    return list(_reasons(gate, seen))


def _reasons(gate: DeliveryGate, seen: DeliveryStatus) -> Iterator[str]:
    where = gate.target.display_name
    if not seen.found:
        yield f"{where} is not there"
        return
    if not seen.observed:
        yield f"{where} was not taken up by its controller yet"
    if plain_version(seen.version) != plain_version(gate.version):
        yield f"{where} has delivered {seen.version or 'no version that it tells'}, and {gate.version} is wanted"
    if not seen.ready:
        yield f"{where} is not ready{f': {seen.told}' if seen.told else ''}"


def plain_version(text: str) -> str:
    """A chart's version without the letter `v` at its start and without the digest at its end."""
    return text.removeprefix("v").partition("+")[0]


def delivery_status(read: JsonMap | None) -> DeliveryStatus:
    """The state that the object reports; `read` None: the object does not exist."""
    if read is None:
        return DeliveryStatus()
    return _application(read) if read.get("kind") == "Application" else _helm_release(read)


def _helm_release(read: JsonMap) -> DeliveryStatus:
    """The state of a HelmRelease: helm-controller lists releases newest first; before v2, only the last version."""
    generation = value_at(read, ("metadata", "generation"))
    last = value_at(read, ("status", "history", "0"))
    ready = _condition(read, "Ready")
    applied = value_at(read, ("status", "lastAppliedRevision"))
    deployed = last is None or _text(last, "status") in ("", DEPLOYED)
    return DeliveryStatus(
        found=True,
        observed=value_at(read, ("status", "observedGeneration")) == generation,
        ready=ready.get("status") == "True" and deployed,
        version=_text(last, "chartVersion") or (applied if isinstance(applied, str) else ""),
        told=_text(ready, "message")[:LONGEST_WORDS],
    )


def _application(read: JsonMap) -> DeliveryStatus:
    """The state of an Application: the version that Argo CD compared the cluster with, and how its last sync ended."""
    sync, operation = value_at(read, ("status", "sync")), value_at(read, ("status", "operationState"))
    healthy = _text(value_at(read, ("status", "health")), "status") == "Healthy"
    synced = _text(sync, "status") == "Synced"
    ended = _text(operation, "phase") == "Succeeded" and read.get("operation") is None
    return DeliveryStatus(
        found=True,
        observed=_compares_current_sources(read, sync),
        ready=healthy and synced and ended,
        version=_revision(read, sync),
        told=_text(operation, "message")[:LONGEST_WORDS],
    )


def _compares_current_sources(read: JsonMap, sync: Any) -> bool:  # noqa: ANN401 - plain JSON
    """Whether Argo CD compared the cluster with the sources that the object names now."""
    return all(
        value_at(sync, ("comparedTo", field, *which)) == value_at(read, ("spec", field, *which))
        for field, which in (("source", ("targetRevision",)), ("sources", ()))
    )


def _revision(read: JsonMap, sync: Any) -> str:  # noqa: ANN401 - plain JSON
    """The version of the chart; with several sources, the version of the first source that names a chart."""
    sources = value_at(read, ("spec", "sources"))
    if not isinstance(sources, list):
        return _text(sync, "revision")
    index = next(
        (number for number, source in enumerate(sources) if isinstance(source, dict) and source.get("chart")), 0
    )
    revision = value_at(sync, ("revisions", str(index)))
    return revision if isinstance(revision, str) else ""


def _condition(read: JsonMap, kind: str) -> JsonMap:
    conditions = value_at(read, ("status", "conditions"))
    rows = (row for row in conditions if isinstance(row, dict)) if isinstance(conditions, list) else ()
    return next((row for row in rows if row.get("type") == kind), {})


def _text(tree: Any, field: str) -> str:  # noqa: ANN401 - plain JSON
    value = value_at(tree, (field,))
    return value if isinstance(value, str) else ""
