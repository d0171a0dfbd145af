"""Creating and changing objects: POST, PUT, the patches, and server-side apply.

Sources: kubernetes/apiserver@v0.20.2:pkg/registry/generic/registry/store.go, pkg/registry/rest, pkg/endpoints/handlers.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping

from migrations_app.manifests import JsonMap, patches
from migrations_app.twin import strategies
from migrations_app.twin.admission import refuse_by_webhooks
from migrations_app.twin.answers import (
    Answer,
    RequestRefused,
    already_exists,
    bad_request,
    conflict,
    internal,
    modified,
    not_found,
    refuse_invalid,
    refuse_options,
)
from migrations_app.twin.calls import APPLY, JSON_PATCH, MERGE, Call, check_name, object_in
from migrations_app.twin.objects import metadata as rules
from migrations_app.twin.objects import ownership, structural, validation, wire_types
from migrations_app.twin.objects.faults import RefusalCause, required, wrong
from migrations_app.twin.objects.ownership import ApplyConflict, FieldWrite
from migrations_app.twin.state import Work
from migrations_app.twin.store import StoredObject

_BY_SERVER = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "selfLink",
)
_SUPPORTED = (MERGE, JSON_PATCH, APPLY)


def create(work: Work) -> Answer:
    """POST of an object."""
    document = object_in(work.call)
    _refuse_types(work.call, document)
    if document["kind"] != work.call.kind.kind:
        name = str(document["metadata"].get("name", ""))
        why = f"must be {work.call.kind.kind}"
        refuse_invalid(work.call.kind, name, causes=[wrong("kind", document["kind"], why=why)])
    work.state.check_namespace(work.call, name=str(document["metadata"].get("name", "")))
    return Answer(201, _created(work, document))


def _created(work: Work, document: JsonMap) -> JsonMap:
    metadata = document["metadata"]
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = f"{metadata['generateName']}{work.state.suffix()}"
    refuse_by_webhooks(work, document, operation="CREATE")
    new_object = _new(work, document)
    name = str(new_object["metadata"].get("name", ""))
    refuse_invalid(work.call.kind, name, causes=_faults(work.call, new_object))
    if metadata.get("resourceVersion") not in (None, "", "0"):
        raise internal("resourceVersion should not be set on objects to be created")
    if work.state.store.find(work.call.kind.place, (work.call.namespace, name)) is not None:
        raise already_exists(work.call.kind, name)
    return (
        new_object
        if work.call.dry
        else work.state.view(work.call, work.state.put(work.call.definition, new_object, version=work.call.version))
    )


def _new(work: Work, document: JsonMap) -> JsonMap:
    """Returns the object as it would be stored: admitted, with uid, creation time and the owner of its fields."""
    sent_metadata = document["metadata"]
    metadata = {key: value for key, value in sent_metadata.items() if value is not None and key not in _BY_SERVER}
    managed = metadata.pop("managedFields", None)
    metadata.pop("resourceVersion", None)
    if work.call.kind.counted:
        metadata["generation"] = 1
    metadata |= {"uid": work.state.next_uid(), "creationTimestamp": work.state.now()}
    schema = work.call.definition.schemas.get(work.call.version)
    new_object = structural.admitted(document | {"metadata": rules.kept(metadata, metadata)}, schema)
    new_object = strategies.created(new_object, work.call, minor=work.state.minor, now=work.state.now())
    if work.call.kind.place in work.state.untracked or managed == []:
        return new_object
    return _owned(new_object, _change(work).updated(strategies.blank(new_object, work.call), new_object, shares={}))


def _change(work: Work, *, operation: str = "Update") -> FieldWrite:
    return FieldWrite(
        by=work.state.writing(work.call, operation=operation),
        now=work.state.now(),
        shape=work.call.definition.shape(work.call.version),
        versioned=lambda document, api_version: _in_version(work, document, api_version=api_version),
    )


def _in_version(work: Work, document: JsonMap, *, api_version: str) -> JsonMap:
    """Returns the document in the version that another manager wrote; unchanged if that version is not served."""
    version = api_version.rpartition("/")[2]
    if version not in work.call.kind.versions or not work.call.kind.custom:
        return document
    return work.state.definitions.converted(work.call.definition, document, version=version)


def _owned(document: JsonMap, shares: ownership.Shares) -> JsonMap:
    metadata = {key: value for key, value in document["metadata"].items() if key != "managedFields"}
    managed = ownership.written(shares)
    return document | {"metadata": metadata | ({"managedFields": managed} if managed else {})}


def _refuse_types(call: Call, document: JsonMap) -> None:
    """Raises RequestRefused for an object that no server decodes."""
    odd = wire_types.object_decode_error(document, call.kind.place, custom=call.kind.custom)
    if odd:
        raise bad_request(f"{call.kind.kind} in version {call.version!r} cannot be handled: {odd}")


def _faults(call: Call, document: JsonMap) -> Iterator[RefusalCause]:
    yield from rules.faults_of(document["metadata"], call.kind)
    yield from validation.faults_of(document, call.definition.schemas.get(call.version))
    yield from strategies.faults_of(document, call.kind)


def replace(work: Work) -> Answer:
    """PUT of an object."""
    document = object_in(work.call)
    check_name(work.call, document["metadata"])
    metadata = document["metadata"]
    current = work.state.store.find(work.call.kind.place, work.call.key)
    if metadata.get("uid") and metadata["uid"] != (current.uid if current else ""):
        raise conflict(
            work.call.kind, work.call.name, why=f"Precondition failed: UID in precondition: {metadata['uid']}"
        )
    stored = work.state.find(work.call)
    if not metadata.get("resourceVersion") and not work.call.kind.unconditional:
        why = "must be specified for an update"
        refuse_invalid(work.call.kind, work.call.name, causes=[wrong("metadata.resourceVersion", 0, why=why)])
    return Answer(200, _changed(work, stored, change=lambda _: document))


def patch(work: Work) -> Answer:
    """PATCH of an object in one of the three ways."""
    if work.call.content_type not in _SUPPORTED:
        supported = ", ".join(_SUPPORTED)
        message = f"the body of the request was in an unknown format - accepted media types include: {supported}"
        raise RequestRefused(415, "UnsupportedMediaType", message=message)
    if work.call.content_type == APPLY:
        return _apply(work)
    return Answer(200, _changed(work, work.state.find(work.call), change=lambda old: _patched(work.call, old)))


def _patched(call: Call, old: JsonMap) -> JsonMap:
    if call.content_type == MERGE:
        if not isinstance(call.body, Mapping):
            raise bad_request("a merge patch is an object")
        patched: JsonMap = patches.merge_patched(old, call.body)
    else:
        try:
            patched = patches.json_patched(old, call.body if isinstance(call.body, list) else [None])
        except patches.PatchError:
            message = "the server rejected our request due to an error in our request"
            raise RequestRefused(422, "Invalid", message=message, details={}) from None
        except TypeError:
            raise bad_request("json: cannot unmarshal object into Go value of type jsonpatch.Patch") from None
    if not isinstance(patched, dict) or not isinstance(patched.get("metadata"), dict):
        raise bad_request(f"the patched document is no {call.kind.kind}")
    return object_in(_with_body(call, patched))


def _with_body(call: Call, body: JsonMap) -> Call:
    return Call(
        method=call.method,
        definition=call.definition,
        version=call.version,
        namespace=call.namespace,
        name=call.name,
        subresource=call.subresource,
        query=call.query,
        body=body,
        user=call.user,
    )


def _changed(work: Work, stored: StoredObject, *, change: Callable[[JsonMap], JsonMap]) -> JsonMap:
    """Returns the object after an update. An update without a change is not stored."""
    old = work.state.view(work.call, stored)
    document = change(old)
    check_name(work.call, document["metadata"])
    _refuse_types(work.call, document)
    _refuse_version(work.call, document, old=old)
    new = _merged_with(work, old, document=document)
    return _settled(work, old, stored=stored, new=new, shares=_shares(work, old, new=new, sent=document))


def _shares(work: Work, old: JsonMap, *, new: JsonMap, sent: JsonMap) -> ownership.Shares:
    managed = old["metadata"].get("managedFields") or []
    if not managed or sent["metadata"].get("managedFields") == []:
        return {}
    return _change(work).updated(old, new, shares=ownership.read(managed))


def _refuse_version(call: Call, document: JsonMap, *, old: JsonMap) -> None:
    """Raises RequestRefused if the body was made from another version of the object."""
    version = document["metadata"].get("resourceVersion") or ""
    if version and not version.isdecimal():
        raise internal(f'strconv.ParseUint: parsing "{version}": invalid syntax')
    if version and version != "0" and version != old["metadata"]["resourceVersion"]:
        raise modified(call.kind, call.name)


def _merged_with(work: Work, old: JsonMap, *, document: JsonMap) -> JsonMap:
    """Returns the sent document with the fields that the endpoint and the server keep from the stored one."""
    # Apply takes all of it away where every field in it was the applier's own.
    metadata = rules.kept(document.get("metadata", {}), old["metadata"])
    metadata["resourceVersion"] = old["metadata"]["resourceVersion"]
    new = strategies.kept(document | {"metadata": metadata}, old, call=work.call)
    return structural.admitted(new, work.call.definition.schemas.get(work.call.version))


def _settled(work: Work, old: JsonMap, *, stored: StoredObject, new: JsonMap, shares: ownership.Shares) -> JsonMap:
    new = _owned(new, shares)
    refuse_by_webhooks(work, new, operation="UPDATE")
    new = strategies.updated(new, old, call=work.call, now=work.state.now())
    faults = [*rules.update_faults(new["metadata"], old["metadata"]), *_faults(work.call, new)]
    refuse_invalid(work.call.kind, work.call.name, causes=faults)
    if _same(new, old) and stored.document["apiVersion"] == work.call.kind.api_version(work.call.kind.storage):
        return old
    if _ends_deletion(new, old):
        if not work.call.dry:
            work.state.drop(work.call.kind.place, work.call.key)
        return new
    return (
        new
        if work.call.dry
        else work.state.view(work.call, work.state.put(work.call.definition, new, version=work.call.version))
    )


def _same(new: JsonMap, old: JsonMap) -> bool:
    """Returns whether nothing but the times in managedFields differs."""
    return _timeless(new) == _timeless(old)


def _timeless(document: JsonMap) -> JsonMap:
    metadata = document["metadata"]
    managed = [{**entry, "time": ""} for entry in metadata.get("managedFields") or ()]
    return document | {"metadata": metadata | {"managedFields": managed}}


def _ends_deletion(new: JsonMap, old: JsonMap) -> bool:
    """Returns whether the update removed the last finalizer of an object that is being deleted."""
    before = old["metadata"]
    ends = before.get("deletionTimestamp") and before.get("deletionGracePeriodSeconds") == 0
    return bool(ends) and not new["metadata"].get("finalizers")


def _apply(work: Work) -> Answer:
    """Server-side apply: creates the object, or takes the fields that the body names."""
    if not work.call.query.get("fieldManager"):
        refuse_options("PatchOptions", [required("fieldManager", "is required for apply patch")])
    body = work.call.body
    if not isinstance(body, Mapping) or body.get("apiVersion") != work.call.api_version or not body.get("kind"):
        sent_version = body.get("apiVersion", "") if isinstance(body, Mapping) else ""
        message = "Incorrect version specified in apply patch. Specified patch version: "
        raise bad_request(f"{message}{sent_version}, expected: {work.call.api_version}")
    applied = object_in(work.call)
    _refuse_types(work.call, applied)
    if "managedFields" in (body.get("metadata") or {}):
        raise bad_request("metadata.managedFields must be nil")
    stored = work.state.store.find(work.call.kind.place, work.call.key)
    if stored is None:
        return Answer(201, _applied_new(work, applied))
    return Answer(200, _applied(work, stored, applied=applied))


def _applied_new(work: Work, applied: JsonMap) -> JsonMap:
    metadata = applied["metadata"]
    if work.call.subresource:
        raise not_found(work.call.kind, work.call.name)
    check_name(work.call, metadata)
    if metadata.get("uid"):
        why = f"uid mismatch: the provided object specified uid {metadata['uid']}, and no existing object was found"
        raise conflict(work.call.kind, work.call.name, why=why)
    work.state.check_namespace(work.call, name=work.call.name)
    applied = applied | {"metadata": {key: value for key, value in metadata.items() if key != "resourceVersion"}}
    refuse_by_webhooks(work, applied, operation="CREATE")
    new_object = _new(work, applied | {"metadata": applied["metadata"] | {"managedFields": []}})
    change = _change(work, operation="Apply")
    _, shares = change.applied({"metadata": {}}, applied, shares={}, force=True)
    new_object = _owned(new_object, shares)
    refuse_invalid(work.call.kind, work.call.name, causes=_faults(work.call, new_object))
    return (
        new_object
        if work.call.dry
        else work.state.view(work.call, work.state.put(work.call.definition, new_object, version=work.call.version))
    )


def _applied(work: Work, stored: StoredObject, *, applied: JsonMap) -> JsonMap:
    live = work.state.view(work.call, stored)
    check_name(work.call, applied["metadata"])
    shares = ownership.read(live["metadata"].get("managedFields") or ())
    if not shares:
        first = ownership.Writing(ownership.BEFORE_FIRST_APPLY, "Update", work.call.api_version)
        before = dataclasses.replace(_change(work), by=first)
        shares = before.updated(strategies.blank(live, work.call), live, shares={})
    change = _change(work, operation="Apply")
    try:
        merged, shares = change.applied(live, applied, shares=shares, force=work.call.query.get("force") == "true")
    except ApplyConflict as apply_conflict:
        raise _conflicts(apply_conflict) from None
    _refuse_version(work.call, applied, old=live)
    return _settled(work, live, stored=stored, new=_merged_with(work, live, document=merged), shares=shares)


def _conflicts(apply_conflict: ApplyConflict) -> RequestRefused:
    causes = [
        RefusalCause("FieldManagerConflict", path, f'conflict with "{manager}" using {version}')
        for manager, version, path in apply_conflict.found
    ]
    plural = "" if len(causes) == 1 else "s"
    text = "\n".join(f"{cause.message}:\n- {cause.field}" for cause in causes)
    message = f"Apply failed with {len(causes)} conflict{plural}: {text}"
    return RequestRefused(409, "Conflict", message=message, causes=causes)
