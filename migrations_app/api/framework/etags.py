"""Strong entity tags: what a client has read, and whether it still holds."""

import hashlib
import re

from rest_framework.request import Request

from migrations_app.api.framework.problem_codes import Problem

_TAG = re.compile(r'"[!#-~]*"')


def of_bytes(body: bytes) -> str:
    """The tag of exactly these bytes."""
    return f'"{hashlib.sha256(body).hexdigest()[:40]}"'


def of_version(version: int) -> str:
    """The tag of a row that counts its changes."""
    return f'"v{version}"'


def unchanged(request: Request, tag: str) -> bool:
    """Whether the client has this one already (If-None-Match compares weakly)."""
    given = _listed(request.headers.get("If-None-Match", ""))
    return "*" in given or tag in {one.removeprefix("W/") for one in given}


def require_match(request: Request, tag: str) -> None:
    """Raises Problem `if_match_needed` without an If-Match, `stale` with one that does not hold."""
    given = _listed(request.headers.get("If-Match", ""))
    if not given:
        raise Problem("if_match_needed")
    if not all(one == "*" or _TAG.fullmatch(one) for one in given):
        raise Problem("bad_input", "If-Match holds entity tags in quotation marks")
    if "*" not in given and tag not in given:
        raise Problem("stale")


def _listed(header: str) -> list[str]:
    return [one.strip() for one in header.split(",") if one.strip()]
