"""The glossary of the documentation, read once per process."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from django.conf import settings

from migrations_app.readiness.outputs.glossary import GlossarySection, Term, glossary_of, term_key


@cache
def glossary() -> tuple[GlossarySection, ...]:
    """All sections with their words."""
    return glossary_of(Path(settings.GLOSSARY).read_text(encoding="utf-8"))


def term(word: str) -> Term:
    """The line of that word. Raises KeyError for an unknown word."""
    return _by_word()[term_key(word)]


@cache
def _by_word() -> Mapping[str, Term]:
    lines = [line for section in glossary() for line in section.terms]
    return {term_key(word): line for line in lines for word in line.words.split(", ")}
