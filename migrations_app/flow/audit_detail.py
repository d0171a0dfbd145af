"""What may stand in the audit log: secrets only as an HMAC, nothing that steers a terminal, one canonical form."""

import json
import math
from typing import Any

from django.utils.crypto import salted_hmac

from migrations_app.redaction import is_secret_name, replace

LONGEST = 4000
"""Characters of one text of a detail."""
MOST = 200
"""Members of one list or object of a detail."""
DEEPEST = 8
SALT = "karpdash.audit"


def detail_text(detail: dict[str, Any]) -> str:
    """Canonical JSON of a detail: keys sorted, secrets as HMAC, only characters that can be seen (A50, T23)."""
    text = json.dumps(_clean(detail, key="", depth=0), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return "".join(sign if sign.isprintable() else json.dumps(sign)[1:-1] for sign in text)


def encoded(text: str) -> str:
    """The text with control and bidi characters as escapes: what is printed from it stays on its line."""
    return "".join(sign if sign.isprintable() else f"\\u{ord(sign):04x}" for sign in text)


def guarded(text: str) -> str:
    """The text with whatever looks like a secret as its HMAC."""
    return replace(text, sealed)


def sealed(value: str) -> str:
    """The HMAC that stands for a secret: equal secrets can be told to be equal, by this installation alone."""
    mac = salted_hmac(SALT, value.encode("utf-8", "surrogatepass"), algorithm="sha256")
    return f"hmac:{mac.hexdigest()[:32]}"


def _clean(value: Any, *, key: str, depth: int) -> Any:  # noqa: ANN401 - any JSON goes in and comes out
    if depth > DEEPEST:
        return "(deeper than is kept)"
    if isinstance(value, dict):
        members = list(value.items())[:MOST]
        return {guarded(str(name))[:200]: _clean(each, key=str(name), depth=depth + 1) for name, each in members}
    if isinstance(value, list | tuple | set | frozenset):
        return [_clean(each, key=key, depth=depth + 1) for each in list(value)[:MOST]]
    return _plain(value, key=key)


def _plain(value: Any, *, key: str) -> Any:  # noqa: ANN401 - as above
    if value is None or isinstance(value, bool):
        return value
    if is_secret_name(key) and value != "":
        return sealed(str(value))
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    text = guarded(str(value))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} (cut, {len(text)} characters)"
