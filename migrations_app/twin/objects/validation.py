"""Validation of an object by the structural schema of its CustomResourceDefinition, with the causes of a real server.

CEL rules (x-kubernetes-validations) are not evaluated: docs/twin.md says so.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Any

from migrations_app.twin.objects.faults import RefusalCause, not_supported, repeated, required, wrong
from migrations_app.twin.objects.structural import EMBEDDED, INT_OR_STRING, LIST_KEYS, LIST_TYPE, Schema

_NAMES = {bool: "boolean", str: "string", int: "integer", float: "number", list: "array", dict: "object"}
_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


def faults_of(document: Mapping[str, Any], schema: Schema | None) -> Iterator[RefusalCause]:
    """Returns what the schema refuses in the object; apiVersion, kind and metadata have their own rules."""
    if schema is None:
        return
    head = ("apiVersion", "kind", "metadata")
    body = {key: value for key, value in document.items() if key not in head}
    properties = {key: value for key, value in (schema.get("properties") or {}).items() if key not in head}
    needed = [key for key in schema.get("required") or () if key not in head]
    yield from _faults(body, {**schema, "properties": properties, "required": needed}, at="")


def _faults(value: Any, schema: Schema, *, at: str) -> Iterator[RefusalCause]:  # noqa: ANN401 - plain JSON
    if value is None:
        if not schema.get("nullable") and schema.get("type"):
            yield wrong(at, "null", why=f'{at} in body must be of type {schema["type"]}: "null"')
        return
    type_name = _type_of(value)
    expected = ("integer", "string") if schema.get(INT_OR_STRING) else tuple(filter(None, [schema.get("type")]))
    if expected and type_name not in expected and not (type_name == "integer" and "number" in expected):
        yield wrong(at, type_name, why=f'{at} in body must be of type {",".join(expected)}: "{type_name}"')
        return
    if "enum" in schema and value not in schema["enum"]:
        yield not_supported(at, value, choice=schema["enum"])
    yield from _combined(value, schema, at=at)
    if isinstance(value, Mapping):
        yield from _map_faults(value, schema, at=at)
    elif isinstance(value, list):
        yield from _list_faults(value, schema, at=at)
    elif isinstance(value, str):
        yield from _text_faults(value, schema, at=at)
    elif not isinstance(value, bool):
        yield from _number_faults(value, schema, at=at)


def _type_of(value: Any) -> str:  # noqa: ANN401 - plain JSON
    if isinstance(value, float) and value.is_integer():
        return "integer"
    return _NAMES.get(type(value), "object")


def _combined(value: Any, schema: Schema, *, at: str) -> Iterator[RefusalCause]:  # noqa: ANN401 - plain JSON
    for inner in schema.get("allOf") or ():
        yield from _faults(value, inner, at=at)
    choice = () if schema.get(INT_OR_STRING) else schema.get("anyOf") or ()
    if choice and all(any(_faults(value, inner, at=at)) for inner in choice):
        yield wrong(at, "", why=f"{at} in body must validate at least one schema (anyOf)")
    if (choice := schema.get("oneOf")) and sum(not any(_faults(value, inner, at=at)) for inner in choice) != 1:
        yield wrong(at, "", why=f"{at} in body must validate one and only one schema (oneOf)")
    if "not" in schema and not any(_faults(value, schema["not"], at=at)):
        yield wrong(at, "", why=f"{at} in body must not validate the schema (not)")


def _map_faults(value: Mapping[str, Any], schema: Schema, *, at: str) -> Iterator[RefusalCause]:
    properties, other_fields = schema.get("properties") or {}, schema.get("additionalProperties")
    for key in schema.get("required") or ():
        if key not in value:
            yield required(_below(at, key))
    if len(value) < schema.get("minProperties", 0):
        yield wrong(at, len(value), why=f"{at} in body should have at least {schema['minProperties']} properties")
    if "maxProperties" in schema and len(value) > schema["maxProperties"]:
        yield wrong(at, len(value), why=f"{at} in body should have at most {schema['maxProperties']} properties")
    for key, member in value.items():
        inner = properties.get(key, other_fields)
        if isinstance(inner, Mapping) and not (schema.get(EMBEDDED) and key == "metadata"):
            yield from _faults(member, inner, at=_below(at, key))


def _below(at: str, key: str) -> str:
    return f"{at}.{key}" if at else key


def _list_faults(value: list[Any], schema: Schema, *, at: str) -> Iterator[RefusalCause]:
    if len(value) < schema.get("minItems", 0):
        yield wrong(at, len(value), why=f"{at} in body should have at least {schema['minItems']} items")
    if "maxItems" in schema and len(value) > schema["maxItems"]:
        yield wrong(at, len(value), why=f"{at} in body should have at most {schema['maxItems']} items")
    inner = schema.get("items")
    if isinstance(inner, Mapping):
        for position, item in enumerate(value):
            yield from _faults(item, inner, at=f"{at}[{position}]")
    if schema.get(LIST_TYPE) in ("set", "map"):
        yield from _repeated(value, schema, at=at)


def _repeated(value: list[Any], schema: Schema, *, at: str) -> Iterator[RefusalCause]:
    seen: list[Any] = []
    for position, item in enumerate(value):
        keys = schema.get(LIST_KEYS) or ()
        identity = {key: item.get(key) for key in keys} if keys and isinstance(item, Mapping) else item
        if identity in seen:
            yield repeated(f"{at}[{position}]", identity)
        seen.append(identity)


def _text_faults(value: str, schema: Schema, *, at: str) -> Iterator[RefusalCause]:
    if "maxLength" in schema and len(value) > schema["maxLength"]:
        yield wrong(at, value, why=f"{at} in body should be at most {schema['maxLength']} chars long")
        return
    if len(value) < schema.get("minLength", 0):
        yield wrong(at, value, why=f"{at} in body should be at least {schema['minLength']} chars long")
        return
    if "pattern" in schema and not _pattern(schema["pattern"]).search(value):
        yield wrong(at, value, why=f"{at} in body should match '{schema['pattern']}'")
    if schema.get("format") == "date-time" and not _is_date_time(value):
        yield wrong(at, value, why=f'{at} in body must be of type date-time: "{value}"')


def _is_date_time(value: str) -> bool:
    if not _DATE_TIME.fullmatch(value):
        return False
    try:
        datetime.fromisoformat(value.upper())
    except ValueError:
        return False
    return True


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """Returns the compiled pattern; `$` is the end of the text as in Go. A pattern that only Go can compile refuses
    nothing."""
    ends = text.endswith("$") and not text.endswith("\\$")
    try:
        return re.compile(rf"{text[:-1]}\Z" if ends else text, re.ASCII)
    except re.error:
        return re.compile("")


def _number_faults(value: float, schema: Schema, *, at: str) -> Iterator[RefusalCause]:
    maximum, minimum, step = schema.get("maximum"), schema.get("minimum"), schema.get("multipleOf")
    if maximum is not None and (value > maximum or (schema.get("exclusiveMaximum") and value == maximum)):
        yield wrong(at, value, why=f"{at} in body should be less than or equal to {maximum}")
    if minimum is not None and (value < minimum or (schema.get("exclusiveMinimum") and value == minimum)):
        yield wrong(at, value, why=f"{at} in body should be greater than or equal to {minimum}")
    if step and value % step:
        yield wrong(at, value, why=f"{at} in body should be a multiple of {step}")
