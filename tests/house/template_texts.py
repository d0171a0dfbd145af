"""Finds the visible texts of a template that are not marked for translation."""

import re
from collections.abc import Iterator

BLOCK = re.compile(r"{% blocktranslate\b.*?{% endblocktranslate %}", re.DOTALL)
DJANGO = re.compile(r"{%.*?%}|{{.*?}}|{#.*?#}", re.DOTALL)
TAG = re.compile(r"<!--.*?-->|<[a-zA-Z/!](?:\"[^\"]*\"|'[^']*'|[^<>\"'])*>", re.DOTALL)
VERBATIM = re.compile(r"<(code|kbd|pre|samp|script|style|textarea)\b[^>]*>.*?</\1>", re.DOTALL)
ATTRIBUTE = re.compile(
    r"\s(title|aria-label|aria-description|placeholder|alt|data-label)=(\"[^\"]*\"|'[^']*')", re.DOTALL
)
ARGUMENT = re.compile(
    r"\b(?:default|default_if_none):\"([^\"]+)\"|\b(?:label|hint|below)=\"([^\"]+)\"|{% ago \S+ \"([^\"]+)\""
)
ENTITY = re.compile(r"&#?\w+;")
KEPT = {"karpdash", "HTTP", "UTC", "NodeClaim", "Machine"}
"""Names that are the same in every language."""


def unmarked(source: str) -> Iterator[str]:
    """Returns each visible text of the template without a mark: an argument, an attribute, or text between tags."""
    for tag in DJANGO.findall(source):
        for found in ARGUMENT.findall(tag):
            yield from words("".join(found))
    source = DJANGO.sub(" \x00 ", BLOCK.sub(" \x00 ", source))
    for tag in TAG.findall(source):
        for _name, value in ATTRIBUTE.findall(tag):
            yield from words(value[1:-1])
    for text in re.split(r"\x00", TAG.sub("\x00", VERBATIM.sub("\x00", source))):
        yield from words(text)


def words(text: str) -> Iterator[str]:
    """Yields the text if it has words that would be translated."""
    line = re.sub(r"\s+", " ", ENTITY.sub(" ", text.replace("\x00", " "))).strip()
    if any(word not in KEPT for word in re.findall(r"[A-Za-z]+", line)):
        yield line
