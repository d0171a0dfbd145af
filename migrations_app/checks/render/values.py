"""Writes chart values as YAML that every tool reads in the same way."""

import json
import re
from collections.abc import Iterator, Mapping
from textwrap import indent

from migrations_app.checks.changes import HelmChange
from migrations_app.checks.shell import note
from migrations_app.conversion.chart_values.trees import steps_of
from migrations_app.karpenter.releases import as_tag
from migrations_app.karpenter.versions import parse

_PLAIN = re.compile(r"[\w./@-]+", re.ASCII)
"""Text that needs no quotes in YAML, unless it matches `_NO_TEXT`."""
_NO_TEXT = re.compile(
    r"[-+]?(?:[\d_][\d_.:-]*(?:e[-+]?\d+)?|0[box][\da-f_]+|\.\d[\d_]*(?:e[-+]?\d+)?|\.inf|\.nan)"
    r"|true|false|yes|no|on|off|null|y|n|[-.]+",
    re.IGNORECASE,
)
"""Text that some version of YAML reads as a number, a date, a boolean or null."""


def json_scalar(value: object) -> str:
    """A value that is not a filled map or list, on one line that YAML 1.1 and 1.2 read in the same way."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and not _NO_TEXT.fullmatch(value) and value[0] not in "-@":
        return value
    return "".join(map(_printable, json.dumps(value, ensure_ascii=False)))


def _printable(sign: str) -> str:
    if sign.isprintable():
        return sign
    return f"\\u{ord(sign):04x}" if ord(sign) < 0x10000 else f"\\U{ord(sign):08x}"


def yaml_of(values: Mapping[str, str]) -> str:
    """The values, given as JSON, as a YAML tree. Keys without a value are to be removed: they follow as comments,
    because an empty key would remove everything below it in the chart."""
    lines: list[str] = []
    open_keys: tuple[str, ...] = ()
    for key, value in sorted((key, value) for key, value in values.items() if value):
        *parents, last = steps_of(key)
        for depth, parent in enumerate(parents):
            if open_keys[: depth + 1] != tuple(parents[: depth + 1]):
                lines.append(f"{'  ' * depth}{json_scalar(parent)}:")
        lines.append(f"{'  ' * len(parents)}{json_scalar(last)}: {json_scalar(json.loads(value))}")
        open_keys = tuple(parents)
    return "\n".join((*lines, *(note(f"without {key}") for key, value in sorted(values.items()) if not value)))


def under_key(head: str, tree: str, *, depth: int) -> str:
    """The tree below that key, indented by `depth`; a tree that is only comments is written without the key."""
    if not tree:
        return ""
    bare = all(line.startswith("#") for line in tree.splitlines())
    return tree if bare else f"{head}:\n{indent(tree, ' ' * depth)}"


def reasons(change: HelmChange) -> str:
    """The reasons for the changed values as comment lines, each once; empty if there is none."""
    return "".join(f"{note(reason)}\n" for reason in dict.fromkeys(_reasons(change)) if reason)


def _reasons(change: HelmChange) -> Iterator[str]:
    yield change.why
    yield from (value.why for value in change.values)


def tag_of(change: HelmChange) -> str:
    """The chart version in the spelling of charts; empty if the version does not change."""
    version = parse(change.version)
    return as_tag(version) if version else ""
