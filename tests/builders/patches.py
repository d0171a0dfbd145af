"""The words of kubectl for a patch that is refused once the object has something else than was seen."""

import json
import shlex
from typing import Any


def patch_words(*fields: tuple[str, Any, Any]) -> str:
    """Type and body of the patch. Each field: its JSON pointer, what was seen there, and what is written; None for
    absent."""
    return f"--type=json -p {shlex.quote(json.dumps(operations(*fields), separators=(',', ':')))}"


def operations(*fields: tuple[str, Any, Any]) -> list[dict[str, Any]]:
    """The operations of that patch."""
    made: list[dict[str, Any]] = []
    for path, seen, written in fields:
        made.append({"op": "test", "path": path, "value": seen})
        if written is not None:
            made.append({"op": "add" if seen is None else "replace", "path": path, "value": written})
        elif seen is not None:
            made.append({"op": "remove", "path": path})
    return made
