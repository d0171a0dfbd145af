"""Finds the Karpenter metrics that a query names and that a release no longer has, and what to search for outside the
cluster.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from migrations_app.karpenter.tables.metric_rows import METRIC_ROWS, METRIC_VALUE_ROWS, MetricRow, MetricValueRow
from migrations_app.karpenter.tables.outside_rows import OUTSIDE_ROWS, OutsidePlace, OutsideRow
from migrations_app.karpenter.versions import Release, minor_order

MARK = "karpenter_"
"""Prefix of every metric of the controller."""

_NAME = re.compile(r"(?<![\w:])karpenter_\w*(?![\w:])", re.ASCII)
_MATCHER = re.compile(r'\b(\w+)\s*(?:=~|!~|!=|=)\s*\\?"([^"\\]{0,500})', re.ASCII)
_EITHER = re.compile(r"\bor\b|\|", re.ASCII)
"""A query that takes one series or the other, or a pattern with alternatives."""
_OF_A_HISTOGRAM = re.compile(r"_(?:bucket|sum|count)\Z")


class OutdatedMetric(NamedTuple):
    """A name or value in a query that the release no longer has; an empty `new` means it has no replacement."""

    old: str
    new: str
    release: str


def names_in(text: str) -> tuple[str, ...]:
    """The Karpenter metrics that a text names, each once; a name that ends in _ is the start of a pattern."""
    return tuple(dict.fromkeys(_NAME.findall(text)))


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
    covered = names if takes_either(text) else ()
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


def takes_either(text: str) -> bool:
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


def spoken_row(row: OutsideRow) -> str:
    """What to search for, where, and what replaces it."""
    return f"{row.search} in {row.where} (now {row.instead})"
