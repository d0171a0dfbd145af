"""The request as it is sent: the plan's change, bound to the object version that was read just before (A18, A23)."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from migrations_app.actions.changes import MARK_PLAN, MARK_ROLLOUT, PlannedRequest
from migrations_app.actions.conditions import value_at
from migrations_app.manifests import JsonMap


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectVersion:
    """The object version that a request is bound to; empty for an object that is yet to be created."""

    uid: str = ""
    resource_version: str = ""

    @classmethod
    def of(cls, read: JsonMap | None) -> "ObjectVersion":
        """The version of the object as read."""
        if read is None:
            return cls()
        return cls(
            uid=str(value_at(read, ("metadata", "uid")) or ""),
            resource_version=str(value_at(read, ("metadata", "resourceVersion")) or ""),
        )


def marks(rollout: str, digest: str) -> dict[str, str]:
    """The annotations by which karpdash recognises objects that it created."""
    return {MARK_ROLLOUT: rollout, MARK_PLAN: digest}


def request_body(change: PlannedRequest, object_version: ObjectVersion, *, own: Mapping[str, str]) -> JsonMap:
    """The body to send, with uid and resourceVersion of the read as preconditions. `own`: annotations of karpdash."""
    if change.verb == "delete":
        return _deletion(change.body, object_version)
    if change.verb == "create":
        return with_annotations(change.body, own)
    if change.verb == "helm":
        return change.body | {"marks": dict(own)}
    head: JsonMap = {"uid": object_version.uid, "resourceVersion": object_version.resource_version}
    if change.verb == "apply":
        if not object_version.uid:
            return _named(change, with_annotations(change.body, own))
        return _named(change, _with_metadata(change.body, head))
    return _with_metadata(change.body, head)


def digest_of(body: JsonMap) -> str:
    """SHA-256 of the body, for the journal."""
    return hashlib.sha256(msgspec.json.encode(body, order="deterministic")).hexdigest()


def _deletion(options: JsonMap, object_version: ObjectVersion) -> JsonMap:
    preconditions = {"uid": object_version.uid, "resourceVersion": object_version.resource_version}
    return {"apiVersion": "v1", "kind": "DeleteOptions"} | options | {"preconditions": preconditions}


def _named(change: PlannedRequest, body: JsonMap) -> JsonMap:
    target = change.target
    place = {"namespace": target.namespace} if target.namespace else {}
    document = {"apiVersion": target.api_version, "kind": target.kind} | body
    return _with_metadata(document, {"name": target.name} | place)


def _with_metadata(body: JsonMap, more: Mapping[str, object]) -> JsonMap:
    return body | {"metadata": (body.get("metadata") or {}) | dict(more)}


def with_annotations(body: JsonMap, own: Mapping[str, str]) -> JsonMap:
    """A copy of the object or merge patch with these annotations too."""
    metadata = body.get("metadata") or {}
    return body | {"metadata": metadata | {"annotations": (metadata.get("annotations") or {}) | dict(own)}}
