import uuid
from typing import Any

import pytest

from migrations_app.inventory.inventory import PART_NAMES
from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Scan
from tests.api.conftest import Tool, scan


@pytest.fixture
def blue(db: None) -> Cluster:
    return Cluster.objects.create(name="blue", source="sample", context="beta_037")


def test_a_scan_is_queued_and_can_be_followed(
    api: Tool, blue: Cluster, house: list[uuid.UUID], django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        said = api("POST", f"clusters/{blue.pk}/scans")
    row = Scan.objects.get()
    assert (said.status_code, said["Location"]) == (202, f"http://testserver/api/v1/scans/{row.pk}")
    assert (said.json()["state"], said.json()["requested_by"], house) == ("queued", "ada", [row.pk])
    assert api("GET", said["Location"]).json() == said.json()


def test_a_scan_under_way_is_not_doubled(api: Tool, blue: Cluster) -> None:
    first, second = (api("POST", f"clusters/{blue.pk}/scans").json()["id"] for _ in range(2))
    assert (first, Scan.objects.count()) == (second, 1)


def test_a_scan_that_is_done_names_its_snapshot(api: Tool, blue: Cluster) -> None:
    told = api("GET", f"scans/{scan(blue)}").json()
    blue.refresh_from_db()
    assert (told["state"], told["snapshot"], told["error_code"]) == ("done", str(blue.latest_id), "")


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("stored", [{}, {"parts_done": 3, "parts_total": 40, "now": "pods"}])
def test_a_scan_that_is_done_has_read_every_part(api: Tool, blue: Cluster, stored: dict[str, Any], kept: bool) -> None:
    done = scan(blue)
    Scan.objects.update(progress=stored, **({} if kept else {"snapshot": None}))  # retention removes old snapshots
    told = api("GET", f"scans/{done}").json()
    assert told["parts_done"] == told["parts_total"] == stored.get("parts_total", len(PART_NAMES))


def test_a_scan_that_failed_says_why(api: Tool, db: None) -> None:
    lost = Cluster.objects.create(name="lost", source="sample", context="no such story")
    told = api("GET", f"scans/{scan(lost)}").json()
    assert (told["state"], told["snapshot"], told["error_code"]) == ("failed", None, "bad_input")


def test_the_scans_of_a_cluster_newest_first_in_pages(api: Tool, blue: Cluster) -> None:
    made = [str(scan(blue)) for _ in range(3)]
    first = api("GET", f"clusters/{blue.pk}/scans?limit=2").json()
    second = api("GET", first["next"]).json()
    assert [row["id"] for row in first["results"] + second["results"]] == made[::-1]


@pytest.mark.parametrize("path", ["scans/{}", "clusters/{}/scans"])
def test_what_is_not_there(api: Tool, path: str) -> None:
    assert api("GET", path.format(uuid.uuid4())).status_code == 404


def test_a_scan_of_no_cluster(api: Tool) -> None:
    assert api("POST", f"clusters/{uuid.uuid4()}/scans").json()["code"] == "not_found"


def test_a_scan_takes_no_fields(api: Tool, blue: Cluster) -> None:
    said = api("POST", f"clusters/{blue.pk}/scans", {"force": True})
    assert (said.status_code, Scan.objects.count()) == (400, 0)


def test_one_check_is_asked_alone(api: Tool, blue: Cluster) -> None:
    scan(blue)
    said = api("POST", f"clusters/{blue.pk}/scans", {"check": "hop_crds_installed"}).json()
    assert (said["state"], said["only_check"], said["check_answer"]) == ("queued", "hop_crds_installed", None)
    told = api("GET", f"scans/{scan(blue, check='hop_crds_installed')}").json()
    assert (told["id"], told["state"], told["snapshot"]) == (said["id"], "done", None)
    answer = told["check_answer"]
    assert (answer["check"], answer["status"]) == ("hop_crds_installed", "fail")
    assert answer["parts"] < answer["parts_total"]


def test_a_check_that_is_none_is_refused(api: Tool, blue: Cluster) -> None:
    said = api("POST", f"clusters/{blue.pk}/scans", {"check": "no_such_check"})
    assert (said.status_code, said.json()["code"], Scan.objects.count()) == (400, "bad_input", 0)
