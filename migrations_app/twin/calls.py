"""One request as the twin reads it: path, query and body, checked as far as every verb needs them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from migrations_app.manifests import JsonMap
from migrations_app.twin.answers import bad_request, no_such_path, refuse_options
from migrations_app.twin.definitions import Definition, Definitions
from migrations_app.twin.objects.faults import not_supported
from migrations_app.twin.objects.kinds import ServedKind
from migrations_app.twin.store import Key

JSON = "application/json"
MERGE, APPLY, JSON_PATCH = (
    "application/merge-patch+json",
    "application/apply-patch+yaml",
    "application/json-patch+json",
)
UNNAMED_MANAGER = "unknown"


@dataclass(slots=True, kw_only=True)
class Call:
    """One request; it is never changed. `name` is empty for a list or a creation."""

    method: str
    definition: Definition
    version: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    content_type: str = JSON
    user: str = ""

    @property
    def kind(self) -> ServedKind:
        return self.definition.kind

    @property
    def key(self) -> Key:
        return self.namespace, self.name

    @property
    def api_version(self) -> str:
        return self.kind.api_version(self.version)

    @property
    def manager(self) -> str:
        return self.query.get("fieldManager") or UNNAMED_MANAGER

    @property
    def dry(self) -> bool:
        """Whether nothing may be stored; for a deletion its options say so, too."""
        options = self.body if self.method == "DELETE" and isinstance(self.body, Mapping) else {}
        return bool(self.query.get("dryRun") or options.get("dryRun"))


def read_path(path: str, definitions: Definitions, *, method: str = "", **fields: Any) -> Call | None:  # noqa: ANN401 - the fields of Call
    """The request that a path names; None for paths such as /version and /apis/apps.

    Raises RequestRefused for a resource that is not served.
    """
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    definition = definitions.find((group, rest[0]))
    if definition is None or version not in definition.kind.versions or len(rest) > 3:
        raise no_such_path()
    if definition.kind.namespaced is not bool(namespace) and (namespace or len(rest) > 1):
        raise no_such_path()
    name, subresource = (*rest[1:], "", "")[:2]
    return Call(
        method=method,
        definition=definition,
        version=version,
        namespace=namespace,
        name=name,
        subresource=subresource,
        **fields,
    )


def check_options(call: Call) -> None:
    """Raises RequestRefused for a dry run of a kind that no server knows."""
    value = call.query.get("dryRun")
    if value and value != "All":
        options_kind = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions"}.get(call.method)
        refuse_options(options_kind or "DeleteOptions", [not_supported("dryRun", [value], choice=["All"])])


def object_in(call: Call) -> JsonMap:
    """The body as an object of the call's kind, version and namespace. Raises RequestRefused."""
    body = call.body
    if not isinstance(body, Mapping):
        raise bad_request(f"the body is no {call.kind.kind}")
    sent_type = {"apiVersion": body.get("apiVersion"), "kind": body.get("kind")}
    expected_type = {"apiVersion": call.api_version, "kind": call.kind.kind}
    missing = [key for key, value in sent_type.items() if not value]
    if missing and (call.kind.custom or len(missing) == 1):
        raise bad_request(f"{call.kind.kind} cannot be handled: {', '.join(missing)} is missing")
    if not missing and sent_type["apiVersion"] != expected_type["apiVersion"]:
        sent_version, expected_version = sent_type["apiVersion"], expected_type["apiVersion"]
        raise bad_request(
            f"the API version in the data ({sent_version}) does not match the expected API version ({expected_version})"
        )
    if not missing and sent_type["kind"] != expected_type["kind"] and not call.kind.custom:
        raise bad_request(f"{sent_type['kind']} cannot be handled as a {expected_type['kind']}")
    metadata = body.get("metadata")
    if metadata is not None and not isinstance(metadata, Mapping):
        raise bad_request(f"{call.kind.kind} cannot be handled: metadata is no object")
    document = {
        **body,
        **expected_type,
        "kind": sent_type["kind"] or expected_type["kind"],
        "metadata": dict(metadata or {}),
    }
    check_place(call, document["metadata"])
    return document


def check_place(call: Call, metadata: JsonMap) -> None:
    """Puts the object into the namespace of the request. Raises RequestRefused if it names another."""
    body_namespace = metadata.get("namespace") or ""
    if call.namespace and body_namespace not in ("", call.namespace):
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    if call.namespace:
        metadata["namespace"] = call.namespace
    else:
        metadata.pop("namespace", None)


def check_name(call: Call, metadata: JsonMap) -> None:
    """Raises RequestRefused if the object in the body has another name than the path."""
    if call.name and metadata.get("name") != call.name:
        body_name = metadata.get("name", "")
        raise bad_request(f"the name of the object ({body_name}) does not match the name on the URL ({call.name})")
