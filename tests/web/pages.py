"""Reads a page as people do: its text, its links, its tables."""

import re
from html import unescape


def text(answer) -> str:
    """All words of a page, tags left out, spaces folded."""
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", answer.content.decode(), flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", body))).strip()


def tags(answer) -> str:
    """The page as HTML without the line breaks of templates: whitespace folded, and left out beside < and >."""
    return re.sub(r"\s*([<>])\s*", r"\1", re.sub(r"\s+", " ", answer.content.decode()))


def links(answer) -> list[str]:
    return [unescape(link) for link in re.findall(r'href="([^"]*)"', answer.content.decode())]


def rows(answer) -> list[str]:
    """The text of each row that keys can walk."""
    found = re.findall(r"<tr[^>]*data-row.*?</tr>", answer.content.decode(), flags=re.DOTALL)
    return [re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", row))).strip() for row in found]
