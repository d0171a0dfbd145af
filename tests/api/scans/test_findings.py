from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from migrations_app.models.cluster import Cluster
from migrations_app.models.policy import Waiver
from migrations_app.models.scan import FindingRow
from tests.api.conftest import Tool, scan
from tests.builders.rows import a_cluster, a_finding, a_report, a_snapshot

FORMERLY, TODAY = "unread_kinds_current", "policies_name_current_keys"
Scanned = Callable[..., Cluster]


def everything(api: Tool, query: str = "limit=500") -> list[dict[str, Any]]:
    """All rows of the list, page by page."""
    walked: list[dict[str, Any]] = []
    address = f"findings?{query}"
    while address:
        page = api("GET", address).json()
        walked += page["results"]
        address = page["next"]
    return walked


def test_findings_of_the_latest_snapshots_by_cluster(api: Tool, scanned: Scanned) -> None:
    beta, alpha = scanned("beta_037"), scanned("alpha_030")
    scan(beta)
    told = everything(api)
    names = [row["cluster_name"] for row in told]
    assert (names, set(names)) == (sorted(names), {"alpha_030", "beta_037"})
    assert {row["snapshot"] for row in told if row["cluster"] == str(alpha.pk)} == {str(alpha.latest_id)}
    assert len(told) == FindingRow.objects.count()


def test_pages_lose_and_repeat_nothing(api: Tool, scanned: Scanned) -> None:
    scanned("beta_037")
    scanned("v1_13")
    whole = everything(api)
    assert everything(api, "limit=7") == whole


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
    every = everything(api)
    wanted = [row for row in every if row[field] == value]
    assert wanted != []
    assert everything(api, f"limit=500&{query}") == wanted


def test_one_cluster_only(api: Tool, scanned: Scanned) -> None:
    row = scanned("beta_037")
    scanned("v1_13")
    told = everything(api, f"limit=500&cluster={row.pk}")
    assert {finding["cluster"] for finding in told} == {str(row.pk)}


def test_a_number_says_whether_it_is_all_there_is(api: Tool, scanned: Scanned) -> None:
    """A lower bound is one in every list, not only in the report."""
    row = scanned("forbidden")
    told = {(one["check"], one["hop"]): one["evidence_exact"] for one in everything(api)}
    assert row.latest is not None
    assert told == {(one.id, one.hop): one.evidence_exact for one in row.latest.report().checks}
    assert set(told.values()) == {True, False}


def test_what_an_older_release_wrote_is_not_known(api: Tool, scanned: Scanned) -> None:
    scanned("beta_037")
    FindingRow.objects.update(evidence_exact=None)
    assert {one["evidence_exact"] for one in everything(api)} == {None}


@pytest.mark.parametrize("address", ["findings", "clusters", "fleet/summary", "snapshots/{snapshot}/findings"])
@pytest.mark.parametrize(
    ("query", "pointer"), [("check=no_such_check", "#/check"), ("check=stored_versions_clean&hop=0.99", "#/hop")]
)
def test_a_slip_of_the_pen_is_not_an_empty_list(
    api: Tool, scanned: Scanned, address: str, query: str, pointer: str
) -> None:
    snapshot = scanned("beta_037").latest_id
    answer = api("GET", f"{address.format(snapshot=snapshot)}?{query}")
    assert (answer.status_code, [error["pointer"] for error in answer.json()["errors"]]) == (400, [pointer])


@pytest.mark.parametrize("stored", [TODAY, FORMERLY])
@pytest.mark.parametrize(
    "address", ["findings", "snapshots/{snapshot}/findings", "clusters", "fleet/summary", "waivers"]
)
def test_a_check_is_found_by_either_name_whichever_is_stored(api: Tool, address: str, stored: str) -> None:
    """A snapshot or waiver from before the check was renamed holds its former name."""
    shop, other = a_cluster("shop"), a_cluster("other")
    snapshot = a_snapshot(shop, a_report("shop", checks=(a_finding(stored), a_finding("crds_served", status="pass"))))
    a_snapshot(other, a_report("other", checks=(a_finding("crds_served"),)))
    ends = timezone.now() + timedelta(days=1)
    for check, cluster in ((stored, other), ("crds_served", shop)):
        Waiver.objects.create(cluster=cluster, check_id=check, ends_at=ends, made_at=timezone.now())
    place = address.format(snapshot=snapshot.pk)
    both = [api("GET", f"{place}?check={name}").json() for name in (TODAY, FORMERLY)]
    assert both[0] == both[1]
    if address == "fleet/summary":
        assert both[0]["clusters"] == 1
    else:
        assert [row.get("check", row.get("name")) for row in both[0]["results"]] == [
            "shop" if address == "clusters" else stored
        ]


@pytest.mark.parametrize("address", ["findings", "snapshots"])
def test_a_cluster_that_is_not_there_has_no_empty_list(api: Tool, scanned: Scanned, address: str) -> None:
    there = scanned("beta_037").pk
    gone = "00000000-0000-0000-0000-000000000001"
    assert [api("GET", f"{address}?cluster={one}").status_code for one in (there, gone)] == [200, 404]


def test_the_findings_of_a_sample_are_there_where_it_is_named(api: Tool, scanned: Scanned) -> None:
    sample = scanned("beta_037")
    Cluster.objects.filter(pk=sample.pk).update(source=Cluster.Source.SAMPLE)
    Cluster.objects.create(name="real", source=Cluster.Source.KUBECONFIG)
    assert everything(api) == []
    assert {row["cluster_name"] for row in everything(api, f"cluster={sample.pk}&limit=500")} == {"beta_037"}


def test_a_finding_names_the_earlier_hop_that_reports_it(api: Tool, scanned: Scanned) -> None:
    snapshot = scanned("beta_037").latest_id
    rows = api("GET", f"snapshots/{snapshot}/findings?check=instance_tags_match_conditions").json()["results"]
    assert {row["hop"]: (row["status"], row["asked_at"]) for row in rows} == {
        "1.0": ("pass", ""), "1.1+": ("pass", ""), "1.14": ("unknown", "1.1+"),
    }  # fmt: skip
