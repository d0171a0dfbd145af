"""Finds the labels that a query asks of Karpenter's metrics and that a release no longer writes.

A label counts only where a query asks it of a metric of Karpenter: in a selector, in a grouping (`by`), or in Grafana's
`label_values`. Vector matching (`on`) is not read, since its operands are not delimited.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from migrations_app.karpenter.metrics import OutdatedMetric, is_past, names_in, takes_either
from migrations_app.karpenter.tables.metric_rows import METRIC_LABEL_ROWS, MetricLabelRow
from migrations_app.karpenter.versions import Release

WITHOUT = "a query without the label"

# Every repetition is bounded, so that hostile text costs no more than its length.
_SELECTOR = re.compile(r"(?<![\w:])([A-Za-z_][\w:]{0,200})?\s{0,20}\{((?:[^{}]|\{[^{}]{0,200}\}){0,1000})\}", re.ASCII)
_MATCHER = re.compile(r"\b(\w{1,100})\s{0,20}(=~|!~|!=|=)\s{0,20}\\?([\"'`])([^\"'`\\]{0,500})", re.ASCII)
_GROUPING = re.compile(r"\bby\s{0,20}\(([\w\s,]{0,500})\)", re.ASCII)
_LABEL_VALUES = re.compile(r"\blabel_values\s{0,20}(?=\()", re.ASCII)
_STRING = re.compile(r"([\"'`])[^\"'`]{0,500}\1")
_MADE_OTHERWISE = re.compile(r"\b(?:label_replace|label_join|group_left|group_right)\b")
"""Functions and modifiers that give a series a label which the metric itself does not have."""
_ARGUMENT_LENGTH = 2000
_GROUPINGS_READ = 1000


class LabelUse(NamedTuple):
    """A label that a query asks of a metric. `group` holds all labels of the grouping; empty for a selector."""

    metric: str
    label: str
    group: frozenset[str] = frozenset()


def label_uses(text: str) -> tuple[LabelUse, ...]:
    """The labels that a query asks of metrics of Karpenter, each once."""
    return tuple(dict.fromkeys((*_selected(text), *_grouped(text)))) if names_in(text) else ()


def outdated_labels(
    text: str, release: Release, *, table: tuple[MetricLabelRow, ...] = METRIC_LABEL_ROWS
) -> tuple[OutdatedMetric, ...]:
    """The labels that a query asks for and that the release no longer writes, but none that the query asks for under
    its new name as well, as a grouping by both does, or a query that takes one series or the other.
    """
    uses = label_uses(text)
    selected = {use.label for use in uses if not use.group} if takes_either(text) else set()
    found: dict[str, OutdatedMetric] = {}
    for use in uses:
        row = _row(use, release, table=table)
        if row is not None and row.new not in (use.group or selected):
            old = f"label {use.label} of {use.metric}"
            found[old] = OutdatedMetric(old, f"label {row.new}" if row.new else WITHOUT, row.release)
    return tuple(found.values())


def labels_between(
    start: Release, target_release: Release, *, table: tuple[MetricLabelRow, ...] = METRIC_LABEL_ROWS
) -> tuple[MetricLabelRow, ...]:
    """The rows of the labels that `start` writes and `target_release` does not."""
    return tuple(row for row in table if is_past(row.release, target_release) and not is_past(row.release, start))


def spoken_label(row: MetricLabelRow) -> str:
    """The label to search for, on which metrics, and what replaces it."""
    metrics = ", ".join(f"{start}*" for start in row.metrics)
    return f"label {row.old} of {metrics} (now {row.new or 'gone'})"


def label_queries(text: str) -> tuple[str, ...]:
    """A short query for each use of a label that ends at some release, which asks the same label of the same metric."""
    ending = (use for use in label_uses(text) if any(_is_of(use, row) for row in METRIC_LABEL_ROWS))
    return tuple(dict.fromkeys(map(_short_query, ending)))


def _short_query(use: LabelUse) -> str:
    if use.group:
        return f"by ({', '.join(sorted(use.group))}) ({use.metric})"
    return f'{use.metric}{{{use.label}=~".+"}}'


def _is_of(use: LabelUse, row: MetricLabelRow) -> bool:
    return use.label == row.old and use.metric.startswith(row.metrics)


def _row(use: LabelUse, release: Release, *, table: tuple[MetricLabelRow, ...]) -> MetricLabelRow | None:
    """The row of the label with its newest name, followed through all renames up to that release."""
    found = None
    for row in table:
        if _is_of(use, row) and is_past(row.release, release):
            found = row._replace(release=found.release if found else row.release)
            use = use._replace(label=row.new)
    return found


def _selected(text: str) -> Iterator[LabelUse]:
    for name, content in _SELECTOR.findall(text):
        matchers = _MATCHER.findall(content)
        asked = [label for label, operator, _, value in matchers if value or operator.startswith("!")]
        for metric in names_in(name) or names_in(content):
            yield from (LabelUse(metric, label) for label in asked if label != "__name__")


def _grouped(text: str) -> Iterator[LabelUse]:
    bare = _STRING.sub(lambda found: "_" * len(found[0]), text)
    for found in islice(_GROUPING.finditer(bare), _GROUPINGS_READ):
        labels = frozenset(found[1].replace(",", " ").split())
        argument = _argument(text, bare, after=found.end()) or _argument(text, bare, before=found.start())
        if not _MADE_OTHERWISE.search(argument):
            yield from (LabelUse(metric, label, labels) for metric in names_in(argument) for label in sorted(labels))
    for found in islice(_LABEL_VALUES.finditer(bare), _GROUPINGS_READ):
        series, _, last = _argument(text, bare, after=found.end()).rpartition(",")
        label = last.strip(" ()\"'")
        yield from (LabelUse(metric, label, frozenset({label})) for metric in names_in(series))


def _argument(text: str, bare: str, *, after: int = -1, before: int = -1) -> str:
    """What stands in parentheses after that place, or before it; empty if nothing does, or more than is read."""
    step, opens = (1, "(") if after >= 0 else (-1, ")")
    place, depth = (after if after >= 0 else before - 1), 0
    first = place
    for _ in range(_ARGUMENT_LENGTH):
        if not 0 <= place < len(bare):
            return ""
        if bare[place] in "()":
            depth += 1 if bare[place] == opens else -1
        elif depth == 0 and not bare[place].isspace():
            return ""
        if depth <= 0 and bare[place] in "()":
            return text[min(first, place) : max(first, place) + 1] if depth == 0 else ""
        place += step
    return ""
