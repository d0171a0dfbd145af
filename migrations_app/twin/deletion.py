"""Deleting objects: preconditions, grace periods of pods, finalizers, and what each propagation leaves behind.

Sources: kubernetes/apiserver@v0.20.2:pkg/registry/generic/registry/store.go (Delete), pkg/registry/rest/delete.go.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from migrations_app.manifests import JsonMap
from migrations_app.twin.admission import refuse_by_webhooks
from migrations_app.twin.answers import Answer, RequestRefused, bad_request, refuse_options, success
from migrations_app.twin.calls import Call
from migrations_app.twin.objects.faults import RefusalCause, not_supported, wrong
from migrations_app.twin.objects.kinds import CRD
from migrations_app.twin.objects.wire_types import DeleteOptions, decode_error
from migrations_app.twin.state import NAMESPACES, TIME_FORMAT, Work
from migrations_app.twin.store import StoredObject

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
_POLICIES = ("Foreground", "Background", "Orphan")
_POD = ("", "pods")
_ENDED = ("Succeeded", "Failed")
_WITHOUT_COLLECTION = frozenset({("", "events"), ("coordination.k8s.io", "leases")})


def delete(work: Work) -> Answer:
    """DELETE of an object."""
    options = _options(work.call)
    stored = work.state.find(work.call)
    _refuse_preconditions(work.call, stored, options=options)
    refuse_by_webhooks(work, stored.document, operation="DELETE")
    old = work.state.view(work.call, stored)
    new, at_once = _after_deletion(work, old, options=options)
    if not at_once:
        return Answer(200, new if new == old else work.stored(new))
    if not work.call.dry:
        work.state.drop(work.call.kind.place, work.call.key)
    if work.call.kind.returned:
        return Answer(200, new)
    group = {"group": work.call.kind.group} if work.call.kind.group else {}
    return Answer(200, success({"name": work.call.name, **group, "kind": work.call.kind.plural, "uid": stored.uid}))


def _options(call: Call) -> JsonMap:
    """The options of the deletion: in the body, or in the query where there is none. Raises RequestRefused."""
    options = call.body if call.body is not None else _from_query(call.query)
    odd = decode_error(options, DeleteOptions)
    if odd:
        raise bad_request(f"the options of a deletion cannot be handled: {odd}")
    causes: list[RefusalCause] = []
    policy = options.get("propagationPolicy")
    if policy is not None and policy not in _POLICIES:
        causes.append(not_supported("propagationPolicy", policy, choice=(*_POLICIES, "nil")))
    if policy is not None and options.get("orphanDependents") is not None:
        causes.append(
            wrong("propagationPolicy", policy, why="orphanDependents and propagationPolicy cannot be both set")
        )
    dry = options.get("dryRun") or []
    if dry and dry != ["All"]:
        causes.append(not_supported("dryRun", dry, choice=["All"]))
    if causes:
        refuse_options("DeleteOptions", causes)
    return dict(options)


def _from_query(query: Mapping[str, str]) -> JsonMap:
    options: JsonMap = {"propagationPolicy": query["propagationPolicy"]} if query.get("propagationPolicy") else {}
    seconds = query.get("gracePeriodSeconds", "")
    return options | ({"gracePeriodSeconds": int(seconds)} if seconds.isdecimal() else {})


def _refuse_preconditions(call: Call, stored: StoredObject, *, options: JsonMap) -> None:
    preconditions, metadata = options.get("preconditions") or {}, stored.document["metadata"]
    pairs = (("uid", "UID", "deleted and then recreated"), ("resourceVersion", "ResourceVersion", "modified"))
    for key, name, happened in pairs:
        if preconditions.get(key) and preconditions[key] != metadata[key]:
            why = (
                f"the {name} in the precondition ({preconditions[key]}) does not match the {name} in record "
                f"({metadata[key]}). The object might have been {happened}"
            )
            message = f'Operation cannot be fulfilled on {call.kind.qualified} "{call.name}": {why}'
            group = {"group": call.kind.group} if call.kind.group else {}
            details = {"name": call.name, **group, "kind": call.kind.kind}
            raise RequestRefused(409, "Conflict", message=message, details=details)


def _after_deletion(work: Work, old: JsonMap, *, options: JsonMap) -> tuple[JsonMap, bool]:
    """Returns the object after the deletion, and whether it is removed at once."""
    metadata, now = dict(old["metadata"]), work.state.now()
    grace = _grace(work, old, options=options)
    if grace is None:
        return old, False
    if not _waits_for_cleanup(work):
        metadata["finalizers"] = _finalizers(work.call, metadata, options=options)
    elif CLEANUP not in (metadata.get("finalizers") or ()):
        metadata["finalizers"] = [*(metadata.get("finalizers") or ()), CLEANUP]
    if not metadata["finalizers"]:
        del metadata["finalizers"]
    if grace:
        metadata |= _shortened(metadata, grace, now=now)
        return old | {"metadata": metadata}, False
    if work.call.kind.place == NAMESPACES:
        status = (old.get("status") or {}) | {"phase": "Terminating"}
        metadata.setdefault("deletionTimestamp", now)
        return old | {"metadata": metadata, "status": status}, False
    if "finalizers" not in metadata:
        return _deleted_document(work, old, metadata=metadata, now=now), True
    if "deletionGracePeriodSeconds" not in metadata and metadata.get("generation") and not _waits_for_cleanup(work):
        metadata["generation"] += 1
    until = metadata.get("deletionTimestamp")
    metadata["deletionTimestamp"] = now if until is None or until > now else until
    if not _waits_for_cleanup(work):
        metadata["deletionGracePeriodSeconds"] = 0
    return old | {"metadata": metadata}, False


def _deleted_document(work: Work, old: JsonMap, *, metadata: JsonMap, now: str) -> JsonMap:
    """Returns the object in the response to an immediate deletion; a pod has the end of its grace period."""
    if work.call.kind.place != _POD:
        return old
    return old | {"metadata": metadata | {"deletionTimestamp": now, "deletionGracePeriodSeconds": 0}}


def _waits_for_cleanup(work: Work) -> bool:
    return work.call.kind.place == CRD.place


def _grace(work: Work, old: JsonMap, *, options: JsonMap) -> int | None:
    """Returns the seconds that a pod has left, 0 for other kinds; None if it is being deleted already without a
    change."""
    if work.call.kind.place != _POD:
        return 0
    spec, metadata = old.get("spec") or {}, old["metadata"]
    requested = options.get("gracePeriodSeconds")
    if "deletionTimestamp" in metadata:
        running = metadata.get("deletionGracePeriodSeconds")
        if running is None:
            return 0
        return None if requested is None or requested >= running else max(requested, 0)
    seconds = requested if requested is not None else spec.get("terminationGracePeriodSeconds", 30)
    ended = (old.get("status") or {}).get("phase") in _ENDED
    return 0 if ended or not spec.get("nodeName") else max(int(seconds), 0)


def _shortened(metadata: JsonMap, grace: int, *, now: str) -> JsonMap:
    """The end of the grace period, counted from the first deletion."""
    begun = datetime.fromisoformat(metadata.get("deletionTimestamp") or now)
    begun -= timedelta(seconds=int(metadata.get("deletionGracePeriodSeconds") or 0))
    until = (begun + timedelta(seconds=grace)).strftime(TIME_FORMAT)
    return {"deletionTimestamp": until, "deletionGracePeriodSeconds": grace}


def _finalizers(call: Call, metadata: JsonMap, *, options: JsonMap) -> list[str]:
    """Returns the finalizers, with those that the propagation policy adds for the garbage collector."""
    present = list(metadata.get("finalizers") or ())
    if call.kind.place in _WITHOUT_COLLECTION:
        return present
    policy = _propagation(present, options)
    others = [name for name in present if name not in (ORPHAN, FOREGROUND)]
    collector = {"Orphan": [ORPHAN], "Foreground": [FOREGROUND]}.get(policy, [])
    return present if set(present) == {*others, *collector} else [*others, *collector]


def _propagation(finalizers: list[str], options: JsonMap) -> str:
    if options.get("orphanDependents") is not None:
        return "Orphan" if options["orphanDependents"] else "Background"
    if options.get("propagationPolicy"):
        return str(options["propagationPolicy"])
    if ORPHAN in finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in finalizers else "Background"
