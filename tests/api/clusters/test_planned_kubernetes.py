"""Reports and plans over REST with a planned Kubernetes."""

from collections.abc import Callable

import pytest

from migrations_app.models.cluster import Cluster
from tests.api.conftest import Tool
from tests.builders.newest import NEWEST_MINOR

Scanned = Callable[..., Cluster]
SAID = "Kubernetes 1.99, as planned, is supported by no release of this path"
ADDRESSES = ["snapshots/{row.latest_id}", "clusters/{row.pk}/plan"]


def told(api: Tool, row: Cluster, query: str) -> list[dict[str, object]]:
    """The answers about the window of Kubernetes, by hop."""
    checks = api("GET", f"snapshots/{row.latest_id}{query}").json()["checks"]
    return [one for one in checks if one["id"] == "kubernetes_inside_window"]


def test_the_last_hop_is_judged_with_the_plan(api: Tool, scanned: Scanned) -> None:
    row = scanned("v1_13")
    assert {one["status"] for one in told(api, row, "")} == {"pass"}
    assert [(one["hop"], one["status"]) for one in told(api, row, "?kubernetes=1.99")] == [(NEWEST_MINOR, "fail")]


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_note_and_how_far_the_tables_reach_are_in_the_answer(api: Tool, scanned: Scanned, address: str) -> None:
    body = api("GET", f"{address.format(row=scanned('v1_13'))}?kubernetes=1.99").json()
    notes = body["notes"] if "notes" in body else body["target"]["notes"]
    assert any(note.startswith(SAID) for note in notes)
    assert set(body["known_up_to"]) == {"release", "date"}


def test_sarif_too(api: Tool, scanned: Scanned) -> None:
    row = scanned("v1_13")
    assert "1.99 (planned)" in api("GET", f"snapshots/{row.latest_id}/sarif?kubernetes=1.99").content.decode()


@pytest.mark.parametrize("address", [*ADDRESSES, "snapshots/{row.latest_id}/sarif"])
@pytest.mark.parametrize("given", ["latest", "33", "1.33%3Brm"])
def test_what_is_no_version_is_refused_by_its_name(api: Tool, scanned: Scanned, address: str, given: str) -> None:
    answer = api("GET", f"{address.format(row=scanned('v1_13'))}?kubernetes={given}")
    assert answer.status_code == 400
    assert "kubernetes" in answer.content.decode()
