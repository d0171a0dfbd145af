"""clusters/{id}: which cluster it is; PUT clusters/{id}/identity: a person's word that another one is it now."""

import pytest

from migrations_app.models.audit import AuditEvent
from migrations_app.models.cluster import Cluster
from tests.api.conftest import Tool
from tests.builders.rows import a_cluster


@pytest.fixture
def shop(ada):
    found = [a_cluster(name=name, source="kubeconfig") for name in ("shop", "again")]
    Cluster.objects.update(kube_system_uid="uid-1", ca_digest="c")
    Cluster.objects.filter(name="shop").update(other_uid="uid-2", other_ca_digest="d")
    return found[0].pk


@pytest.fixture
def admin(ada):
    return Tool(ada, "read", "admin")


def put(admin, shop, **body):
    tag = admin("GET", f"clusters/{shop}")["ETag"]
    told = {"kube_system_uid": "uid-2", "typed_name": "shop"} | body
    return admin("PUT", f"clusters/{shop}/identity", told, if_match=tag)


def test_who_answers_and_who_is_the_same(admin, shop):
    again = Cluster.objects.get(name="again").pk
    assert admin("GET", f"clusters/{shop}").json()["identity"] == {
        "state": "other", "kube_system_uid": "uid-1", "ca_digest": "c", "error": "", "other_uid": "uid-2",
        "other_ca_digest": "d", "since": None, "hidden": 0,
        "registrations": [{"id": str(again), "name": "again", "same_ca": True}],
        "same_address": [], "same_address_hidden": 0,
    }  # fmt: skip


def test_another_one_is_accepted(admin, shop):
    told = put(admin, shop)
    assert (told.status_code, told.json()["identity"]["state"]) == (200, "known")
    assert told.json()["identity"]["kube_system_uid"] == "uid-2"
    assert AuditEvent.objects.get(verb="cluster.identity_accepted").actor == "ada"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"typed_name": "x"}, 400, "name_not_typed"),
        ({"kube_system_uid": "uid-3"}, 412, "stale"),
        ({"x": 1}, 400, "invalid"),
    ],
)
def test_what_is_refused(admin, shop, body, status, code):
    told = put(admin, shop, **body)
    assert (told.status_code, told.json()["code"]) == (status, code)
    assert Cluster.objects.get(pk=shop).kube_system_uid == "uid-1"


def test_the_same_address_is_named_in_the_answer_to_a_registration(admin, ada):
    first = a_cluster(name="first", source="in_cluster")
    told = admin("POST", "clusters", {"name": "second", "source": "in_cluster"})
    assert (told.status_code, told.json()["identity"]["same_address"]) == (
        201, [{"id": str(first.pk), "name": "first"}],
    )  # fmt: skip
