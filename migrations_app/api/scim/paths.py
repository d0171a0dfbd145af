"""Parses filters and paths of RFC 7644, in the forms that directories send: `attribute eq "value"`, joined by `and`."""

import json
import re
from collections.abc import Collection
from typing import Any

from migrations_app.api.scim.endpoint import ScimError

CORE = ("urn:ietf:params:scim:schemas:core:2.0:user:", "urn:ietf:params:scim:schemas:core:2.0:group:")
LONGEST_FILTER = 2000
MAX_TERMS = 10
_TERM = re.compile(
    r"""\s*([A-Za-z0-9:._$-]+(?:\[[^\]"]*"(?:[^"\\]|\\.)*"\s*\](?:\.[A-Za-z]+)?)?)\s+eq\s+("(?:[^"\\]|\\.)*"|true|false|-?\d+)\s*""",
    re.I,
)
_AND = re.compile(r"and\s", re.I)
_PATH = re.compile(r"""([A-Za-z$][A-Za-z0-9:._$-]*)(?:\[(.*)\](?:\.([A-Za-z]+))?)?""", re.DOTALL)
_VALUE_OF = re.compile(r"""([A-Za-z]+)\[[^\]]*\](\.[A-Za-z]+)?""")


def read_filter(text: str, *, filterable: Collection[str]) -> list[tuple[str, Any]]:
    """Returns pairs of attribute, in lower case, and value. Raises ScimError `invalidFilter` for anything else."""
    pairs: list[tuple[str, Any]] = []
    position = 0
    while position < len(text) or not pairs:
        term = _TERM.match(text, position) if len(text) <= LONGEST_FILTER else None
        if term is None:
            raise ScimError('filters are `attribute eq "value"`, joined by `and`', kind="invalidFilter")
        name, value = plain_name(_VALUE_OF.sub(r"\1\2", term[1])), _literal(term[2])
        if name not in filterable:
            raise ScimError(f"there is no filter for {term[1][:60]}", kind="invalidFilter")
        pairs.append((name, _typed(name, value)))
        if len(pairs) > MAX_TERMS:
            raise ScimError(f"a filter has at most {MAX_TERMS} parts", kind="invalidFilter")
        position = term.end()
        if position < len(text):
            conjunction = _AND.match(text, position)
            if conjunction is None:
                raise ScimError("only `and` joins parts of a filter", kind="invalidFilter")
            position = conjunction.end()
    return pairs


def read_path(text: str) -> tuple[str, str, str]:
    """Returns the attribute in lower case, the filter in brackets and the sub-attribute. Raises ScimError
    `invalidPath`.
    """
    match = _PATH.fullmatch(text.strip()) if len(text) <= LONGEST_FILTER else None
    if match is None:
        raise ScimError("is no path of an attribute", kind="invalidPath")
    return plain_name(match[1]), match[2] or "", (match[3] or "").lower()


def plain_name(text: str) -> str:
    """Returns the attribute in lower case, without the URN of a core schema before it."""
    name = text.lower()
    return next((name.removeprefix(schema) for schema in CORE if name.startswith(schema)), name)


def _literal(text: str) -> Any:  # noqa: ANN401 - a JSON value
    try:
        value = json.loads(text if text.startswith('"') else text.lower())
        encoded = str(value).encode()
    except ValueError:  # among them half a character, which no database takes
        raise ScimError("the value of the filter is no JSON", kind="invalidFilter") from None
    if b"\0" in encoded:
        raise ScimError("no value has the character 0", kind="invalidFilter")
    return value


def _typed(name: str, value: Any) -> Any:  # noqa: ANN401 - a JSON value
    """Returns the value in the attribute's type; an id that is no number matches nothing."""
    if name == "active":
        return str(value).lower() == "true"
    if name in ("id", "members", "members.value"):
        return identifier(value)
    return str(value)


def identifier(value: object) -> int:
    """Returns the id in a text; -1, which no row has, if the text is not an id."""
    text = str(value)
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else -1
