"""A client that openapi-python-client generates from the published document does the main jobs."""

import importlib
import io
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from migrations_app.models.cluster import Cluster
from migrations_app.samples import fleet
from tests.api.clusters.test_views import kubeconfig
from tests.generated_clients.conftest import DOCUMENT, Target

PACKAGE = "karpdash_generated"


@pytest.fixture(scope="module")
def _generated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("generated")
    words = ["generate", "--path", str(DOCUMENT), "--output-path", str(folder / PACKAGE), "--meta", "none"]
    command = [sys.executable, "-m", "openapi_python_client", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    sys.path.insert(0, str(folder))
    yield
    sys.path.remove(str(folder))


class Generated:
    """Calls operations of the generated package by their names."""

    def __init__(self, target: Target) -> None:
        client = self.part("client").AuthenticatedClient
        self._client = client(base_url=target.address, token=target.secret, raise_on_unexpected_status=True)

    def close(self) -> None:
        self._client.get_httpx_client().close()

    def part(self, name: str) -> Any:
        return importlib.import_module(f"{PACKAGE}.{name}")

    def __call__(self, tag: str, operation: str, *parts: Any, **values: Any) -> Any:
        """The parsed answer."""
        return self.part(f"api.{tag}.{operation}").sync(*parts, client=self._client, **values)

    def model(self, model: str, /, *values: Any, **fields: Any) -> Any:
        return getattr(self.part("models"), model)(*values, **fields)


@pytest.fixture
def call(_generated: None, target: Target) -> Iterator[Generated]:
    made = Generated(target)
    yield made
    made.close()


def test_clusters_are_listed_and_read(call: Generated, target: Target) -> None:
    listed = call("clusters", "clusters_list", limit=5)
    assert [row.name for row in listed.results] == ["beta"]
    shown = call("clusters", "clusters_read", target.cluster.pk)
    assert (shown.id, shown.snapshot.verdict) == (target.cluster.pk, "ready")


def test_a_kubeconfig_and_a_bundle_are_registered(call: Generated) -> None:
    made = call("clusters", "clusters_create", body=call.model("NewCluster", name="live", kubeconfig=kubeconfig()))
    assert Cluster.objects.get(pk=made.id).source == "kubeconfig"
    story = fleet.find("v1_13")
    assert story is not None
    file = call.part("types").File(io.BytesIO(fleet.files(story)["objects.json"]), "objects.json", "application/json")
    dump = call("clusters", "clusters_create", body=call.model("NewBundle", name="dump", bundle=file))
    assert Cluster.objects.get(pk=dump.id).source == "bundle"


def test_a_scan_is_queued_and_its_findings_read(call: Generated, target: Target) -> None:
    queued = call("scans", "cluster_scans_create", target.cluster.pk, idempotency_key="python")
    assert (queued.state, UUID(str(queued.cluster))) == ("queued", target.cluster.pk)
    found = call("findings", "findings_list", cluster=target.cluster.pk, limit=3)
    assert len(found.results) == 3
    assert all(row.check for row in found.results)


def test_a_service_account_gets_a_token_and_people_a_role(call: Generated) -> None:
    role, scope = call.model("NewServiceRole", "viewer"), call.model("NewServiceScopesItem", "read")
    wanted = call.model("NewService", name="ci", role=role, everywhere=True, scopes=[scope])
    made = call("service_accounts", "services_create", body=wanted)
    scopes = [call.model("NewServiceTokenScopesItem", "read")]
    body = call.model("NewServiceToken", name="x", scopes=scopes, days=None)
    issued = call("service_accounts", "service_tokens_create", made.id, body=body)
    assert (made.account, issued.expires_at, issued.secret[:3]) == ("service:ci", None, "kd_")
    team = call("teams", "teams_create", body=call.model("NewTeam", name="night"))
    grant = call.model("NewGrant", role=call.model("NewGrantRole", "operator"), team="night", over=None)
    assert (team.members, call("grants", "grants_create", body=grant).team) == ([], "night")


def test_what_happens_is_followed_by_a_cursor(call: Generated, target: Target) -> None:
    first = call("events", "events_list")
    call("scans", "cluster_scans_create", target.cluster.pk, idempotency_key="followed")
    told = call("events", "events_list", cursor=first.cursor)
    assert [(row.event, row.cluster) for row in told.results] == [("scan.requested", target.cluster.pk)]


def test_what_is_missing_is_a_problem_with_a_code(call: Generated) -> None:
    answer = call("clusters", "clusters_read", UUID(int=0))
    assert type(answer).__name__ == "ProblemBody"
    assert (answer.code, answer.status) == ("not_found", 404)
