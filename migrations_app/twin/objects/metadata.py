"""Validates metadata: names, labels, finalizers, owners, and fields that an update must not change.

Source: kubernetes/apimachinery@v0.20.2:pkg/api/validation/objectmeta.go.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from migrations_app.twin.objects.faults import RefusalCause, prohibited, required, wrong
from migrations_app.twin.objects.kinds import ServedKind

Tree = Mapping[str, Any]

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_PATH_NAME = re.compile(r"[^/%]+")
_KEY_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII)
_LONGEST_NAME, _LONGEST_KEY, _LONGEST_LABEL = 253, 63, 63
MAX_REMEMBERED_TEXTS = 4096
"""How many checked keys and values of labels are cached: a cluster has few different ones."""
_MAX_ANNOTATIONS = 256 * 1024
_STANDARD_FINALIZERS = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
_OF_ONE_LABEL = frozenset({("", "namespaces"), ("", "services")})
_OF_A_PATH = frozenset(
    ("rbac.authorization.k8s.io", plural) for plural in ("roles", "rolebindings", "clusterroles", "clusterrolebindings")
)
_CHECKED_LATER = frozenset({("policy", "poddisruptionbudgets")})
"""Kinds of which the server checks a name only as part of a path."""
_IMMUTABLE = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


def faults_of(metadata: Tree, kind: ServedKind) -> Iterator[RefusalCause]:
    """Returns the faults in the metadata of an object of that kind."""
    name = metadata.get("name") or ""
    if not name:
        yield required("metadata.name", "name or generateName is required")
    elif not _is_name(name, kind):
        yield wrong("metadata.name", name, why="a lowercase RFC 1123 subdomain must consist of lower case characters")
    yield from _map_faults(metadata.get("labels") or {}, "metadata.labels", values=True)
    annotations = metadata.get("annotations") or {}
    yield from _map_faults({key.lower(): "" for key in annotations}, "metadata.annotations", values=False)
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > _MAX_ANNOTATIONS:
        yield RefusalCause("FieldValueTooLong", "metadata.annotations", f"Too long: at most {_MAX_ANNOTATIONS} bytes")
    plain = kind.custom or kind.place in _CHECKED_LATER
    yield from _finalizer_faults(metadata.get("finalizers") or (), standard=not plain)
    yield from _owner_faults(metadata.get("ownerReferences") or ())


def _is_name(name: str, kind: ServedKind) -> bool:
    if kind.place in _OF_A_PATH or kind.place in _CHECKED_LATER:
        return bool(_PATH_NAME.fullmatch(name)) and name not in (".", "..")
    if kind.place in _OF_ONE_LABEL:
        return len(name) <= _LONGEST_LABEL and bool(_LABEL.fullmatch(name))
    return len(name) <= _LONGEST_NAME and bool(_SUBDOMAIN.fullmatch(name))


def _map_faults(pairs: Mapping[str, str], field: str, *, values: bool) -> Iterator[RefusalCause]:
    for key, value in pairs.items():
        if not _is_qualified(key):
            yield wrong(field, key, why="name part must consist of alphanumeric characters, '-', '_' or '.'")
        if values and value and not _is_label_value(value):
            yield wrong(field, value, why="a valid label must be an empty string or consist of alphanumeric characters")


@lru_cache(maxsize=MAX_REMEMBERED_TEXTS)
def _is_label_value(value: str) -> bool:
    return len(value) <= _LONGEST_LABEL and bool(_KEY_NAME.fullmatch(value))


@lru_cache(maxsize=MAX_REMEMBERED_TEXTS)
def _is_qualified(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > _LONGEST_NAME or not _SUBDOMAIN.fullmatch(prefix)):
        return False
    return len(name) <= _LONGEST_KEY and bool(_KEY_NAME.fullmatch(name))


def _finalizer_faults(finalizers: Any, *, standard: bool) -> Iterator[RefusalCause]:  # noqa: ANN401 - a list of texts
    for place, name in enumerate(finalizers):
        if not _is_qualified(name):
            yield wrong(f"metadata.finalizers[{place}]", name, why="name part must consist of alphanumeric characters")
        elif standard and "/" not in name and name not in _STANDARD_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            yield wrong(f"metadata.finalizers[{place}]", name, why=why)
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        why = "finalizers orphan and foregroundDeletion cannot be both set"
        yield wrong("metadata.finalizers", list(finalizers), why=why)


def _owner_faults(owners: Any) -> Iterator[RefusalCause]:  # noqa: ANN401 - a list of references, if it is one
    for owner in owners:
        if not owner.get("apiVersion", "").rpartition("/")[2]:
            yield wrong(
                "metadata.ownerReferences.apiVersion", owner.get("apiVersion", ""), why="version must not be empty"
            )
        for key in ("kind", "name", "uid"):
            if not owner.get(key):
                yield wrong(f"metadata.ownerReferences.{key}", owner.get(key, ""), why=f"{key} must not be empty")
    controllers = [owner for owner in owners if owner.get("controller")]
    if len(controllers) > 1:
        yield wrong(
            "metadata.ownerReferences", len(controllers), why="Only one reference can have Controller set to true"
        )


def update_faults(new: Tree, old: Tree) -> Iterator[RefusalCause]:
    """Returns the changes of metadata that an update must not make."""
    if old.get("deletionTimestamp"):
        added = [
            finalizer for finalizer in new.get("finalizers") or () if finalizer not in (old.get("finalizers") or ())
        ]
        if added:
            why = f"no new finalizers can be added if the object is being deleted, found new finalizers {added}"
            yield prohibited("metadata.finalizers", why)
    for key in _IMMUTABLE:
        if new.get(key) != old.get(key):
            yield wrong(f"metadata.{key}", new.get(key), why="field is immutable")


def kept(new: Tree, old: Tree) -> dict[str, Any]:
    """Returns the new metadata with the fields that no update changes; they come from the old one if empty or only
    informative."""
    result = {key: value for key, value in new.items() if value is not None and key not in ("selfLink", "clusterName")}
    for key in ("creationTimestamp", "generation"):
        _copy_or_drop(old, result, key=key)
    if old.get("deletionTimestamp"):
        _copy_or_drop(old, result, key="deletionTimestamp")
        if result.get("deletionGracePeriodSeconds") is None:
            _copy_or_drop(old, result, key="deletionGracePeriodSeconds")
    for key in ("uid", "name", "namespace"):
        if not result.get(key):
            _copy_or_drop(old, result, key=key)
    for key in ("labels", "annotations", "finalizers", "ownerReferences"):
        if key in result and not result[key]:
            del result[key]
    return result


def _copy_or_drop(old: Tree, result: dict[str, Any], *, key: str) -> None:
    if key in old:
        result[key] = old[key]
    else:
        result.pop(key, None)
