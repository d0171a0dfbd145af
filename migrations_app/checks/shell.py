"""Text of other people as one word of a POSIX shell command, as a comment, and as parts of patches.

Names, keys and values of a cluster are chosen by whoever may write to it, and a person copies the lines into a shell.
"""

import json
import shlex
from collections.abc import Iterable

_ESCAPED = {"\\": "\\\\", "'": "\\047"}


def word(text: str) -> str:
    """The text as one word of shell, for a place where a program also takes options.

    A text that the program would take for an option is marked: no object can have that name.
    """
    return quoted(no_option(text))


def no_option(text: str) -> str:
    """The text, marked where a program would take it for an option."""
    return f"NOT-A-NAME:{text}" if text.startswith("-") else text


def quoted(text: str) -> str:
    """The text as exactly one word that no shell expands; as it stands where it needs no quotes.

    Unprintable signs are written with backslashes, so that a word never breaks a line.
    """
    if text.isprintable():
        return shlex.quote(text)
    return "$'" + "".join(map(_escaped, text)) + "'"


def _escaped(sign: str) -> str:
    # No single quote stands inside: a shell that does not know $'...' reads a word in single quotes after a dollar.
    if sign in _ESCAPED:
        return _ESCAPED[sign]
    if sign.isprintable():
        return sign
    return "".join(f"\\{byte:03o}" for byte in sign.encode("utf-8", "surrogatepass"))


def words(texts: Iterable[str]) -> str:
    """Each text as one word, with spaces between them."""
    return " ".join(map(word, texts))


def json_word(document: object) -> str:
    """The document as compact JSON, quoted as one word."""
    return quoted(json.dumps(document, separators=(",", ":")))


def pointer(path: str) -> str:
    """A dotted field path as a JSON pointer (RFC 6901), its two signs escaped."""
    return "/" + "/".join(step.replace("~", "~0").replace("/", "~1") for step in path.split("."))


def one_line(text: str) -> str:
    """The text without line breaks and other unprintable signs: what follows a # stays behind it."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def note(text: str) -> str:
    """A comment of shell, YAML or Terraform on one line."""
    return f"# {one_line(text)}"
