"""Reads the glossary from its page in docs: each word of the pages with its meaning."""

import re
from dataclasses import dataclass

NEVER = "## What we never say"
"""The heading after which the page is for authors only."""
_ROW = re.compile(r"^\| (?P<words>[^|]+?) \| (?P<meaning>[^|]+) \|$")
_HEADS = ("word", "---")


@dataclass(frozen=True, slots=True)
class Term:
    """One line of the glossary; `key` is its anchor on the page, `words` the text of its first cell: "pause,
    resume"."""

    key: str
    words: str
    meaning: str


@dataclass(frozen=True, slots=True)
class GlossarySection:
    title: str
    terms: tuple[Term, ...]


def glossary_of(page: str) -> tuple[GlossarySection, ...]:
    """Returns the sections of the page that have words, in their order."""
    parts = page.split(NEVER)[0].split("\n## ")[1:]
    sections = (GlossarySection(part.splitlines()[0].strip(), _terms(part)) for part in parts)
    return tuple(section for section in sections if section.terms)


def term_key(word: str) -> str:
    """Returns the anchor of a word on the page, such as `point-of-no-return`."""
    return re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")


def _terms(part: str) -> tuple[Term, ...]:
    matches = (_ROW.match(line) for line in part.splitlines())
    return tuple(
        Term(term_key(row["words"]), row["words"], row["meaning"].strip())
        for row in matches
        if row and row["words"] not in _HEADS
    )
