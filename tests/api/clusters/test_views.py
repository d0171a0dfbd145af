import base64
import io
import uuid
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Scan
from migrations_app.samples import fleet
from tests.api.conftest import Tool
from tests.builders.rows import a_cluster, a_snapshot
from tests.servers.pki import Authority

Scanned = Callable[..., Cluster]


def kubeconfig(server: str = "https://127.0.0.1:9") -> str:
    ca = base64.b64encode(Authority("test").pem.encode()).decode()
    return msgspec.json.encode(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "a",
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
            "clusters": [{"name": "a", "cluster": {"server": server, "certificate-authority-data": ca}}],
            "users": [{"name": "a", "user": {"token": "s3cret-t0ken"}}],
        }
    ).decode()


@pytest.fixture
def blue(db: None) -> Cluster:
    return Cluster.objects.create(name="blue", source="sample", context="beta_037", environment="test")


def test_the_list_shows_the_latest_numbers(api: Tool, scanned: Scanned) -> None:
    row = scanned("beta_037")
    told = api("GET", "clusters").json()
    (shown,) = told["results"]
    assert (told["next"], shown["id"], shown["name"]) == (None, str(row.pk), "beta_037")
    assert (shown["stage"], shown["karpenter_version"], shown["verdict"], shown["bucket"]) == (
        "beta_v1", "0.37.8", "ready", "ready",
    )  # fmt: skip


def test_pages_follow_next_until_it_is_null(api: Tool) -> None:
    names = [f"c{number}" for number in range(5)]
    Cluster.objects.bulk_create(Cluster(name=name, source="sample") for name in names)
    first = api("GET", "clusters?limit=2")
    assert first["Link"] == f'<{first.json()["next"]}>; rel="next"'
    second = api("GET", first.json()["next"])
    third = api("GET", second.json()["next"])
    pages = [[row["name"] for row in page.json()["results"]] for page in (first, second, third)]
    assert (pages, third.json()["next"], "Link" in third) == ([names[:2], names[2:4], names[4:]], None, False)


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("q=eta", ["beta_037"]),
        ("stage=alpha", ["alpha_030"]),
        ("bucket=ready", ["beta_037"]),
        ("environment=none", []),
        ("environment=test&stage=v1", []),
    ],
)
def test_filters(api: Tool, scanned: Scanned, query: str, wanted: list[str]) -> None:
    scanned("beta_037")
    scanned("alpha_030")
    assert [row["name"] for row in api("GET", f"clusters?{query}").json()["results"]] == wanted


def test_a_page_costs_the_same_queries_whatever_its_size(api: Tool) -> None:
    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as seen:
            api("GET", "clusters?limit=500")
        return len(seen)

    api("GET", "clusters")
    Cluster.objects.create(name="one", source="sample")
    few = queries()
    Cluster.objects.bulk_create(Cluster(name=f"c{number}", source="sample") for number in range(300))
    assert queries() == few


def test_a_kubeconfig_is_registered_and_its_first_scan_queued(
    api: Tool, house: list[uuid.UUID], django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        made = api("POST", "clusters", {"name": "red", "kubeconfig": kubeconfig(), "target": "1.0"})
    row = Cluster.objects.get()
    assert (made.status_code, made["Location"], made["ETag"]) == (
        201, f"http://testserver/api/v1/clusters/{row.pk}", '"v1"',
    )  # fmt: skip
    assert (made.json()["name"], made.json()["server"], made.json()["target"]) == ("red", "https://127.0.0.1:9", "1.0")
    assert (row.created_by, b"s3cret" in bytes(row.sealed or b""), "s3cret" in made.content.decode()) == (
        "ada", False, False,
    )  # fmt: skip
    assert house == [Scan.objects.get().pk]


def test_a_bundle_is_uploaded_as_a_form(api: Tool) -> None:
    story = fleet.find("v1_13")
    assert story is not None
    file = io.BytesIO(fleet.files(story)["objects.json"])
    file.name = "objects.json"
    made = api.upload("clusters", {"name": "dump", "bundle": file})
    assert (made.status_code, made.json()["source"]) == (201, "bundle")


@pytest.mark.parametrize(
    ("body", "code", "pointer"),
    [
        ({}, "invalid", "#/name"),
        ({"name": "a"}, "bad_input", "#/kubeconfig"),
        ({"name": "a", "kubeconfig": "x"}, "bad_kubeconfig", "#/kubeconfig"),
        ({"name": "a", "kubeconfig": kubeconfig(), "target": "9.9"}, "unknown_target", "#/target"),
        ({"name": "a", "kubeconfig": kubeconfig(), "sealed": "x"}, "invalid", "#/sealed"),
        ({"name": 7, "kubeconfig": kubeconfig()}, "invalid", "#/name"),
        ({"name": "a\u0000", "kubeconfig": kubeconfig()}, "invalid", "#/name"),
        ({"name": "a", "kubeconfig": kubeconfig("http://127.0.0.1")}, "bad_kubeconfig", "#/kubeconfig"),
        ([], "invalid", "#"),
    ],
)
def test_bad_input_is_pointed_at(api: Tool, body: Any, code: str, pointer: str) -> None:
    said = api("POST", "clusters", body)
    assert (said.status_code, said.json()["code"], said.json()["errors"][0]["pointer"]) == (400, code, pointer)
    assert Cluster.objects.count() == 0


def test_a_bundle_that_holds_nothing_is_refused(api: Tool) -> None:
    said = api.upload("clusters", {"name": "dump", "bundle": io.BytesIO(b"a: b\n")})
    assert (said.status_code, said.json()["code"], Cluster.objects.count()) == (400, "bad_bundle", 0)


@pytest.mark.usefixtures("blue")
def test_a_name_is_taken_once(api: Tool) -> None:
    said = api("POST", "clusters", {"name": "blue", "kubeconfig": kubeconfig()})
    assert (said.status_code, said.json()["code"]) == (409, "name_taken")


def test_one_cluster_before_its_first_scan(api: Tool, blue: Cluster) -> None:
    said = api("GET", f"clusters/{blue.pk}")
    told = said.json()
    assert (said["ETag"], told["snapshot"], told["scan_under_way"], told["snapshots"]) == ('"v1"', None, None, 0)
    assert sorted(set(told) & {"sealed", "kubeconfig", "credential_version"}) == []


def test_one_cluster_after_a_scan(api: Tool, scanned: Scanned) -> None:
    row = scanned()
    told = api("GET", f"clusters/{row.pk}").json()
    assert (told["snapshot"]["id"], told["snapshot"]["verdict"]) == (str(row.latest_id), "ready")


def test_a_change_needs_the_tag_that_was_read(api: Tool, blue: Cluster) -> None:
    path = f"clusters/{blue.pk}"
    assert api("PATCH", path, {"name": "green"}).json()["code"] == "if_match_needed"
    stale = api("PATCH", path, {"name": "green"}, if_match='"v7"')
    assert (stale.status_code, stale.json()["code"]) == (412, "stale")
    done = api("PATCH", path, {"name": "green"}, if_match='"v1"')
    assert (done.status_code, done["ETag"], done.json()["name"], done.json()["environment"]) == (
        200, '"v2"', "green", "test",
    )  # fmt: skip
    assert api("PATCH", path, {"name": "red"}, if_match='"v1"').status_code == 412


@pytest.mark.parametrize("field", ["id", "sealed", "version", "failures", "created_by", "latest", "source", "server"])
def test_nothing_else_can_be_written(api: Tool, blue: Cluster, field: str) -> None:
    before = Cluster.objects.values().get()
    said = api("PATCH", f"clusters/{blue.pk}", {field: "1"}, if_match="*")
    assert (said.status_code, said.json()["errors"][0]["pointer"]) == (400, f"#/{field}")
    assert Cluster.objects.values().get() == before


def test_removal_needs_the_tag_too(api: Tool, blue: Cluster) -> None:
    assert api("DELETE", f"clusters/{blue.pk}").status_code == 428
    assert api("DELETE", f"clusters/{blue.pk}", if_match='"v2"').status_code == 412
    gone = api("DELETE", f"clusters/{blue.pk}", if_match='"v1"')
    assert (gone.status_code, gone.content, Cluster.objects.count()) == (204, b"", 0)


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
def test_a_cluster_that_is_not_there(api: Tool, method: str) -> None:
    said = api(method, f"clusters/{uuid.uuid4()}", *([{}] if method == "PATCH" else []), if_match="*")
    assert (said.status_code, said.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("given", "status"), [(60, 200), (604_800, 200), (None, 200), (59, 400), (604_801, 400), ("90", 400), (True, 400)]
)
def test_the_interval_of_a_cluster_is_changed(api: Tool, scanned: Any, given: Any, status: int) -> None:
    row = scanned()
    said = api("PATCH", f"clusters/{row.pk}", {"interval_seconds": given}, if_match="*")
    row.refresh_from_db()
    assert (said.status_code, row.interval_seconds) == (status, given if status == 200 else None)
    if status == 200:
        assert said.json()["interval_seconds"] == given


class TestTheListAsAsked:
    @pytest.fixture
    def fleet(self, db):
        for name, blockers in (("c", 1), ("a", 3), ("b", 2)):
            a_snapshot(a_cluster(name), blockers=blockers)

    @pytest.mark.parametrize(
        ("ordering", "names"),
        [("name", "abc"), ("-name", "cba"), ("blockers", "cba"), ("-blockers", "abc"), ("", "abc")],
    )
    def test_the_order_is_chosen_and_holds_over_pages(self, api, fleet, ordering, names):
        found, address = [], f"clusters?limit=2{f'&ordering={ordering}' if ordering else ''}"
        while address:
            page = api("GET", address).json()
            found, address = found + [row["name"] for row in page["results"]], page["next"]
        assert "".join(found) == names

    def test_an_order_that_there_is_not(self, api, fleet):
        assert api("GET", "clusters?ordering=secret").status_code == 400

    def test_the_total_is_told_on_request(self, api, fleet):
        assert api("GET", "clusters?limit=1&total=true").json()["total"] == 3
        assert "total" not in api("GET", "clusters?limit=1").json()

    def test_only_the_fields_that_are_asked_for(self, api, fleet):
        rows = api("GET", "clusters?fields=name,blockers").json()["results"]
        assert rows == [{"name": "a", "blockers": 3}, {"name": "b", "blockers": 2}, {"name": "c", "blockers": 1}]
        refused = api("GET", "clusters?fields=name,sealed")
        assert (refused.status_code, refused.json()["detail"]) == (400, "there is no field 'sealed'")
