"""Strong ETags, with which a client names the version that it has read."""

import hashlib
import re

from rest_framework.request import Request

from migrations_app.api.framework.problem_codes import Problem

_TAG = re.compile(r'"[!#-~]*"')


def of_bytes(body: bytes) -> str:
    """Returns the ETag of exactly these bytes."""
    return f'"{hashlib.sha256(body).hexdigest()[:40]}"'


def of_version(version: int) -> str:
    """Returns the ETag of a row that counts its changes."""
    return f'"v{version}"'


def unchanged(request: Request, tag: str) -> bool:
    """Whether the client already has this version (If-None-Match compares weakly)."""
    tags = _split_tags(request.headers.get("If-None-Match", ""))
    return "*" in tags or tag in {known_tag.removeprefix("W/") for known_tag in tags}


def require_match(request: Request, tag: str) -> None:
    """Raises Problem `if_match_needed` without an If-Match, `stale` if it names another version."""
    tags = _split_tags(request.headers.get("If-Match", ""))
    if not tags:
        raise Problem("if_match_needed")
    if not all(sent_tag == "*" or _TAG.fullmatch(sent_tag) for sent_tag in tags):
        raise Problem("bad_input", "If-Match holds entity tags in quotation marks")
    if "*" not in tags and tag not in tags:
        raise Problem("stale")


def _split_tags(header: str) -> list[str]:
    return [part.strip() for part in header.split(",") if part.strip()]
