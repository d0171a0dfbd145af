"""A reader of HCL, as far as remedies are written in it: attributes, blocks, lists, objects, calls and heredocs."""

import re
from collections.abc import Iterator
from typing import NamedTuple


class BadHclError(ValueError):
    """What does not read as HCL; the message names the place."""


class Token(NamedTuple):
    kind: str
    text: str
    line: int


_TOKENS = re.compile(
    r"""
    (?P<space>[ \t\r]+|\#[^\n]*|//[^\n]*)
  | (?P<heredoc><<-?(?P<mark>\w+)\n)
  | (?P<newline>\n)
  | (?P<string>"(?:[^"\\\n$%]|\\.|\$\$\{|%%\{|\$(?!\{)|%(?!\{))*")
  | (?P<number>-?\d+(?:\.\d+)?)
  | (?P<name>[A-Za-z_][\w-]*(?:\.[A-Za-z_*][\w-]*|\[\d+\])*)
  | (?P<sign>[{}\[\](),=:])
    """,
    re.VERBOSE,
)


def tokens(text: str) -> list[Token]:
    """Raises BadHclError for a character that begins nothing, and for a heredoc that does not end."""
    found: list[Token] = []
    place, line = 0, 1
    while place < len(text):
        match = _TOKENS.match(text, place)
        if match is None:
            raise BadHclError(f"line {line}: {text[place : place + 20]!r}")
        kind, piece, end = str(match.lastgroup), match[0], match.end()
        if match["heredoc"]:
            kind, close = "string", re.compile(rf"^[ \t]*{match['mark']}$", re.MULTILINE).search(text, end)
            if close is None:
                raise BadHclError(f"line {line}: {match['mark']} does not end")
            piece, end = text[place : close.end()], close.end()
        elif match["space"]:
            kind = "space"
        if kind != "space":
            found.append(Token("string" if kind == "mark" else kind, piece, line))
        line += piece.count("\n")
        place = end
    return found


def read(text: str) -> list[str]:
    """The names of the attributes and blocks at the top. Raises BadHclError."""
    reader = _Reader(tokens(text))
    return list(reader.body(end=""))


class _Reader:
    def __init__(self, found: list[Token]) -> None:
        self._found = [*found, Token("end", "", found[-1].line if found else 1)]
        self._place = 0

    def body(self, *, end: str) -> Iterator[str]:
        """Attributes and blocks up to a brace, or to the end."""
        while True:
            self._skip()
            token = self._take()
            if token.text == end and token.kind in ("sign", "end"):
                return
            if token.kind != "name":
                raise BadHclError(f"line {token.line}: {token.text!r} in the place of a name")
            yield token.text
            if self._peek().text == "=":
                self._take()
                self._value()
            else:
                self._block()
            if self._peek().kind not in ("newline", "end") and self._peek().text != end:
                raise BadHclError(f"line {self._peek().line}: {self._peek().text!r} after a whole line")

    def _block(self) -> None:
        while self._peek().kind in ("string", "name"):
            self._take()
        self._want("{")
        list(self.body(end="}"))

    def _value(self) -> None:
        token = self._take()
        if token.text == "[":
            self._listed("]")
        elif token.text == "{":
            self._object()
        elif token.kind == "name" and self._peek().text == "(":
            self._take()
            self._listed(")")
        elif token.kind not in ("string", "number", "name"):
            raise BadHclError(f"line {token.line}: {token.text!r} is no value")

    def _listed(self, end: str) -> None:
        while self._after_newlines().text != end:
            self._value()
            if self._after_newlines().text != end:
                self._want(",")
        self._take()

    def _object(self) -> None:
        while self._after_newlines().text != "}":
            key = self._take()
            if key.kind not in ("string", "name"):
                raise BadHclError(f"line {key.line}: {key.text!r} is no key")
            sign = self._take()
            if sign.text not in ("=", ":"):
                raise BadHclError(f"line {sign.line}: {sign.text!r} after a key")
            self._value()
            if self._peek().text == ",":
                self._take()
            elif self._peek().kind != "newline" and self._peek().text != "}":
                raise BadHclError(f"line {self._peek().line}: {self._peek().text!r} in an object")
        self._take()

    def _after_newlines(self) -> Token:
        self._skip()
        return self._peek()

    def _skip(self) -> None:
        while self._peek().kind == "newline":
            self._take()

    def _peek(self) -> Token:
        return self._found[self._place]

    def _take(self) -> Token:
        token = self._peek()
        if token.kind == "end" and self._place:
            return token
        self._place += 1
        return token

    def _want(self, text: str) -> None:
        token = self._take()
        if token.text != text:
            raise BadHclError(f"line {token.line}: {token.text!r} in the place of {text!r}")
