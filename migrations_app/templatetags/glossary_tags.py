"""A template tag that links a word to its line in the glossary."""

from functools import cache

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from migrations_app.queries.glossary import term as term_of

register = template.Library()


@register.simple_tag
@cache
def term(word: str, said: str = "") -> SafeString:
    """Returns the word as a link to its line in the glossary; `said` replaces the text of the link. Raises KeyError."""
    line = term_of(word)
    place = f"{reverse('glossary')}#{line.key}"
    return format_html('<a class="term" href="{}" title="{}">{}</a>', place, line.meaning, said or word)
