"""Text that a template engine, such as Helm or Terraform, has to render before it is YAML."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

HINT: Final = "it looks like a template, render it first"

_ACTION: Final = re.compile(r"\{\{|\{%|^\s*%\{", re.MULTILINE)
_STATED: Final = re.compile(
    r"^(?P<field>apiVersion|kind):[ \t]*(?P<quote>[\"']?)(?P<value>[\w./-]+)(?P=quote)[ \t]*(#.*)?$"
)


class StatedKind(NamedTuple):
    """What a document of a template states in plain text. `line` is that of its apiVersion, from 1."""

    line: int
    api_version: str
    kind: str


def is_template(text: str) -> bool:
    """True if the text holds an action of a template; a text that is YAML as it is may hold one too, in quotes."""
    return _ACTION.search(text) is not None


def stated_kinds(text: str) -> Iterator[StatedKind]:
    """apiVersion and kind of each document that states both once, in plain text and at the start of a line.

    A document with a choice of versions, or with one that is filled in, is left out.
    """
    stated: dict[str, list[tuple[int, str]]] = {"apiVersion": [], "kind": []}
    for number, line in enumerate([*text.split("\n"), "---"], 1):
        if line.startswith("---"):
            if len(stated["apiVersion"]) == len(stated["kind"]) == 1:
                (at, api_version), (_, kind) = stated["apiVersion"][0], stated["kind"][0]
                yield StatedKind(at, api_version, kind)
            stated = {"apiVersion": [], "kind": []}
        elif match := _STATED.match(line.rstrip()):
            stated[match["field"]].append((number, match["value"]))
