"""The kinds that are served: built-in ones, and those of CustomResourceDefinitions with their schema and conversion."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from migrations_app.manifests import JsonMap
from migrations_app.twin.answers import internal
from migrations_app.twin.objects.faults import RefusalCause, required, wrong
from migrations_app.twin.objects.kinds import Place, ServedKind, built_in
from migrations_app.twin.objects.shapes import CORE, Shape
from migrations_app.twin.objects.structural import Schema, admitted, pruned
from migrations_app.twin.store import StoredObject

Converter = Callable[[JsonMap, str], JsonMap]
"""Returns the object in another apiVersion, as a conversion webhook does. It must not change its argument."""
_CLUSTER = "Cluster"
CONVERTER = "twin/conversion"
"""The service that converts for sample definitions with open schemas; it is never down."""
_EVERY_FIELD: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """One served kind. `serial` changes with the CustomResourceDefinition, which makes cached views stale."""

    kind: ServedKind
    schemas: Mapping[str, Schema] = field(default_factory=dict)
    with_status: frozenset[str] = frozenset()
    """The versions that have the subresource status."""
    webhook: str = ""
    """The service or address that converts; empty if only the apiVersion changes."""
    serial: int = 0
    ending: bool = False
    """Whether its CustomResourceDefinition is being deleted: no new object is accepted."""

    def shape(self, version: str) -> Shape:
        return self.schemas.get(version) if self.kind.custom else CORE

    def has_status(self, version: str) -> bool:
        return version in self.with_status if self.kind.custom else self.kind.status


def of_crd(crd: JsonMap, serial: int) -> Definition:
    """Returns the definition of the kind in a CustomResourceDefinition."""
    spec = crd["spec"]
    versions = [version for version in spec["versions"] if version.get("served")]
    storage = next(version["name"] for version in spec["versions"] if version.get("storage"))
    with_status = frozenset(version["name"] for version in versions if "status" in (version.get("subresources") or {}))
    kind = ServedKind(
        group=spec["group"],
        plural=spec["names"]["plural"],
        kind=spec["names"]["kind"],
        versions=tuple(version["name"] for version in versions),
        storage=storage,
        namespaced=spec.get("scope") != _CLUSTER,
        counted=True,
        custom=True,
        unconditional=False,
    )
    schemas = {
        version["name"]: schema
        for version in spec["versions"]
        if (schema := (version.get("schema") or {}).get("openAPIV3Schema")) is not None
    }
    ending = bool(crd["metadata"].get("deletionTimestamp"))
    return Definition(
        kind=kind, schemas=schemas, with_status=with_status, webhook=webhook_of(spec), serial=serial, ending=ending
    )


def _opened(definition: Definition, crd: JsonMap, *, converts: bool) -> Definition:
    """The definition with a schema that keeps every field, and with a converter that answers where there is one."""
    schemas = {version["name"]: _EVERY_FIELD for version in crd["spec"]["versions"]}
    webhook = CONVERTER if converts and len(schemas) > 1 else ""
    return replace(definition, schemas=schemas, with_status=frozenset(definition.kind.versions), webhook=webhook)


def webhook_of(spec: JsonMap) -> str:
    """The `namespace/name` of the service that converts, or its address; empty if only the apiVersion changes."""
    conversion = spec.get("conversion") or {}
    if conversion.get("strategy") != "Webhook":
        return ""
    client = (conversion.get("webhook") or {}).get("clientConfig") or {}
    return service_of(client)


def service_of(client: JsonMap) -> str:
    """What a clientConfig calls: `namespace/name` of a service, or an address."""
    service = client.get("service")
    return f"{service.get('namespace')}/{service.get('name')}" if service else str(client.get("url", ""))


class Definitions:
    """Every kind that is served, by group and plural.

    `converters` answer for conversion webhooks, by CRD name; a webhook without one, or whose service is in `down`,
    fails like one that does not answer.
    """

    def __init__(self, minor: int, *, is_open: bool = False) -> None:
        self.is_open = is_open
        """Whether objects of custom kinds are stored as they come, whatever their definition says of fields."""
        self._kinds: dict[Place, Definition] = {kind.place: Definition(kind=kind) for kind in built_in(minor)}
        self._named: dict[tuple[str, str], Definition] = {}
        self._serial = 0
        self.changes = 0
        """Grows with every kind that comes, goes, or is served otherwise."""
        self.converters: dict[str, Converter] = {}
        self.down: set[str] = set()

    def __iter__(self) -> Iterator[Definition]:
        return iter(self._kinds.values())

    def find(self, place: Place) -> Definition | None:
        return self._kinds.get(place)

    def by_kind(self, group: str, kind: str) -> Definition | None:
        if not self._named:
            for definition in self._kinds.values():
                self._named.setdefault((definition.kind.group, definition.kind.kind), definition)
        return self._named.get((group, kind))

    def define(self, crd: JsonMap) -> None:
        """Serves the kind of this CustomResourceDefinition from now on."""
        self._serial += 1
        self.changes += 1
        definition = of_crd(crd, self._serial)
        if self.is_open:
            definition = _opened(definition, crd, converts=definition.kind.resource in self.converters)
        self._kinds[definition.kind.place] = definition
        self._named.clear()

    def serve(self, kind: ServedKind) -> Definition:
        """Serves a kind without a known CustomResourceDefinition."""
        self.changes += 1
        self._named.clear()
        return self._kinds.setdefault(kind.place, Definition(kind=kind))

    def forget(self, place: Place) -> None:
        self.changes += 1
        self._kinds.pop(place, None)
        self._named.clear()

    def view(self, definition: Definition, stored: StoredObject, *, version: str) -> JsonMap:
        """Returns the stored object in that version. Raises RequestRefused if its conversion fails."""
        document, api_version = stored.document, definition.kind.api_version(version)
        if stored.serial == definition.serial and document["apiVersion"] == api_version:
            return document
        self._refuse_broken(definition, document, api_version=api_version)
        known_view = (stored.views or {}).get(version)
        if known_view is not None and known_view[0] == definition.serial:
            return known_view[1]
        if stored.serial != definition.serial:
            document = admitted(document, definition.schemas.get(document["apiVersion"].rpartition("/")[2]))
        new_view = self.converted(definition, document, version=version)
        stored.views = (stored.views or {}) | {version: (definition.serial, new_view)}
        return new_view

    def converted(self, definition: Definition, document: JsonMap, *, version: str) -> JsonMap:
        """Returns the object in that version. Raises RequestRefused if the conversion fails."""
        api_version = definition.kind.api_version(version)
        if document["apiVersion"] == api_version:
            return document
        if not definition.webhook:
            return _pruned(document | {"apiVersion": api_version}, definition.schemas.get(version))
        self._refuse_broken(definition, document, api_version=api_version)
        try:
            answer = self.converters[definition.kind.resource](document, api_version)
        except ValueError as wrong:
            head = f"conversion webhook for {document['apiVersion']}, Kind={definition.kind.kind} failed"
            raise internal(f"{head}: {wrong}") from None
        open_metadata = {
            key: answer["metadata"][key] for key in ("labels", "annotations") if answer["metadata"].get(key)
        }
        fixed_metadata = {
            key: value for key, value in document["metadata"].items() if key not in ("labels", "annotations")
        }
        return _pruned(
            answer | {"apiVersion": api_version, "metadata": fixed_metadata | open_metadata},
            definition.schemas.get(version),
        )

    def _refuse_broken(self, definition: Definition, document: JsonMap, *, api_version: str) -> None:
        if document["apiVersion"] == api_version or not definition.webhook:
            return
        if definition.webhook in self.down or definition.kind.resource not in self.converters:
            kind, name = definition.kind.kind, definition.webhook.rpartition("/")[2]
            source = document["apiVersion"]
            message = f'conversion webhook for {source}, Kind={kind} failed: Post: service "{name}" not found'
            raise internal(message)


def _pruned(document: JsonMap, schema: Schema | None) -> JsonMap:
    if schema is None:
        return document
    head = {key: document[key] for key in ("apiVersion", "kind", "metadata") if key in document}
    body = {key: value for key, value in document.items() if key not in head}
    pruned_body: JsonMap = pruned(body, schema)
    return document if pruned_body == body else head | pruned_body


def crd_faults(crd: JsonMap) -> Iterator[RefusalCause]:
    """Returns the faults of a CustomResourceDefinition, as far as the twin checks it."""
    spec = crd.get("spec") or {}
    names, versions = spec.get("names") or {}, spec.get("versions") or []
    for field_name, holder in (("group", spec), ("plural", names), ("kind", names)):
        if not holder.get(field_name):
            yield required(f"spec.{'' if field_name == 'group' else 'names.'}{field_name}")
    expected_name = f"{names.get('plural')}.{spec.get('group')}"
    if crd["metadata"].get("name") != expected_name:
        yield wrong("metadata.name", crd["metadata"].get("name"), why='must be spec.names.plural+"."+spec.group')
    if sum(bool(version.get("storage")) for version in versions) != 1:
        yield wrong("spec.versions", len(versions), why="must have exactly one version marked as storage version")
    version_names = [version.get("name") for version in versions]
    for position, stored_version in enumerate((crd.get("status") or {}).get("storedVersions") or ()):
        if stored_version not in version_names:
            yield wrong(f"status.storedVersions[{position}]", stored_version, why="must appear in spec.versions")


def accepted(crd: JsonMap, old: JsonMap | None, *, now: str) -> JsonMap:
    """Returns the CustomResourceDefinition as stored: with all names, the storage version and its status."""
    spec = dict(crd["spec"])
    names = {"singular": spec["names"]["kind"].lower(), "listKind": f"{spec['names']['kind']}List"} | spec["names"]
    spec |= {"names": names, "conversion": spec.get("conversion") or {"strategy": "None"}}
    storage = next(version["name"] for version in spec["versions"] if version.get("storage"))
    status = dict(crd.get("status") or {})
    stored = list(status.get("storedVersions") or ((old or {}).get("status") or {}).get("storedVersions") or ())
    status["storedVersions"] = stored if storage in stored else [*stored, storage]
    status.setdefault("acceptedNames", names)
    if not status.get("conditions"):
        pairs = (("NamesAccepted", "NoConflicts", "no conflicts found"), ("Established", "InitialNamesAccepted", "-"))
        status["conditions"] = [
            {"type": kind, "status": "True", "lastTransitionTime": now, "reason": reason, "message": message}
            for kind, reason, message in pairs
        ]
    return crd | {"spec": spec, "status": status}
