"""Lists in another order: each row once, page by page, and cursors of one order only."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from migrations_app.errors import InvalidInput
from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Scan
from migrations_app.queries.ordering import SortColumn, SortOrder, order_of, orders, sorted_page

BEGAN = datetime(2026, 11, 1, tzinfo=UTC)
KNOWN = orders(
    {"state": SortColumn("state"), "attempts": SortColumn("attempts", int), "due": SortColumn("due_at", datetime)},
    SortColumn("attempts", int),
    SortColumn("pk", uuid.UUID, descending=True),
)


def walked(order: SortOrder, *, limit: int) -> list[Scan]:
    """Every row, page by page."""
    found: list[Scan] = []
    after = ""
    while True:
        page = sorted_page(Scan.objects.all(), order, after=after, limit=limit, row=lambda row: row)
        found += page.rows
        after = page.next_cursor
        if not after:
            return found


def expected(name: str) -> list[Scan]:
    """The same by Python's stable sort."""
    rows = sorted(Scan.objects.all(), key=lambda row: row.pk, reverse=True)
    rows.sort(key=lambda row: row.attempts)
    column = {"state": "state", "attempts": "attempts", "due": "due_at"}[name.lstrip("-")]
    return sorted(rows, key=lambda row: getattr(row, column), reverse=name.startswith("-"))


@pytest.mark.django_db
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(st.sampled_from(["done", "failed"]), st.integers(0, 3), st.integers(0, 3)), max_size=9),
    name=st.sampled_from(sorted(KNOWN)),
    limit=st.integers(1, 4),
)
def test_every_row_comes_once_and_in_order(rows: list[tuple[str, int, int]], name: str, limit: int) -> None:
    Scan.objects.all().delete()
    cluster, _ = Cluster.objects.get_or_create(name="shop", source=Cluster.Source.SAMPLE)
    Scan.objects.bulk_create(
        Scan(cluster=cluster, state=state, attempts=attempts, due_at=BEGAN + timedelta(microseconds=moment))
        for state, attempts, moment in rows
    )
    assert walked(KNOWN[name], limit=limit) == expected(name)


@pytest.mark.django_db
def test_a_cursor_of_another_order_is_refused() -> None:
    cluster = Cluster.objects.create(name="shop", source=Cluster.Source.SAMPLE)
    Scan.objects.bulk_create(Scan(cluster=cluster, state="done", due_at=BEGAN) for _ in range(2))
    first = sorted_page(Scan.objects.all(), KNOWN["state"], after="", limit=1, row=lambda row: row)
    for other in ("-state", "attempts", "due"):
        with pytest.raises(InvalidInput) as refused:
            sorted_page(Scan.objects.all(), KNOWN[other], after=first.next_cursor, limit=1, row=lambda row: row)
        assert (refused.value.code, refused.value.where) == ("bad_cursor", "cursor")


def test_an_unknown_order_is_refused() -> None:
    assert order_of(KNOWN, "-due").columns[0] == SortColumn("due_at", datetime, descending=True)
    with pytest.raises(InvalidInput) as refused:
        order_of(KNOWN, "pk")
    assert refused.value.where == "ordering"


def test_the_minus_turns_the_first_column_only() -> None:
    assert [(column.name, column.descending) for column in KNOWN["-attempts"].columns] == [
        ("attempts", True),
        ("pk", True),
    ]
    assert [(column.name, column.descending) for column in KNOWN["-state"].columns] == [
        ("state", True),
        ("attempts", False),
        ("pk", True),
    ]
