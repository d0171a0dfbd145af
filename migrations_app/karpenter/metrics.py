"""Finds the Karpenter metrics and labels that a query names and that a release no longer has, and what to search for
outside the cluster.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from migrations_app.karpenter.tables.metric_rows import (
    METRIC_LABEL_ROWS,
    METRIC_ROWS,
    METRIC_VALUE_ROWS,
    MetricLabelRow,
    MetricRow,
    MetricValueRow,
)
from migrations_app.karpenter.tables.outside_rows import OUTSIDE_ROWS, OutsidePlace, OutsideRow
from migrations_app.karpenter.versions import Release, minor_order

MARK = "karpenter_"
"""Prefix of every metric of the controller."""

_NAME = re.compile(r"(?<![\w:])karpenter_\w*(?![\w:])", re.ASCII)
_GROUPED = re.compile(r"(?<![\w:])(karpenter_\w{0,100})\((?:\?:)?([\w|]{1,500})\)(\w{0,100})", re.ASCII)
_MATCHER = re.compile(r'\b(\w+)\s*(?:=~|!~|!=|=)\s*\\?"([^"\\]{0,500})', re.ASCII)
_EITHER = re.compile(r"\bor\b|\|", re.ASCII)
"""A query that takes one series or the other, or a pattern with alternatives."""
_OF_A_HISTOGRAM = re.compile(r"_(?:bucket|sum|count)\Z")


class OutdatedMetric(NamedTuple):
    """A name, label or value in a query that the release no longer has; an empty `new` means it has no replacement."""

    old: str
    new: str
    release: str


def names_in(text: str) -> tuple[str, ...]:
    """The Karpenter metrics that a text names, each once; a name that ends in _ is the start of a pattern.

    Alternatives in one pair of parentheses, as in karpenter_nodes_(created|terminated), are names of their own.
    """
    return tuple(dict.fromkeys(_NAME.findall(_GROUPED.sub(_alternatives, text))))


def _alternatives(found: re.Match[str]) -> str:
    start, names, end = found.groups()
    return " ".join(f"{start}{name}{end}" for name in names.split("|"))


def matchers_in(text: str) -> tuple[tuple[str, str], ...]:
    """Label and value of every matcher in a query; alternatives of a pattern are listed separately."""
    matchers = ((label, part.strip("()^$ ")) for label, values in _MATCHER.findall(text) for part in values.split("|"))
    return tuple(dict.fromkeys((label, value) for label, value in matchers if value))


def outdated(
    text: str,
    release: Release,
    *,
    table: tuple[MetricRow, ...] = METRIC_ROWS,
    values: tuple[MetricValueRow, ...] = METRIC_VALUE_ROWS,
) -> tuple[OutdatedMetric, ...]:
    """What a query asks for that the release no longer has; unknown names are ignored, and so is what the query asks
    for under its new name too.
    """
    names = names_in(text)
    if not names:
        return ()
    covered = names if has_alternatives(text) else ()
    names_gone = [
        metric
        for name in names
        for metric in _of_name(name, release, table=table)
        if not metric.new or metric.new not in covered
    ]
    matchers = matchers_in(text)
    values_gone = [
        OutdatedMetric(f'{row.label}="{row.old}"', f'{row.label}="{row.new}"', row.release)
        for row in values
        if (row.label, row.old) in matchers and (row.label, row.new) not in matchers and is_past(row.release, release)
    ]
    return (*names_gone, *values_gone)


def renamed_between(
    start: Release, target_release: Release, *, table: tuple[MetricRow, ...] = METRIC_ROWS
) -> tuple[str, ...]:
    """The names that `start` has and `target_release` does not."""
    return tuple(row.old for row in table if is_past(row.release, target_release) and not is_past(row.release, start))


def _of_name(name: str, release: Release, *, table: tuple[MetricRow, ...]) -> Iterator[OutdatedMetric]:
    if name.endswith("_"):
        yield from _of_pattern(name, release, table=table)
        return
    bare = _OF_A_HISTOGRAM.sub("", name)
    for candidate in (name, bare):
        metric = _followed(candidate, release, table=table)
        if metric:
            series = name.removeprefix(candidate) if metric.new else ""
            yield metric._replace(old=name, new=metric.new + series)
            return


def _followed(name: str, release: Release, *, table: tuple[MetricRow, ...]) -> OutdatedMetric | None:
    """The newest name, followed through all renames up to that release; None if the name is still valid."""
    metric, since = name, ""
    while metric:
        row = next((row for row in table if row.old == metric and is_past(row.release, release)), None)
        if row is None:
            break
        metric, since = row.new, since or row.release
    return OutdatedMetric(name, metric, since) if since else None


def _of_pattern(start: str, release: Release, *, table: tuple[MetricRow, ...]) -> Iterator[OutdatedMetric]:
    """A pattern is outdated only if everything that it could match is gone and no newer name starts the same way."""
    meant = [row for row in table if row.old.startswith(start)]
    newer = any(row.new.startswith(start) for row in table)
    if meant and not newer and all(is_past(row.release, release) for row in meant):
        yield OutdatedMetric(f"{start}*", "", meant[0].release)


def has_alternatives(text: str) -> bool:
    """Whether a query may take one series or the other, or has a pattern with alternatives."""
    return _EITHER.search(text) is not None


def is_past(bound: str, release: Release) -> bool:
    """Whether the release is of that minor, or newer."""
    return minor_order(release.minor) >= minor_order(bound)


def outside_between(
    place: OutsidePlace, start: Release, *, target_release: Release, table: tuple[OutsideRow, ...] = OUTSIDE_ROWS
) -> tuple[OutsideRow, ...]:
    """The rows that start to matter between `start` and `target_release`."""
    low, high = minor_order(start.minor), minor_order(target_release.minor)
    return tuple(row for row in table if row.place == place and low < minor_order(row.release) <= high)


def outside_search_text(row: OutsideRow) -> str:
    """What to search for, where, and what replaces it."""
    return f"{row.search} in {row.where} (now {row.instead})"


# Labels. A label counts only where a query asks it of a metric of Karpenter: in a selector, in a grouping (`by`), in
# Grafana's `label_values`, or in vector matching (`on`) of the operands right beside it.

WITHOUT = "a query without the label"

# Every repetition is bounded, so that hostile text costs no more than its length.
_SELECTOR = re.compile(r"(?<![\w:])([A-Za-z_][\w:]{0,200})?\s{0,20}\{((?:[^{}]|\{[^{}]{0,200}\}){0,1000})\}", re.ASCII)
_LABEL_MATCHER = re.compile(r"\b(\w{1,100})\s{0,20}(=~|!~|!=|=)\s{0,20}\\?([\"'`])([^\"'`\\]{0,500})", re.ASCII)
_GROUPING = re.compile(r"\bby\s{0,20}\(([\w\s,]{0,500})\)", re.ASCII)
_LABEL_VALUES = re.compile(r"\blabel_values\s{0,20}(?=\()", re.ASCII)
_STRING = re.compile(r"([\"'`])[^\"'`]{0,500}\1")
_MADE_OTHERWISE = re.compile(r"\b(?:label_replace|label_join|group_left|group_right)\b")
"""Functions and modifiers that give a series a label which the metric itself does not have."""
_MATCHING = re.compile(
    r"(?:[-+*/%^<>]|==|!=|<=|>=|\b(?:and|or|unless|atan2))(?:\s{1,20}bool)?\s{0,20}"
    r"\bon\s{0,20}\(([\w\s,]{0,500})\)\s{0,20}(?:group_(?:left|right)\s{0,20}(?:\([\w\s,]{0,500}\))?)?",
    re.ASCII,
)
# Those of what ends at a place are of the text before it read backwards, so that each is tried at one place only.
_SERIES_BEFORE = re.compile(
    r"\s{0,20}(?:\][^\[\]]{0,50}\[)?\s{0,20}(?:\}[^{}]{0,1000}\{)?\s{0,20}(?:[\w:]{0,200}[A-Za-z_:])?"
)
_SERIES_AFTER = re.compile(r"\s{0,20}(?:[A-Za-z_:][\w:]{0,200})?\s{0,20}(?:\{[^{}]{0,1000}\})?")
_GROUPING_BEFORE = re.compile(r"\s{0,20}\)[\w\s,]{0,500}\(\s{0,20}(?:yb|tuohtiw)\b", re.ASCII)
_CALL = re.compile(
    r"\s{0,20}[A-Za-z_]\w{0,50}\s{0,20}(?:\b(?:by|without)\s{0,20}\([\w\s,]{0,500}\)\s{0,20})?(?=\()|\s{0,20}(?=\()",
    re.ASCII,
)
_OPERAND_MADE = re.compile(r"\blabel_(?:replace|join)\b")
_NAME_BEFORE = re.compile(r"\s{0,20}\w{0,50}[A-Za-z_]", re.ASCII)
_ARGUMENT_LENGTH = 2000
_GROUPINGS_READ = 1000


class LabelUse(NamedTuple):
    """A label that a query asks of a metric. `group` holds all labels of the grouping; empty for a selector."""

    metric: str
    label: str
    group: frozenset[str] = frozenset()


def label_uses(text: str) -> tuple[LabelUse, ...]:
    """The labels that a query asks of metrics of Karpenter, each once."""
    return tuple(dict.fromkeys((*_selected(text), *_grouped(text), *_matched(text)))) if names_in(text) else ()


def outdated_labels(
    text: str, release: Release, *, table: tuple[MetricLabelRow, ...] = METRIC_LABEL_ROWS
) -> tuple[OutdatedMetric, ...]:
    """The labels that a query asks for and that the release no longer writes, but none that the query asks for under
    its new name as well, as a grouping by both does, or a query that takes one series or the other.
    """
    uses = label_uses(text)
    selected = {use.label for use in uses if not use.group} if has_alternatives(text) else set()
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


def label_search_text(row: MetricLabelRow) -> str:
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
        matchers = _LABEL_MATCHER.findall(content)
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


def _matched(text: str) -> Iterator[LabelUse]:
    bare = _STRING.sub(lambda found: "_" * len(found[0]), text)
    for found in islice(_MATCHING.finditer(bare), _GROUPINGS_READ):
        labels = frozenset(found[1].replace(",", " ").split())
        for operand in (_operand_before(text, bare, end=found.start()), _operand_after(text, bare, start=found.end())):
            if not _OPERAND_MADE.search(operand):
                yield from (LabelUse(metric, label, labels) for metric in names_in(operand) for label in sorted(labels))


def _operand_before(text: str, bare: str, *, end: int) -> str:
    """The series, call or parentheses that end at that place, without what stands before a grouping."""
    end -= _length_before(_GROUPING_BEFORE, bare, end=end)
    if bare[max(0, end - _ARGUMENT_LENGTH) : end].rstrip().endswith(")"):
        argument = _argument(text, bare, before=end)
        start = end - len(argument)
        return text[start - _length_before(_NAME_BEFORE, bare, end=start) : end]
    return text[end - _length_before(_SERIES_BEFORE, bare, end=end) : end]


def _length_before(pattern: re.Pattern[str], text: str, *, end: int) -> int:
    """How many characters before that place match a pattern of reversed text; 0 if none do."""
    found = pattern.match(text[max(0, end - _ARGUMENT_LENGTH) : end][::-1])
    return found.end() if found else 0


def _operand_after(text: str, bare: str, *, start: int) -> str:
    """The series, call or parentheses that begin at that place."""
    call = _CALL.match(bare, start, start + _ARGUMENT_LENGTH)
    if call:
        return _argument(text, bare, after=call.end())
    series = _SERIES_AFTER.match(bare, start, start + _ARGUMENT_LENGTH)
    return text[start : series.end()] if series else ""


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
