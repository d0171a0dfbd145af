import json
import uuid
from collections.abc import Callable
from datetime import timedelta

import jsonschema
import pytest
from django.db.models import F

from migrations_app.checks.base import Reason
from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Snapshot
from migrations_app.readiness.outputs.json_schema import scan_schema
from tests.api.conftest import Tool, scan

Scanned = Callable[..., Cluster]


def test_the_body_is_the_report_of_the_published_schema(api: Tool, scanned: Scanned) -> None:
    row = scanned("alpha_030")
    told = api("GET", f"snapshots/{row.latest_id}").json()
    jsonschema.validate(told, scan_schema())
    assert (told["cluster"]["name"], told["cluster"]["stage"], told["schema"]) == (
        "alpha_030", "alpha", "karpdash/scan/v1",
    )  # fmt: skip


@pytest.mark.parametrize("address", ["snapshots/{row.latest_id}", "clusters/{row.pk}/plan"])
def test_no_reason_that_is_stored_for_our_own_logic_is_served(api: Tool, scanned: Scanned, address: str) -> None:
    row = scanned("forbidden")
    assert row.latest is not None
    assert any(
        isinstance(one.reason, Reason) and one.reason.code == "part_unread" for one in row.latest.report().checks
    )
    assert "part_unread" not in api("GET", address.format(row=row)).content.decode()


def test_the_tag_is_of_the_bytes_and_saves_sending_them_again(api: Tool, scanned: Scanned) -> None:
    path = f"snapshots/{scanned().latest_id}"
    first = api("GET", path)
    assert first["Cache-Control"] == "private, max-age=60"
    for condition in (first["ETag"], f'"other", {first["ETag"]}', f"W/{first['ETag']}", "*"):
        again = api("GET", path, if_none_match=condition)
        assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])
    assert api("GET", path, if_none_match='"other"').content == first.content


def test_snapshots_of_all_clusters_newest_first(api: Tool, scanned: Scanned) -> None:
    beta, partly = scanned("beta_037"), scanned("forbidden")
    scan(beta)
    for minutes, row in enumerate((beta.latest_id, partly.latest_id), 1):  # sample clusters all say one time
        Snapshot.objects.filter(pk=row).update(scanned_at=F("scanned_at") - timedelta(minutes=4 - minutes))
    told = api("GET", "snapshots").json()["results"]
    assert [row["cluster_name"] for row in told] == ["beta_037", "forbidden", "beta_037"]
    assert [row["complete"] for row in told] == [True, False, True]
    only = api("GET", f"snapshots?cluster={partly.pk}").json()["results"]
    assert [(row["cluster"], row["id"]) for row in only] == [(str(partly.pk), str(partly.latest_id))]
    assert [row["id"] for row in api("GET", "snapshots?complete=false").json()["results"]] == [str(partly.latest_id)]
    first = api("GET", "snapshots?limit=1").json()
    assert api("GET", first["next"]).json()["results"][0]["id"] == str(partly.latest_id)


def test_the_nodes_by_name_filtered_and_in_pages(api: Tool, scanned: Scanned) -> None:
    path = f"snapshots/{scanned('halfway_032').latest_id}/nodes"
    every = api("GET", path).json()["results"]
    assert [row["name"] for row in every] == sorted(row["name"] for row in every)
    assert len(every) == 12
    alpha = api("GET", f"{path}?owner=karpenter_alpha").json()["results"]
    assert alpha == [row for row in every if row["owner"] == "karpenter_alpha"]
    walked, address = [], f"{path}?limit=5"
    while address:
        page = api("GET", address).json()
        walked += page["results"]
        address = page["next"]
    assert walked == every


def test_nodes_are_found_by_part_of_their_name(api: Tool, scanned: Scanned) -> None:
    path = f"snapshots/{scanned().latest_id}/nodes"
    name = api("GET", path).json()["results"][0]["name"]
    assert [row["name"] for row in api("GET", f"{path}?q={name}").json()["results"]] == [name]


@pytest.mark.parametrize("path", ["snapshots/{}", "snapshots/{}/nodes"])
def test_a_snapshot_that_is_not_there(api: Tool, path: str) -> None:
    said = api("GET", path.format(uuid.uuid4()))
    assert (said.status_code, json.loads(said.content)["code"]) == (404, "not_found")


def test_findings_in_full_with_their_age(api: Tool, scanned: Scanned) -> None:
    row = scanned("beta_037")
    first = row.latest_id
    whole = api("GET", f"snapshots/{first}").json()["checks"]
    told = api("GET", f"snapshots/{first}/findings?limit=500").json()["results"]
    assert [(one["check"], one["hop"]) for one in told] == [(one["id"], one["hop"]) for one in whole]
    for name in ("title", "why", "summary", "evidence_total", "sources", "status"):
        assert [one[name] for one in told] == [one[name] for one in whole]
    assert [len(one["evidence"]) for one in told] == [len(one["evidence"]) for one in whole]
    assert [[fix["text"] for fix in one["remedies"]] for one in told] == [
        [fix["text"] for fix in one["remedies"]] for one in whole
    ]
    assert {one["since_exact"] for one in told} == {False}


def test_findings_of_an_older_and_a_newer_snapshot_have_their_own_age(api: Tool, scanned: Scanned) -> None:
    row = scanned("beta_037")
    first = row.latest_id
    scan(row)
    row.refresh_from_db()
    Snapshot.objects.filter(pk=first).update(scanned_at=F("scanned_at") - timedelta(days=3))
    told = api("GET", f"snapshots/{row.latest_id}/findings?status=fail&limit=3").json()
    oldest = Snapshot.objects.get(pk=first).scanned_at
    assert {one["status"] for one in told["results"]} == {"fail"}
    assert {one["since"][:19] for one in told["results"]} == {oldest.isoformat()[:19]}
    rest = api("GET", told["next"]).json()["results"] if told["next"] else []
    assert not {one["check"] + one["hop"] for one in told["results"]} & {one["check"] + one["hop"] for one in rest}
