"""Reads a CRD with what only its raw text tells: which telling fields its schemas have, and who wrote the conversion.

Schemas are 100 kB each, so nothing of them is kept but the paths that `crd_fields` names.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from migrations_app.inventory.objects import CRD, CRDVersion
from migrations_app.inventory.parse import decoder, read_one
from migrations_app.inventory.seen import Quarantined
from migrations_app.karpenter.crd_fields import has, paths_of

CONVERSION = "f:conversion"


class _Version(msgspec.Struct, frozen=True):
    name: str = ""
    schema: Any = None


class _Spec(msgspec.Struct, frozen=True):
    versions: list[_Version] = []


class _Field(msgspec.Struct, frozen=True, rename="camel"):
    manager: str = ""
    fields_v1: Any = msgspec.field(default=None, name="fieldsV1")


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    managed_fields: list[_Field] = []


class _Whole(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()


def read_crd(item: msgspec.Raw) -> CRD | Quarantined:
    """The CRD with `fields` of its versions and `conversion_owners`; Quarantined as by `read_one`."""
    found = read_one(item, CRD, take=decoder(CRD).decode)
    return found if isinstance(found, Quarantined) else with_marks(found, bytes(item))


def with_marks(crd: CRD, body: bytes) -> CRD:
    """The same CRD with what its text tells beside the projection; unchanged where that part of it is odd."""
    try:
        whole = msgspec.json.decode(body, type=_Whole)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return crd
    schemas = {version.name: version.schema for version in whole.spec.versions}
    versions = [_marked(crd, version, schema=schemas.get(version.name)) for version in crd.spec.versions or ()]
    owners = [field.manager for field in whole.metadata.managed_fields if _owns_conversion(field.fields_v1)]
    spec = msgspec.structs.replace(crd.spec, versions=versions)
    return msgspec.structs.replace(crd, spec=spec, conversion_owners=owners)


def _marked(crd: CRD, version: CRDVersion, *, schema: object) -> CRDVersion:
    root = schema.get("openAPIV3Schema") if isinstance(schema, dict) else None
    if not isinstance(root, dict) or not root.get("properties"):
        return version
    return msgspec.structs.replace(
        version, fields=[path for path in paths_of(crd.name, version.name) if has(root, path)]
    )


def _inner(here: object, key: str) -> Any:  # noqa: ANN401 - plain JSON
    return here.get(key) if isinstance(here, dict) else None


def _owns_conversion(fields: object) -> bool:
    return any(key == CONVERSION for key in _keys(_inner(fields, "f:spec")))


def _keys(tree: object) -> Iterator[str]:
    yield from tree if isinstance(tree, dict) else ()
