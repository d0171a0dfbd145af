"""Another kubeconfig for a registered cluster: proven before it is kept, told, and never of another cluster (A05)."""

import dataclasses

import pytest

from migrations_app.errors import Conflict, InvalidInput, InvalidKubeconfig, NotFound
from migrations_app.models.audit import AuditEvent
from migrations_app.models.cluster import Cluster
from migrations_app.models.rollout import Rollout
from migrations_app.use_cases.clusters.credentials import replace_kubeconfig, try_kubeconfig_for
from migrations_app.use_cases.clusters.registration import Details, register_kubeconfig
from migrations_app.use_cases.runtime.connections import unsealed
from tests.builders.rollouts import a_rollout, identity_of
from tests.builders.rows import a_cluster
from tests.clients.one_cluster import OneCluster, kubeconfig_for
from tests.fakes.evilk8s import EvilServer
from tests.use_cases.clusters.eks import KEYS

pytestmark = pytest.mark.django_db
OLD, NEW = "old-canary-token", "new-canary-token"


@pytest.fixture
def cluster():
    return OneCluster()


@pytest.fixture
def old(settings, cluster):
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=KEYS, allow_loopback=True)
    with EvilServer(cluster) as server:
        yield server


@pytest.fixture
def shop(old):
    found = register_kubeconfig(kubeconfig_for(old, token=OLD).encode(), Details(name="shop", by="ada"))
    return Cluster.objects.get(pk=found)


def replaced(cluster, server, **more) -> str:
    """The code of the refusal; empty when it was kept."""
    try:
        replace_kubeconfig(cluster.pk, kubeconfig_for(server, token=NEW).encode(), **more)
    except (InvalidInput, Conflict) as refused:
        return refused.code
    return ""


def kept(cluster) -> tuple[str, int, int]:
    cluster.refresh_from_db()
    return cluster.server, cluster.version, cluster.credential_version


def test_new_credentials_of_the_same_cluster_are_kept(old, shop):
    with EvilServer(OneCluster()) as there:
        assert replaced(shop, there, version=1) == ""
        address = f"https://127.0.0.1:{there.port}"
        assert there.requests[0].headers["authorization"] == f"Bearer {NEW}"
    assert kept(shop) == (address, 2, 2)
    assert NEW.encode() in unsealed(shop)
    event = AuditEvent.objects.get(verb="access.replaced")
    assert (event.object, event.outcome, event.cluster_id) == ("shop", "done", str(shop.pk))


def test_nothing_of_them_stands_in_the_log(old, shop):  # T23
    assert replaced(shop, old) == ""
    told = "".join(str(one) for row in AuditEvent.objects.all().values() for one in row.values())
    assert (OLD in told, NEW in told, "same_cluster" in told) == (False, False, True)


def test_plans_are_over_and_what_runs_pauses(old, shop, cluster):
    cluster.uid = identity_of(shop).kube_system_uid
    a_rollout(shop, title="planned", state="approved")
    a_rollout(shop, title="running", state="running")
    assert replaced(shop, old) == ""
    assert {row.title: (row.state, row.stop_request) for row in Rollout.objects.all()} == {
        "planned": ("expired", ""), "running": ("running", "pause"),
    }  # fmt: skip


def test_another_cluster_is_refused_whatever_was_typed(old, shop):
    with EvilServer(OneCluster("uid-2")) as there:
        assert replaced(shop, there, typed_name="shop") == "other_cluster"
        assert try_kubeconfig_for(shop.pk, kubeconfig_for(there).encode()).same == "other"
    assert kept(shop) == (f"https://127.0.0.1:{old.port}", 1, 1)
    assert OLD.encode() in unsealed(shop)


def test_a_cluster_rebuilt_behind_the_old_address_is_refused_by_its_plan(old, shop):  # T17
    """Both kubeconfigs lead to the new cluster: what the plan was made for tells."""
    a_rollout(shop, state="approved")
    assert replaced(shop, old, typed_name="shop") == "other_cluster"
    assert Rollout.objects.get().state == "approved"


def test_where_the_old_kubeconfig_is_dead_the_name_is_typed(shop):
    with EvilServer(OneCluster()) as there:
        Cluster.objects.filter(pk=shop.pk).update(sealed=None)
        assert try_kubeconfig_for(shop.pk, kubeconfig_for(there).encode()).same == "unknown"
        assert replaced(shop, there) == "name_not_typed"
        assert replaced(shop, there, typed_name="Shop") == "name_not_typed"
        assert kept(shop)[1:] == (1, 1)
        assert replaced(shop, there, typed_name="shop") == ""
    assert kept(shop)[1:] == (2, 2)


def test_where_kube_system_may_not_be_read_the_name_is_typed(shop):
    with EvilServer(OneCluster("")) as there:
        assert replaced(shop, there) == "name_not_typed"
        assert replaced(shop, there, typed_name="shop") == ""


def test_a_plan_alone_proves_it(old, shop):
    a_rollout(shop)
    Cluster.objects.filter(pk=shop.pk).update(sealed=None)
    with EvilServer(OneCluster(identity_of(shop).kube_system_uid)) as there:
        assert try_kubeconfig_for(shop.pk, kubeconfig_for(there).encode()).same == "same"
        assert replaced(shop, there) == ""


def test_what_does_not_answer_is_not_kept(old, shop):
    with EvilServer(lambda _, wire: wire.answer(b"{}", status="401 Unauthorized")) as there:
        assert replaced(shop, there, typed_name="shop") == "unauthorized"
        looked = try_kubeconfig_for(shop.pk, kubeconfig_for(there).encode())
    assert (looked.result.reachable, looked.result.error, looked.same) == (False, "unauthorized", "unknown")
    assert kept(shop)[1:] == (1, 1)


def test_a_stale_page_changes_nothing(old, shop):
    assert replaced(shop, old, version=7) == "stale"
    assert AuditEvent.objects.filter(verb="access.replaced").count() == 0


def test_somebody_who_was_faster_wins(old, shop, monkeypatch):
    def meanwhile(cluster, _connection):
        Cluster.objects.filter(pk=cluster.pk).update(version=2)
        return "same"

    monkeypatch.setattr("migrations_app.use_cases.clusters.credentials._compared", meanwhile)
    assert replaced(shop, old, version=1) == "stale"
    assert OLD.encode() in unsealed(shop)


def test_a_kubeconfig_with_a_program_is_refused(shop):  # T01
    with pytest.raises(InvalidKubeconfig):
        replace_kubeconfig(shop.pk, kubeconfig_with_program())


def kubeconfig_with_program() -> bytes:
    return b"apiVersion: v1\nkind: Config\nusers: [{name: u, user: {exec: {command: id}}}]\n"


@pytest.mark.parametrize("source", ["eks", "in_cluster", "bundle", "sample"])
def test_other_sources_have_no_kubeconfig(old, source):
    row = a_cluster("other", source=source)
    for way in (try_kubeconfig_for, replace_kubeconfig):
        with pytest.raises(InvalidInput) as caught:
            way(row.pk, kubeconfig_for(old).encode())
        assert caught.value.code == "no_kubeconfig_here"


def test_an_unknown_cluster():
    with pytest.raises(NotFound):
        replace_kubeconfig("00000000-0000-0000-0000-000000000001", b"")
