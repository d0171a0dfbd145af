"""Makes untrusted text safe as one word of a POSIX shell command, as a comment, and in patches.

Names, keys and values of a cluster are chosen by anyone who can write to it, and people copy the lines into a shell.
"""

import json
import shlex
from collections.abc import Iterable

from migrations_app.manifests.text_lines import one_line

_ESCAPED = {"\\": "\\\\", "'": "\\047"}


def word(text: str) -> str:
    """The text as one word of shell, for a place where a program also accepts options.

    A text that the program would read as an option gets a mark that no object name can have.
    """
    return quoted(no_option(text))


def no_option(text: str) -> str:
    """The text, marked if a program would read it as an option."""
    return f"NOT-A-NAME:{text}" if text.startswith("-") else text


def quoted(text: str) -> str:
    """The text as exactly one word that no shell expands; unchanged if it needs no quotes.

    Unprintable characters are written with backslashes, so that a word never breaks a line.
    """
    if text.isprintable():
        return shlex.quote(text)
    return "$'" + "".join(map(_escaped, text)) + "'"


def _escaped(sign: str) -> str:
    # The word contains no single quote, because a shell without $'...' reads it as a single-quoted word after a dollar.
    if sign in _ESCAPED:
        return _ESCAPED[sign]
    if sign.isprintable():
        return sign
    return "".join(f"\\{byte:03o}" for byte in sign.encode("utf-8", "surrogatepass"))


def words(texts: Iterable[str]) -> str:
    """Each text as one word, separated by spaces."""
    return " ".join(map(word, texts))


def json_word(document: object) -> str:
    """The document as compact JSON, quoted as one word."""
    return quoted(json.dumps(document, separators=(",", ":")))


def pointer(path: str) -> str:
    """A dotted field path as a JSON pointer (RFC 6901), with its two special characters escaped."""
    return "/" + "/".join(step.replace("~", "~0").replace("/", "~1") for step in path.split("."))


def note(text: str) -> str:
    """A comment of shell, YAML or Terraform on one line."""
    return f"# {one_line(text)}"
