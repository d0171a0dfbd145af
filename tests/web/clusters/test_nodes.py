"""The bar is always full, and no owner is too small to be seen."""

from hypothesis import given
from hypothesis import strategies as st

from migrations_app.readiness.report import OWNERS, NodeCounts
from migrations_app.web.clusters.nodes import MIN_WIDTH, WIDTH, NodeFilters, page_of, segments
from tests.builders.rows import some_nodes

COUNTS = st.dictionaries(st.sampled_from(OWNERS), st.integers(0, 20_000))


def bar(**counts):
    return [(part.owner, part.x, part.width, part.percent) for part in segments(NodeCounts(0, counts))]


def test_shares():
    assert bar(karpenter_alpha=3, fargate=1) == [("karpenter_alpha", 0, 750, "75"), ("fargate", 750, 250, "25")]


def test_one_among_thousands():
    found = bar(karpenter_v1=9999, unknown=1)
    assert found == [("karpenter_v1", 0, WIDTH - MIN_WIDTH, ">99"), ("unknown", WIDTH - MIN_WIDTH, MIN_WIDTH, "<1")]


def test_nothing():
    assert bar() == []
    assert bar(fargate=0) == []


@given(COUNTS)
def test_slices_touch_and_fill(counts):
    found = segments(NodeCounts(sum(counts.values()), counts))
    ends = [part.x + part.width for part in found]
    assert [part.x for part in found] == [0, *ends][: len(found)]
    assert not found or ends[-1] == WIDTH
    assert all(part.width >= MIN_WIDTH for part in found)
    assert sum(part.count for part in found) == sum(counts.values())


@given(st.integers(0, 350), st.integers(0, 9))
def test_pages_hold_every_node_once(count, number):
    nodes = some_nodes(count)
    pages = [page_of(nodes, NodeFilters("", "", odd=False, page=page)) for page in range(1, 5)]
    assert tuple(dict.fromkeys(node for page in pages for node in page.rows)) == nodes
    found = page_of(nodes, NodeFilters("", "", odd=False, page=number))
    assert found.last - found.first + 1 == len(found.rows) or not found.rows
