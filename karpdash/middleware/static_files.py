"""Serves static files under URLs with a hash of their content, and compresses pages.

Files are served from their source folder; the hash in the URL is all that a browser needs to cache a file.
"""

import hashlib
from collections.abc import Callable
from functools import cache
from http import HTTPStatus
from pathlib import Path

from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import StaticFilesStorage
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

STATIC = "/static/"
UNCOMPRESSED = ("/api/", "/metrics")
"""Paths whose answers are not compressed: a compressed answer has a weak ETag, which no If-Match matches."""


class HashedAddresses(StaticFilesStorage):
    """Adds the hash of a file's content to its URL."""

    def url(self, name: str | None) -> str:
        address: str = super().url(name)
        digest = _digest(name or "")
        return f"{address}?v={digest}" if digest else address


@cache
def _digest(name: str) -> str:
    """Returns the first 12 digits of the file's SHA-256; empty if there is no such file."""
    path = finders.find(name) if name else None
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12] if isinstance(path, str) else ""


class OtherReleases:
    """Serves files under the hash of another release. While two releases run side by side, a process may be asked for a
    file with the other release's hash: it answers with its own content and forbids caching.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        # Only existing files: otherwise the cache of hashes would grow with every requested name.
        exists = request.path.startswith(STATIC) and response.status_code < HTTPStatus.BAD_REQUEST
        if exists and (version := request.GET.get("v", "")) and version != _digest(request.path.removeprefix(STATIC)):
            response["Cache-Control"] = "no-store"
        return response


class CompressedPages(GZipMiddleware):
    """Compresses pages and static files; Django pads them at random, so that their size reveals nothing (BREACH)."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if request.path.startswith(UNCOMPRESSED):
            return response
        compressed: HttpResponseBase = super().process_response(request, response)
        return compressed
