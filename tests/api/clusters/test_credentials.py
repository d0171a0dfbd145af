"""PUT clusters/{id}/kubeconfig: other credentials, proven, never read back."""

import pytest

from migrations_app.models.audit import AuditEvent
from migrations_app.models.cluster import Cluster
from migrations_app.use_cases.clusters.registration import Details, register_kubeconfig
from migrations_app.use_cases.runtime.connections import unsealed
from tests.api.conftest import Tool
from tests.clients.one_cluster import TOKEN, OneCluster, kubeconfig_for
from tests.fakes.evilk8s import EvilServer


@pytest.fixture
def there():
    with EvilServer(OneCluster()) as server:
        yield server


@pytest.fixture
def shop(ada, there):
    return register_kubeconfig(kubeconfig_for(there, token="old").encode(), Details(name="shop", by="ada"))


@pytest.fixture
def admin(ada):
    return Tool(ada, "read", "admin")


def tag(admin, shop) -> str:
    return admin("GET", f"clusters/{shop}")["ETag"]


def test_they_are_proven_and_kept(admin, shop, there):
    told = admin("PUT", f"clusters/{shop}/kubeconfig", {"kubeconfig": kubeconfig_for(there)}, if_match=tag(admin, shop))
    assert (told.status_code, told["ETag"], told.json()["name"]) == (200, tag(admin, shop), "shop")
    assert Cluster.objects.get().version == 2
    assert TOKEN.encode() in unsealed(Cluster.objects.get())
    assert TOKEN not in told.content.decode()  # T23
    assert AuditEvent.objects.get(verb="access.replaced").actor == "ada"


@pytest.mark.parametrize(
    ("body", "etag", "status", "code"),
    [
        ({"kubeconfig": "a: [1"}, "good", 400, "bad_kubeconfig"),
        ({}, "good", 400, "invalid"),
        ({"kubeconfig": "x", "token": "y"}, "good", 400, "invalid"),
        ({"kubeconfig": "x"}, '"7"', 412, "stale"),
        ({"kubeconfig": "x"}, "", 428, "if_match_needed"),
    ],
)
def test_what_is_refused(admin, shop, body, etag, status, code):
    sent = {"if_match": tag(admin, shop) if etag == "good" else etag} if etag else {}
    told = admin("PUT", f"clusters/{shop}/kubeconfig", body, **sent)
    assert (told.status_code, told.json()["code"]) == (status, code)


def test_another_cluster_is_said_of_the_field(admin, shop):
    with EvilServer(OneCluster("uid-2")) as other:
        told = admin(
            "PUT", f"clusters/{shop}/kubeconfig", {"kubeconfig": kubeconfig_for(other)}, if_match=tag(admin, shop)
        )
    assert told.status_code == 400
    assert [(one["pointer"], one["code"]) for one in told.json()["errors"]] == [("#/kubeconfig", "other_cluster")]


def test_the_right_to_change_clusters_is_needed(cleo, shop, there):
    told = Tool(cleo, "read", "admin")("PUT", f"clusters/{shop}/kubeconfig", {"kubeconfig": kubeconfig_for(there)})
    assert told.status_code in (403, 404)
    assert Cluster.objects.get().version == 1
