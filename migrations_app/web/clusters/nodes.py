"""The nodes of a cluster by owner: stacked bar, and table with search and pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.http import QueryDict

from migrations_app.manifests.natural_order import natural
from migrations_app.readiness.report import OWNERS, NodeCounts, OwnedNode

PAGE_SIZE = 100
WIDTH = 1000
MIN_WIDTH = 6
"""In thousandths of the bar, so that one node among thousands stays visible."""


@dataclass(frozen=True, slots=True)
class OwnerSegment:
    """One owner in the bar; `x` and `width` are in thousandths of the bar."""

    owner: str
    count: int
    percent: str
    x: int
    width: int


class NodeFilters(NamedTuple):
    q: str
    owner: str
    odd: bool
    page: int


class NodePage(NamedTuple):
    rows: tuple[OwnedNode, ...]
    matching: int
    first: int
    last: int
    page_number: int
    page_before: int
    page_after: int


def segments(counts: NodeCounts) -> tuple[OwnerSegment, ...]:
    """Returns the owners that have nodes; their widths add up to the width of the bar."""
    present = [(owner, counts.by_owner.get(owner, 0)) for owner in OWNERS if counts.by_owner.get(owner, 0)]
    total = sum(count for _, count in present)
    widths = _widths([count for _, count in present], total)
    starts = [sum(widths[:index]) for index in range(len(widths))]
    return tuple(
        OwnerSegment(owner, count, _percent(count, total), start, width)
        for (owner, count), start, width in zip(present, starts, widths, strict=True)
    )


def _widths(counts: Sequence[int], total: int) -> list[int]:
    widths = [max(MIN_WIDTH, WIDTH * count // total) for count in counts]
    if widths:
        # The widest segment takes the difference caused by rounding and minimum widths.
        widths[widths.index(max(widths))] += WIDTH - sum(widths)
    return widths


def _percent(count: int, total: int) -> str:
    exact = 100 * count / total
    return "<1" if exact < 1 else ">99" if 99 < exact < 100 else str(round(exact))


def node_filters(query: QueryDict) -> NodeFilters:
    """Parses the query string into filters. Unknown values are ignored."""
    owner = query.get("owner", "")
    page = query.get("page", "")
    return NodeFilters(
        q=query.get("q", "").strip().lower()[:200],
        owner=owner if owner in OWNERS else "",
        odd=query.get("odd") == "1",
        page=int(page) if page.isdecimal() and len(page) < 7 else 1,
    )


def page_of(nodes: Sequence[OwnedNode], filters: NodeFilters) -> NodePage:
    """Returns one page of the matching nodes; a page number beyond the end gives the last page."""
    owned_nodes = sorted((node for node in nodes if _matches(node, filters)), key=lambda node: natural(node.name))
    last_page = max(1, -(-len(owned_nodes) // PAGE_SIZE))
    number = min(max(1, filters.page), last_page)
    rows = tuple(owned_nodes[(number - 1) * PAGE_SIZE : number * PAGE_SIZE])
    first = (number - 1) * PAGE_SIZE + 1 if rows else 0
    return NodePage(rows, len(owned_nodes), first, (number - 1) * PAGE_SIZE + len(rows), number, number - 1, number + 1)


def _matches(node: OwnedNode, filters: NodeFilters) -> bool:
    if filters.owner and node.owner != filters.owner:
        return False
    if filters.odd and not node.anomalies and node.can_drift is not False:
        return False
    text = " ".join((node.name, node.pool, node.claim, node.instance_type, node.zone, node.capacity)).lower()
    return all(word in text for word in filters.q.split())
