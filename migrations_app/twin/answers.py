"""The responses of the twin: an HTTP status with a document, and refusals with the Status document of a real server."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

from migrations_app.manifests import JsonMap
from migrations_app.twin.objects.faults import RefusalCause, cause_documents
from migrations_app.twin.objects.kinds import ServedKind


@dataclass(frozen=True, slots=True)
class Answer:
    """A response. `document` must not be changed: it may be the stored object itself."""

    status: int
    document: JsonMap


class RequestRefused(Exception):
    """A refusal of the twin; `answer` is the response to the caller."""

    def __init__(
        self,
        status: int,
        reason: str,
        *,
        message: str,
        details: JsonMap | None = None,
        causes: Iterable[RefusalCause] = (),
    ) -> None:
        super().__init__(message)
        document: JsonMap = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
        }
        all_details = dict(details or {})
        if entries := cause_documents(causes):
            all_details["causes"] = entries
        if reason:
            document["reason"] = reason
        if all_details or details is not None:
            document["details"] = all_details
        self.answer = Answer(status, document | {"code": status})


def success(details: JsonMap | None = None, *, code: int = 0) -> JsonMap:
    """The Status document of a request that worked."""
    document: JsonMap = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return document | ({"details": details} if details else {}) | ({"code": code} if code else {})


def bad_request(message: str) -> RequestRefused:
    return RequestRefused(400, "BadRequest", message=message)


def internal(message: str, *, reason: str = "", causes: Iterable[RefusalCause] = ()) -> RequestRefused:
    return RequestRefused(500, reason, message=message, causes=causes)


def no_such_path() -> RequestRefused:
    """The answer to a resource that is not served: its details name no object."""
    message = "the server could not find the requested resource"
    return RequestRefused(404, "NotFound", message=message, details={})


def not_found(kind: ServedKind, name: str) -> RequestRefused:
    return RequestRefused(
        404, "NotFound", message=f'{kind.resource} "{name}" not found', details=details_of(kind, name)
    )


def already_exists(kind: ServedKind, name: str) -> RequestRefused:
    message = f'{kind.resource} "{name}" already exists'
    return RequestRefused(409, "AlreadyExists", message=message, details=details_of(kind, name))


def conflict(kind: ServedKind, name: str, *, why: str) -> RequestRefused:
    message = f'Operation cannot be fulfilled on {kind.resource} "{name}": {why}'
    return RequestRefused(409, "Conflict", message=message, details=details_of(kind, name))


def modified(kind: ServedKind, name: str) -> RequestRefused:
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(kind, name, why=why)


def forbidden(kind: ServedKind, name: str, *, why: str) -> RequestRefused:
    target = f' "{name}"' if name else ""
    message = f"{kind.resource}{target} is forbidden: {why}"
    return RequestRefused(403, "Forbidden", message=message, details=details_of(kind, name))


def invalid(kind: ServedKind, name: str, *, causes: Iterable[RefusalCause]) -> RequestRefused:
    """422: the object breaks these rules; each cause is listed once."""
    unique_causes = tuple(dict.fromkeys(causes))
    sentences = [f"{cause.field}: {cause.message}" for cause in unique_causes]
    text = sentences[0] if len(sentences) == 1 else f"[{', '.join(sentences)}]"
    group = {"group": kind.group} if kind.group else {}
    details = {"name": name, **group, "kind": kind.kind}
    message = f'{kind.qualified} "{name}" is invalid: {text}'
    return RequestRefused(422, "Invalid", message=message, details=details, causes=unique_causes)


def refuse_invalid(kind: ServedKind, name: str, *, causes: Iterable[RefusalCause]) -> None:
    """Raises RequestRefused if there is a cause."""
    all_causes = tuple(causes)
    if all_causes:
        raise invalid(kind, name, causes=all_causes)


def refuse_options(options_kind: str, causes: Iterable[RefusalCause]) -> NoReturn:
    """Raises the refusal of a query parameter or of DeleteOptions; `options_kind` is such as PatchOptions."""
    all_causes = tuple(causes)
    message = f'{options_kind}.meta.k8s.io "" is invalid: ' + ", ".join(
        f"{cause.field}: {cause.message}" for cause in all_causes
    )
    details = {"group": "meta.k8s.io", "kind": options_kind}
    raise RequestRefused(422, "Invalid", message=message, details=details, causes=all_causes)


def details_of(kind: ServedKind, name: str) -> JsonMap:
    group = {"group": kind.group} if kind.group else {}
    name_entry = {"name": name} if name else {}
    return {**name_entry, **group, "kind": kind.plural}
