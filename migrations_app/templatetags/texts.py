"""Marks texts of templates for translation. The marks cost no time as long as English is the only language.

`{{ _("Open") }}` is Django's own. `{% blocktranslate trimmed %}{{ row.name|shown }} is new{% endblocktranslate %}` is
written as Django's, with two differences: filters stand where they are used, and `count` takes the number alone, as in
`{% blocktranslate trimmed count hits %}{{ hits }} hit{% plural %}{{ hits }} hits{% endblocktranslate %}`.
`makemessages` reads both. Without USE_I18N both become plain text while the template is compiled.
"""

import re
from dataclasses import dataclass

from django import template
from django.conf import settings
from django.template.base import FilterExpression, Node, NodeList, Parser, TextNode, Token, TokenType, VariableNode
from django.template.context import Context
from django.template.exceptions import TemplateSyntaxError
from django.template.loaders.filesystem import Loader as FileLoader
from django.utils.translation import gettext, ngettext

register = template.Library()
LINE_BREAK = re.compile(r"\s*\n\s*")
MARKED_TEXT = re.compile(r"""\{\{ _\((?:"([^"]*)"|'([^']*)')\) \}\}""")
MARKED_ARGUMENT = re.compile(r"""\b_\(("[^"]*"|'[^']*')\)""")


class Loader(FileLoader):
    """Reads templates; without USE_I18N it removes the marks `_("...")`."""

    def get_contents(self, origin: template.Origin) -> str:
        source: str = super().get_contents(origin)
        return source if settings.USE_I18N else unmarked(source)


def unmarked(source: str) -> str:
    """Returns the template with each `_("...")` replaced by its text."""
    texts = MARKED_TEXT.sub(lambda match: match[1] or match[2] or "", source)
    return MARKED_ARGUMENT.sub(r"\1", texts)


@dataclass(frozen=True, slots=True)
class Phrase:
    """The singular or plural of a text: the message that `makemessages` writes into a catalogue, and its parts in
    order.
    """

    message: str
    parts: list[str | VariableNode]

    def nodes(self) -> NodeList:
        """Returns the English text."""
        return NodeList([TextNode(part) if isinstance(part, str) else part for part in self.parts])

    def values(self, context: Context) -> dict[str, str]:
        """Returns the value of each name in the message, escaped."""
        nodes = [part for part in self.parts if isinstance(part, VariableNode)]
        return {node.filter_expression.token: str(node.render_annotated(context)) for node in nodes}


class EnglishNode(Node):
    """An untranslated text; with a number, its singular or plural."""

    def __init__(self, singular: Phrase, *, plural: Phrase | None, count: FilterExpression | None) -> None:
        self.singular = singular.nodes()
        self.plural = plural.nodes() if plural else None
        self.count = count

    def render(self, context: Context) -> str:
        if self.plural is None or self.count is None or self.count.resolve(context) == 1:
            return self.singular.render(context)
        return self.plural.render(context)


class TranslatedNode(Node):
    """A text in the language of the reader."""

    def __init__(self, singular: Phrase, *, plural: Phrase | None, count: FilterExpression | None) -> None:
        self.singular = singular
        self.plural = plural
        self.count = count

    def render(self, context: Context) -> str:
        values = self.singular.values(context)
        if self.plural is None or self.count is None:
            return gettext(self.singular.message) % values
        number = self.count.resolve(context)
        forms = self.singular.message, self.plural.message
        return ngettext(*forms, number if isinstance(number, int) else 2) % (values | self.plural.values(context))


@register.tag
def blocktranslate(parser: Parser, token: Token) -> Node:
    """Parses a text with values. Raises TemplateSyntaxError for another tag within it, and for unknown options."""
    _, *options = token.split_contents()
    trimmed = options[:1] == ["trimmed"]
    match options[1:] if trimmed else options:
        case []:
            count = None
        case ["count", number]:
            count = parser.compile_filter(number)
        case unknown:
            raise TemplateSyntaxError(f"blocktranslate does not know {' '.join(unknown)!r}")
    singular = _phrase(parser, trimmed=trimmed, end="plural" if count else "endblocktranslate")
    plural = _phrase(parser, trimmed=trimmed, end="endblocktranslate") if count else None
    node_type = TranslatedNode if settings.USE_I18N else EnglishNode
    return node_type(singular, plural=plural, count=count)


def _phrase(parser: Parser, *, trimmed: bool, end: str) -> Phrase:
    """Returns the text up to that tag, as Django's templatize() reads it."""
    tokens: list[Token] = []
    while (token := parser.next_token()).token_type != TokenType.BLOCK:
        tokens.append(token)
    if token.contents != end:
        raise TemplateSyntaxError(f"{token.contents!r} stands in a blocktranslate; wanted is {end!r}")
    texts = [token for token in tokens if token.token_type == TokenType.TEXT]
    if trimmed:
        for text in texts:
            text.contents = LINE_BREAK.sub(" ", text.contents)
        if texts and tokens[0] is texts[0]:
            texts[0].contents = texts[0].contents.lstrip()
        if texts and tokens[-1] is texts[-1]:
            texts[-1].contents = texts[-1].contents.rstrip()
    parts: list[str | VariableNode] = []
    message = ""
    for token in tokens:
        if token.token_type == TokenType.TEXT:
            parts.append(token.contents)
            message += token.contents.replace("%", "%%")
        elif token.token_type == TokenType.VAR:
            parts.append(VariableNode(parser.compile_filter(token.contents)))
            message += f"%({token.contents})s"
    return Phrase(message, parts)
