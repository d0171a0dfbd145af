from collections.abc import Callable

import pytest

from migrations_app.models.cluster import Cluster
from migrations_app.models.snapshot import FindingRow
from tests.api.conftest import Tool, scan

Scanned = Callable[..., Cluster]


def test_findings_of_the_latest_snapshots_by_cluster(api: Tool, scanned: Scanned) -> None:
    beta, alpha = scanned("beta_037"), scanned("alpha_030")
    scan(beta)
    told = api("GET", "findings?limit=500").json()["results"]
    names = [row["cluster_name"] for row in told]
    assert (names, set(names)) == (sorted(names), {"alpha_030", "beta_037"})
    assert {row["snapshot"] for row in told if row["cluster"] == str(alpha.pk)} == {str(alpha.latest_id)}
    assert len(told) == FindingRow.objects.count()


def test_pages_lose_and_repeat_nothing(api: Tool, scanned: Scanned) -> None:
    scanned("beta_037")
    scanned("v1_13")
    whole = api("GET", "findings?limit=500").json()["results"]
    walked, address = [], "findings?limit=7"
    while address:
        page = api("GET", address).json()
        walked += page["results"]
        address = page["next"]
    assert walked == whole


@pytest.mark.parametrize(
    ("query", "field", "value"),
    [
        ("status=fail", "status", "fail"),
        ("severity=warning", "severity", "warning"),
        ("hop=0.33%2B", "hop", "0.33+"),
        ("phase=crds", "phase", "crds"),
        ("check=legacy_provisioners_gone", "check", "legacy_provisioners_gone"),
    ],
)
def test_filters(api: Tool, scanned: Scanned, query: str, field: str, value: str) -> None:
    scanned("alpha_030")
    every = api("GET", "findings?limit=500").json()["results"]
    wanted = [row for row in every if row[field] == value]
    assert wanted != []
    assert api("GET", f"findings?limit=500&{query}").json()["results"] == wanted


def test_one_cluster_only(api: Tool, scanned: Scanned) -> None:
    row = scanned("beta_037")
    scanned("v1_13")
    told = api("GET", f"findings?limit=500&cluster={row.pk}").json()["results"]
    assert {finding["cluster"] for finding in told} == {str(row.pk)}
