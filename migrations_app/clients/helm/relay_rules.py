"""Decides what a relay does with each request of helm: forward it, answer it itself, or refuse it.

At a preview every change is sent as a dry run. In a real run only the planned changes pass, each once and with the
same content, and every written record of the release carries the marks of the rollout (A23).
"""

import dataclasses
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from migrations_app.actions.helm.request import HelmRequest
from migrations_app.actions.request import with_annotations
from migrations_app.clients.helm.releases import TYPE
from migrations_app.clients.kubernetes.writer import as_dry_run
from migrations_app.errors import KarpdashError
from migrations_app.manifests import JsonMap

MAX_REQUESTS = 2000
"""The most changes of one run; Karpenter's charts make fewer than a hundred."""
_RECORD = re.compile(r"/api/v1/namespaces/[^/]+/secrets/sh\.helm\.release\.v1\.[^/]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayedRequest:
    """One request as helm made it."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: Any = None
    content_type: str = "application/json"
    accept: str = "application/json"

    @property
    def object_path(self) -> str:
        """The path of the object, also for one that is yet to be created."""
        if self.method != "POST":
            return self.path
        metadata = self.body.get("metadata") if isinstance(self.body, dict) else None
        name = metadata.get("name") if isinstance(metadata, dict) else None
        return f"{self.path}/{name}" if isinstance(name, str) else self.path

    @property
    def is_record(self) -> bool:
        """Whether it writes a record of a Helm release."""
        kind = self.body.get("type") if isinstance(self.body, dict) else None
        return bool(_RECORD.fullmatch(self.object_path)) and kind in (TYPE, None)

    @property
    def changes(self) -> bool:
        return self.method != "GET"

    @property
    def digest(self) -> str:
        """SHA-256 of the body without the namespace, which is in the path."""
        body = self.body
        if self.method == "POST" and isinstance(body, dict) and isinstance(body.get("metadata"), dict):
            metadata = {
                key: value for key, value in body["metadata"].items() if key != "namespace" and value is not None
            }
            body = body | {"metadata": metadata}
        return hashlib.sha256(msgspec.json.encode(body, order="sorted")).hexdigest()


@dataclass(frozen=True, slots=True)
class RelayAnswer:
    """An answer of the API server, or of the relay itself."""

    status: int
    body: Any
    audit_id: str = ""


@dataclass(frozen=True, slots=True)
class RelayedChange:
    """A change that was forwarded, and its answer."""

    asked: RelayedRequest
    answer: RelayAnswer


class RelayRules(Protocol):
    """Decides about each request of helm before it is sent, and about its answer."""

    def before(self, request: RelayedRequest) -> RelayedRequest | RelayAnswer:
        """Returns the request to send, or the answer if nothing is sent."""

    def after(self, request: RelayedRequest, answer: RelayAnswer, /) -> RelayAnswer:
        """Takes the request as helm made it, and the server's answer; returns the answer for helm."""


def refusal(status: int, *, reason: str, message: str) -> RelayAnswer:
    """An error answer in the form of the API server."""
    body = {
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": status,
    }  # fmt: skip
    return RelayAnswer(status, body)


def refused(message: str) -> RelayAnswer:
    """The answer to a change that is not sent."""
    return refusal(403, reason="Forbidden", message=message)


@dataclass(slots=True)
class DryRules:
    """Sends every change as a dry run and keeps it. The release record is never stored, so it is answered from memory.

    A change that RBAC forbids is recorded and answered to helm as done, so that one run shows all missing rules.
    """

    changes: list[RelayedChange] = field(default_factory=list)
    record: JsonMap = field(default_factory=dict)
    """The record of the new revision as helm wrote it last."""
    reads: dict[str, Any] = field(default_factory=dict)
    """The objects that were read, by path, as they were before the run."""
    denied: list[RelayedRequest] = field(default_factory=list)
    _records: dict[str, Any] = field(default_factory=dict)

    def before(self, request: RelayedRequest) -> RelayedRequest | RelayAnswer:
        stored_record = self._records.get(request.object_path)
        if not request.changes:
            return RelayAnswer(200, stored_record) if stored_record is not None else request
        if len(self.changes) >= MAX_REQUESTS:
            return refused(f"karpdash: more than {MAX_REQUESTS} changes")
        if stored_record is not None:
            self._records[request.object_path] = self.record = request.body
            return RelayAnswer(200, request.body)
        body, query = as_dry_run(request.method, request.body or {}, query=list(request.query))
        return _replaced(request, body=body, query=tuple(query))

    def after(self, request: RelayedRequest, answer: RelayAnswer) -> RelayAnswer:
        if answer.status == 403:
            self.denied.append(request)
        if not request.changes:
            if answer.status == 200 and len(self.reads) < MAX_REQUESTS:
                self.reads[request.path] = answer.body
            return answer
        result = answer
        if answer.status == 403:
            result = RelayAnswer(200, self.reads.get(request.path, request.body))
        if request.is_record:
            if request.method == "POST":
                self._records[request.object_path] = self.record = request.body
        else:
            self.changes.append(RelayedChange(request, answer))
        return result


@dataclass(slots=True)
class PlannedRules:
    """Lets only planned changes pass, each once and with the same content. `permit` raises if nothing may be sent any
    more; `record` is the path of the new revision's record, `former` that of the revision before.
    """

    requests: tuple[HelmRequest, ...]
    record: str
    former: str
    marks: Mapping[str, str]
    permit: Callable[[], None]
    reached: Callable[[str], None]
    sent: list[RelayedChange] = field(default_factory=list)
    refused: str = ""
    _used: set[HelmRequest] = field(default_factory=set)

    def before(self, request: RelayedRequest) -> RelayedRequest | RelayAnswer:
        if not request.changes:
            return request
        # After a refusal helm may still write the failure into its record, but nothing else.
        if not self._is_planned(request) or (self.refused and not request.is_record):
            self.refused = self.refused or f"{request.method} {request.object_path} is not in the plan"
            return refused(f"karpdash: {self.refused}")
        try:
            self.permit()
        except KarpdashError as stop:
            self.refused = stop.message
            return refused(f"karpdash: {self.refused}")
        self.reached("helm_before_record" if request.is_record else "helm_before_object")
        return (
            _replaced(request, body=with_annotations(request.body, self.marks))
            if request.object_path == self.record
            else request
        )

    def after(self, request: RelayedRequest, answer: RelayAnswer) -> RelayAnswer:
        if request.changes:
            self.sent.append(RelayedChange(request, answer))
            self.reached("helm_after_record" if request.is_record else "helm_after_object")
        return answer

    def _is_planned(self, request: RelayedRequest) -> bool:
        if request.is_record:
            writes = {self.record: ("POST", "PUT"), self.former: ("PUT",)}
            return request.method in writes.get(request.object_path, ())
        helm_request = next(
            (
                planned_request
                for planned_request in self.requests
                if planned_request.allows(request.method, request.object_path, digest=request.digest)
            ),
            None,
        )
        if helm_request is None or (helm_request in self._used and not helm_request.again):
            return False
        self._used.add(helm_request)
        return True


def _replaced(
    request: RelayedRequest,
    *,
    body: Any,  # noqa: ANN401 - plain JSON
    query: tuple[tuple[str, str], ...] | None = None,
) -> RelayedRequest:
    return dataclasses.replace(request, query=request.query if query is None else query, body=body)
