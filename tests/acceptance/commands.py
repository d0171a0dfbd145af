"""What kubectl is told by a remedy: one row a command and object, read from the shell text."""

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any, NamedTuple

Patch = dict[str, Any] | list[Any]


class Command(NamedTuple):
    """A command on one object, or on all of a kind where `name` is empty. `how` and `patch` are those of a patch."""

    verb: str
    resource: str
    name: str = ""
    namespace: str = ""
    how: str = ""
    patch: Patch | None = None
    subresource: str = ""


_LOOP = re.compile(r"^for (\w+) in ([^;\n]*);\s*do\s*(.*?);?\s*done$", re.DOTALL | re.MULTILINE)
_GUARDED = re.compile(r"^if (.*); then (.*); else echo .*; false; fi$")
_PLAIN = (
    "get",
    "describe",
    "delete",
    "annotate",
    "label",
    "edit",
    "patch",
    "scale",
    "taint",
    "cordon",
    "drain",
    "logs",
)
_WITH_VALUE = {
    "-n": "namespace",
    "--namespace": "namespace",
    "-p": "patch",
    "--patch": "patch",
    "-o": "",
    "-l": "",
    "-L": "",
}


def commands(text: str) -> Iterator[Command]:
    """The kubectl commands of a shell text; loops over names are unrolled, pipes and comments cut."""
    # A line that ends in a backslash goes on in the next one.
    for line in re.sub(r"(?m)^((?!#).*)\\\n", r"\1", _unrolled(text)).splitlines():
        line = _GUARDED.sub(r"\1 && \2", line.strip())
        for piece in re.split(r"\s(?:&&|\||>)\s", line):
            yield from _command(piece)


def _unrolled(text: str) -> str:
    def each(match: re.Match[str]) -> str:
        variable, names, body = match.groups()
        return "\n".join(re.sub(rf"\${variable}\b", name, body) for name in names.split() if name != "...")

    return _LOOP.sub(each, text)


def _command(line: str) -> Iterator[Command]:
    words = shlex.split(line, comments=True)
    if not words or words[0] != "kubectl":
        return
    given: dict[str, str] = {}
    rest: list[str] = []
    left = iter(words[1:])
    for word in left:
        flag, equals, value = word.partition("=")
        if word in _WITH_VALUE:
            given[_WITH_VALUE[word]] = next(left, "")
        elif flag.startswith("--") and equals:
            given[flag.removeprefix("--")] = value
        elif not word.startswith("-"):
            rest.append(word)
    if rest and rest[0] in _PLAIN:
        yield from _rows(rest[0], rest[1:], given)


def _rows(verb: str, words: list[str], given: dict[str, str]) -> Iterator[Command]:
    if verb in ("cordon", "drain"):
        words = ["node", *words]
    if verb in ("annotate", "label", "taint"):
        words = [word for word in words if "=" not in word and not word.endswith("-")]
    if words and "/" in words[0]:
        words = words[0].split("/")
    resources, names = (words[0] if words else "").split(","), [word for word in words[1:] if word != "..."]
    patch = json.loads(given["patch"]) if "patch" in given else None
    for resource in resources:
        for name in names or [""]:
            yield Command(
                verb,
                resource,
                name,
                given.get("namespace", ""),
                how=given.get("type", "strategic") if patch is not None else "",
                patch=patch,
                subresource=given.get("subresource", ""),
            )
