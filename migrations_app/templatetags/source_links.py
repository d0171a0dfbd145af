"""Turns sources of rules into links: a file or an issue of a public repository, in the notation of this product's
tables.
"""

import re
from functools import lru_cache

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from migrations_app.templatetags.formatting import shown

register = template.Library()
HOST = "https://github.com"
NAME = r"[A-Za-z0-9][\w-]*/[A-Za-z0-9][\w.-]*?"
FILE = re.compile(rf"({NAME})(?:@([\w.+-]+(?:/v?[\d.]+)?))?:((?:[\w.+-]+/)+[\w.+-]*\w)", re.ASCII)
ISSUE = re.compile(rf"({NAME})?#(\d+)\b", re.ASCII)
PLACE = re.compile(f"{FILE.pattern}|{ISSUE.pattern}", re.ASCII)


@register.filter
def source(text: str) -> SafeString:
    """Returns the source with a link at each file (`owner/name@tag:path`) and issue (`owner/name#1, #2`); other text
    stays.
    """
    return _linked(str(text))


@lru_cache(maxsize=1024)
def _linked(text: str) -> SafeString:
    pieces: list[tuple[str, str]] = []
    at, repository = 0, ""
    for match in PLACE.finditer(text):
        owner, tag, path, query_repository, number = match.groups()
        repository = owner or query_repository or repository
        if not repository:
            continue
        kind = f"blob/{tag or 'HEAD'}/{path}" if path else f"issues/{number}"
        pieces += [(text[at : match.start()], ""), (match[0], f"{HOST}/{repository}/{kind}")]
        at = match.end()
    pieces.append((text[at:], ""))
    return format_html_join("", "{}", ((_piece(label, address),) for label, address in pieces if label))


def _piece(label: str, address: str) -> SafeString | str:
    if not address:
        return shown(label)
    return format_html('<a href="{}" rel="noreferrer">{}</a>', address, shown(label))
