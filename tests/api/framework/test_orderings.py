"""`ordering` of the lists besides clusters: each order as its name says, over pages; unknown names refused."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from migrations_app.models.cluster import Cluster
from migrations_app.queries.audit.log import AUDIT_ORDERS
from migrations_app.queries.campaigns.campaigns import CAMPAIGN_ORDERS
from migrations_app.queries.journeys.journeys import JOURNEY_ORDERS
from migrations_app.queries.rollouts.rollouts import ROLLOUT_ORDERS
from migrations_app.queries.scans.findings import FINDING_ORDERS
from migrations_app.queries.scans.scans import SCAN_ORDERS
from migrations_app.queries.scans.snapshots import SNAPSHOT_ORDERS
from tests.api.conftest import Tool
from tests.builders.campaigns import a_campaign
from tests.builders.journeys import a_journey
from tests.builders.rollouts import a_rollout
from tests.builders.rows import a_cluster, a_report, a_scan, a_snapshot
from tests.use_cases.audit.signed_log import write

pytestmark = pytest.mark.django_db
RANKS = {"severity": ("info", "warning", "blocker"), "risk": ("", "low", "medium", "high", "destructive")}
COLUMN = {
    "findings": FINDING_ORDERS, "snapshots": SNAPSHOT_ORDERS, "rollouts": ROLLOUT_ORDERS, "journeys": JOURNEY_ORDERS,
    "campaigns": CAMPAIGN_ORDERS, "audit": AUDIT_ORDERS, "clusters/{shop}/scans": SCAN_ORDERS,
}  # fmt: skip
EACH = [(path, name) for path, known in COLUMN.items() for name in known]


@pytest.fixture
def tool(ada: User) -> Tool:
    """Ada's client, the audit log included."""
    return Tool(ada, "read", "audit")


@pytest.fixture
def shop(tool: Tool) -> Cluster:
    """Two clusters with at least three rows in each list."""
    now = timezone.now()
    shop, bank = a_cluster("shop"), a_cluster("bank")
    for number, cluster in enumerate((shop, bank, shop)):
        then = now - timedelta(hours=number)
        a_snapshot(cluster, a_report(cluster.name), blockers=number % 2, at=then)
        a_rollout(cluster, state=("succeeded", "aborted", "failed")[number], risk=("low", "high", "medium")[number])
        a_campaign(cluster, name=f"wave {number % 2}", state="succeeded")
        a_scan(shop, state=("done", "failed", "queued")[number], finished_at=None if number == 2 else then)
    for cluster in (shop, bank):
        a_journey(cluster)
    write(3)
    return shop


def walked(tool: Tool, address: str | None) -> Iterator[dict[str, Any]]:
    """The rows of all pages."""
    while address:
        page = tool("GET", address).json()
        yield from page["results"]
        address = page["next"]


def key_of(row: dict[str, Any], field: str) -> Any:
    if field in RANKS:
        return RANKS[field].index(row[field])
    return "9999" if row[field] is None else row[field]


@pytest.mark.parametrize(("path", "name"), EACH, ids=lambda value: value.strip("/"))
def test_each_order_holds_over_pages(tool: Tool, shop: Cluster, path: str, name: str) -> None:
    address = path.format(shop=shop.pk)
    found = list(walked(tool, f"{address}?limit=2&ordering={name}"))
    told = [key_of(row, name.lstrip("-")) for row in found]
    assert len(found) >= 2
    assert told == sorted(told, reverse=name.startswith("-"))
    every = list(walked(tool, f"{address}?limit=500"))
    assert sorted(map(repr, found)) == sorted(map(repr, every))


@pytest.mark.parametrize("path", COLUMN)
def test_unknown_orders_are_refused(tool: Tool, shop: Cluster, path: str) -> None:
    for name in ("secret", "pk", "--state", "state,made_at", ""):
        refused = tool("GET", f"{path.format(shop=shop.pk)}?ordering={name}")
        assert refused.status_code == 400
        assert [one["pointer"] for one in refused.json()["errors"]] == ["#/ordering"]


def test_a_cursor_holds_for_its_own_order(tool: Tool, shop: Cluster) -> None:
    page = tool("GET", "rollouts?limit=1&ordering=risk").json()
    other = tool("GET", page["next"].replace("ordering=risk", "ordering=-risk"))
    assert (other.status_code, other.json()["code"]) == (400, "bad_cursor")
