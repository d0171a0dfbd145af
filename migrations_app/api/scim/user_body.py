"""Parses the bodies of SCIM users (people): whole for POST and PUT, operations for PATCH, in the variants of Okta and
Entra ID.

Attributes that karpdash does not store, such as a title or a department, are ignored, as RFC 7644 (3.3) allows.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from migrations_app.api.scim.endpoint import ScimError
from migrations_app.api.scim.paths import plain_name, read_path
from migrations_app.manifests import JsonMap
from migrations_app.use_cases.accounts.directory_people import PersonAttributes

PATCH_OP = "urn:ietf:params:scim:api:messages:2.0:patchop"
MAX_OPERATIONS = 1000
_TEXTS = {
    "username": "user_name",
    "externalid": "external_id",
    "displayname": "display",
    "name.givenname": "given",
    "name.familyname": "family",
}
_OTHER_KIND = re.compile(r'\btype\s+eq\s+"(?!work")', re.I)
"""Paths of e-mail addresses that are not stored, as in `emails[type eq "home"]`: only the one for work is."""
READ_ONLY = ("id", "meta", "groups", "schemas")


def person_of_body(body: Mapping[str, Any], *, replace: bool) -> PersonAttributes:
    """Returns the person of a POST or PUT. Raises ScimError."""
    fields: JsonMap = {"external_id": "", "given": "", "family": "", "display": "", "email": ""} if replace else {}
    for name, value in body.items():
        fields |= _attribute(plain_name(name), value)
    if not fields.get("user_name"):
        raise ScimError("userName is needed", kind="invalidValue")
    return PersonAttributes(**fields)


def person_of_patch(body: Mapping[str, Any]) -> PersonAttributes:
    """Returns the changes of a PATCH: its operations, one after the other. Raises ScimError."""
    fields: JsonMap = {}
    for verb, path, value in operations(body):
        if not path:
            fields |= _values(value)
        elif verb == "remove":
            fields |= _removed(path)
        else:
            fields |= _at_path(path, value)
    return PersonAttributes(**fields)


def operations(body: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Returns verb in lower case, path and value of each operation. Raises ScimError."""
    content = {name.lower(): value for name, value in body.items()}
    rows = content.get("operations")
    schemas = content.get("schemas")
    if isinstance(schemas, list) and schemas and PATCH_OP not in [str(schema).lower() for schema in schemas]:
        raise ScimError("a PatchOp is needed", kind="invalidSyntax")
    if not isinstance(rows, list) or not rows or len(rows) > MAX_OPERATIONS:
        raise ScimError(f"1 to {MAX_OPERATIONS} operations are needed", kind="invalidSyntax")
    for row in rows:
        operation = {str(name).lower(): value for name, value in row.items()} if isinstance(row, dict) else {}
        verb, path = str(operation.get("op", "")).lower(), operation.get("path") or ""
        if verb not in ("add", "replace", "remove") or not isinstance(path, str):
            raise ScimError("an operation is add, replace or remove", kind="invalidSyntax")
        if verb == "remove" and not path:
            raise ScimError("what is removed needs a path", kind="noTarget")
        if verb != "remove" and "value" not in operation:
            raise ScimError("a value is needed", kind="invalidValue")
        yield verb, path, operation.get("value")


def unwrapped(value: Any) -> Any:  # noqa: ANN401 - a JSON value
    """Returns the value itself if a client wraps it as `[{"value": ...}]`, as Entra ID did."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) and "value" in value[0]:
        return value[0]["value"]
    return value


def boolean_of(value: Any) -> bool:  # noqa: ANN401 - a JSON value
    """Returns the value of a boolean; Entra ID writes it as the text `"False"`. Raises ScimError."""
    single = unwrapped(value)
    if isinstance(single, bool):
        return single
    if isinstance(single, str) and single.lower() in ("true", "false"):
        return single.lower() == "true"
    raise ScimError("active is true or false", kind="invalidValue")


def text_of(name: str, value: Any) -> str:  # noqa: ANN401 - a JSON value
    """Returns the text of an attribute; null becomes an empty text. Raises ScimError."""
    single = unwrapped(value)
    if single is None:
        return ""
    if not isinstance(single, str):
        raise ScimError(f"{name} is a text", kind="invalidValue")
    return single.strip()


def _values(value: Any) -> JsonMap:  # noqa: ANN401 - a JSON value
    """Returns the attributes of an operation without a path; their names may be paths themselves."""
    if not isinstance(value, dict):
        raise ScimError("without a path the value is an object", kind="invalidValue")
    attributes: JsonMap = {}
    for name, item in value.items():
        attributes |= _at_path(str(name), item) if plain_name(str(name)) not in READ_ONLY else {}
    return attributes


def _at_path(path: str, value: Any) -> JsonMap:  # noqa: ANN401 - a JSON value
    name, bracket, part = read_path(path)
    if name in READ_ONLY:
        raise ScimError(f"{name} is set by karpdash", kind="mutability")
    if name in ("emails", "emails.value"):
        if _OTHER_KIND.search(bracket):
            return {}
        bare = bool(bracket) or name == "emails.value"
        if bare and part not in ("", "value"):
            return {}
        return {"email": text_of("emails", value)} if bare else {"email": _email(value)}
    return {} if bracket else _attribute(name, value)


def _attribute(name: str, value: Any) -> JsonMap:  # noqa: ANN401 - a JSON value
    if name in _TEXTS:
        text = text_of(name, value)
        if name == "username" and not text:
            raise ScimError("userName is needed", kind="invalidValue")
        return {_TEXTS[name]: text}
    if name == "active":
        return {"active": boolean_of(value)}
    if name == "emails":
        return {"email": _email(value)}
    if name == "name":
        return _name(value)
    return {}


def _name(value: Any) -> JsonMap:  # noqa: ANN401 - a JSON value
    if value is None:
        return {"given": "", "family": ""}
    if not isinstance(value, dict):
        raise ScimError("name is an object", kind="invalidValue")
    attributes: JsonMap = {}
    for name, item in value.items():
        attributes |= _attribute(f"name.{str(name).lower()}", item)
    return attributes


def _email(value: Any) -> str:  # noqa: ANN401 - a JSON value
    """Returns the primary address, else the one for work, else the first; empty without any."""
    rows = value if isinstance(value, list) else [value] if isinstance(value, dict) else []
    if value is not None and not isinstance(value, list | dict):
        raise ScimError("emails is a list", kind="invalidValue")
    addresses = [row for row in rows if isinstance(row, dict) and row.get("value")]
    if not addresses:
        return ""
    first = min(addresses, key=lambda row: (not _is_primary(row), str(row.get("type", "")).lower() != "work"))
    return text_of("emails", first["value"])


def _is_primary(row: Mapping[str, Any]) -> bool:
    return str(row.get("primary", "")).lower() == "true"


def _removed(path: str) -> JsonMap:
    name, bracket, part = read_path(path)
    if name in ("username", "active"):
        raise ScimError(f"{name} cannot be removed", kind="invalidValue")
    if name in READ_ONLY:
        raise ScimError(f"{name} is set by karpdash", kind="mutability")
    if name in ("emails", "emails.value"):
        passed_over = _OTHER_KIND.search(bracket) or (bracket and part not in ("", "value"))
        return {} if passed_over else {"email": ""}
    return {"given": "", "family": ""} if name == "name" else {_TEXTS[name]: ""} if name in _TEXTS else {}
