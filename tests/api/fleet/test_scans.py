"""fleet/scans: asked for once, followed to its end."""

import uuid
from typing import Any

import pytest

from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import FleetScan, Scan
from migrations_app.use_cases.scans import fleet_scan
from tests.api.conftest import Tool


@pytest.fixture
def woken(monkeypatch: pytest.MonkeyPatch) -> list[uuid.UUID]:
    found: list[uuid.UUID] = []
    monkeypatch.setattr("migrations_app.api.fleet.scans.enqueue_fleet_scan", found.append)
    return found


@pytest.fixture
def blue(db: None) -> Cluster:
    return Cluster.objects.create(name="blue", source="sample", context="beta_037")


def test_it_is_asked_for_and_followed(
    api: Tool, blue: Cluster, woken: list[uuid.UUID], django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        said = api("POST", "fleet/scans")
    row = FleetScan.objects.get()
    assert (said.status_code, said["Location"]) == (202, f"http://testserver/api/v1/fleet/scans/{row.pk}")
    told = said.json()
    assert (told["requested_by"], told["total"], told["waiting"], told["open"], woken) == ("ada", 1, 1, True, [row.pk])
    assert api("GET", said["Location"]).json() == told


def test_a_second_one_is_the_first(api: Tool, blue: Cluster, woken: list[uuid.UUID]) -> None:
    first, second = (api("POST", "fleet/scans").json()["id"] for _ in range(2))
    assert (first, FleetScan.objects.count()) == (second, 1)


def test_failures_are_named(api: Tool, blue: Cluster, woken: list[uuid.UUID]) -> None:
    key = api("POST", "fleet/scans").json()["id"]
    list(fleet_scan.begin(uuid.UUID(key)))
    Scan.objects.update(state="failed", error_code="timeout", error_detail="no answer")
    told = api("GET", f"fleet/scans/{key}").json()
    failed = {"cluster": str(blue.pk), "name": "blue", "code": "timeout", "detail": "no answer", "failures": 0}
    assert (told["failed"], told["ended"], told["failures"], told["slow"]) == (1, 1, [failed], [])


def test_a_full_disk_is_said(api: Tool, blue: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("migrations_app.use_cases.runtime.disk_space.why_full", lambda: "3 MiB left")
    answers = [api("POST", "fleet/scans"), api("POST", f"clusters/{blue.pk}/scans")]
    assert [(said.status_code, said.json()["code"]) for said in answers] == [(409, "disk_full")] * 2


@pytest.mark.parametrize(("scope", "status"), [("read", 403), ("metrics", 403), ("scan", 202)])
def test_it_needs_the_scope(ada: Any, blue: Cluster, woken: list[uuid.UUID], scope: str, status: int) -> None:
    assert Tool(ada, scope)("POST", "fleet/scans").status_code == status


def test_it_needs_the_right(ben: Any, cleo: Any, woken: list[uuid.UUID]) -> None:
    assert [Tool(one, "scan")("POST", "fleet/scans").status_code for one in (ben, cleo)] == [403, 202]


def test_what_is_not_there(api: Tool) -> None:
    assert api("GET", f"fleet/scans/{uuid.uuid4()}").json()["code"] == "not_found"
    assert api("POST", "fleet/scans", {"force": True}).status_code == 400
