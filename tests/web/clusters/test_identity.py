"""Pages say which cluster answers, and who else is registered for it; a person accepts another one."""

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from migrations_app.models.account import Grant
from migrations_app.models.cluster import Cluster, ClusterGroup
from migrations_app.models.scan import Snapshot
from tests.builders.rows import a_cluster, a_snapshot
from tests.web.conftest import signed_in
from tests.web.pages import text

pytestmark = pytest.mark.django_db


def shop(name="shop", **columns) -> Cluster:
    row = a_cluster(name=name, source="kubeconfig")
    a_snapshot(row)
    Cluster.objects.filter(pk=row.pk).update(**({"kube_system_uid": "uid-1", "ca_digest": "c"} | columns))
    return Cluster.objects.get(pk=row.pk)


def page(client, row, place="/") -> str:
    return text(client.get(f"/clusters/{row.pk}{place}"))


def test_another_cluster_that_answers_is_told_and_accepted(ada):
    row = shop(other_uid="uid-2", other_ca_digest="d")
    assert "Another cluster answers at this address." in page(ada, row)
    words = page(ada, row, "/connection")
    assert "uid-1" in words
    assert "uid-2" in words
    form = {"do": "identity-accept", "uid": "uid-2", "typed_name": "shop", "version": str(row.version)}
    refused = ada.post(f"/clusters/{row.pk}/connection", form | {"typed_name": "Shop"})
    assert (refused.status_code, "type the cluster's name" in text(refused)) == (422, True)
    answer = ada.post(f"/clusters/{row.pk}/connection", form, follow=True)
    assert "It is this cluster from now on; plans made before are over, and a scan begins." in text(answer)
    assert Cluster.objects.get().kube_system_uid == "uid-2"


def test_who_may_not_change_clusters_is_not_asked(ben):
    row = shop(other_uid="uid-2")
    words = page(ben, row)
    assert ("Another cluster answers" in words, "Decide which cluster this is" in words) == (True, False)


def test_a_uid_that_could_not_be_read_is_said(ada):
    row = shop(kube_system_uid="", identity_error="forbidden")
    assert "Which cluster this is, is not known." in page(ada, row)
    row = shop("again", identity_error="forbidden")
    assert "Cluster identity not verified." in page(ada, row)


def test_two_registrations_name_each_other(ada):
    first, second = shop(), shop("shop-again", ca_digest="d")
    words = page(ada, first)
    assert "This cluster is registered more than once. shop-again (with another CA)" in words
    assert "This cluster is registered more than once. shop (with another CA)" in page(ada, second)
    assert "Remove the registration shop-again" in page(ada, first, "/connection")


def test_a_registration_that_one_may_not_see_has_no_name(db):  # T11
    first, _ = shop(), shop("hidden")
    group = ClusterGroup.objects.create(name="team")
    group.clusters.add(first)
    eve = User.objects.create_user("eve")
    Grant.objects.create(person=eve, role=Grant.Role.VIEWER, over=group)
    words = page(signed_in(eve), first)
    assert ("hidden" in words, "1 that you may not see" in words) == (False, True)


def test_snapshots_of_the_cluster_before_are_marked_and_not_compared(ada):
    row = shop(identity_since=timezone.now())
    old, new = row.latest, a_snapshot(row)
    Snapshot.objects.filter(pk=old.pk).update(replaced=True)
    answer = ada.get(f"/clusters/{row.pk}/history")
    assert ("the cluster before" in text(answer), b"changes?before=" in answer.content) == (True, False)
    url = f"/clusters/{row.pk}/changes?before={old.pk}&after={new.pk}"
    assert "These two show different clusters" in text(ada.get(url, follow=True))


def test_an_address_that_is_registered_already_is_said_before_any_scan(ada):
    """Without the uid of kube-system nothing told that a cluster was registered twice."""
    at = {"server": "https://shop.example", "kube_system_uid": ""}
    first = a_cluster(name="shop", source="kubeconfig", server="https://shop.example")
    again = a_cluster(name="again", source="eks", server="https://shop.example")
    a_cluster(name="agent", source="agent", server="https://shop.example")
    a_cluster(name="other", source="kubeconfig", server="https://shop.example/k8s/1")
    words = "The address of this API server is registered more than once."
    assert f"{words} again . Whether it is the same cluster" in page(ada, first)
    assert f"{words} shop . Whether" in page(ada, again)
    one, two = shop("one", **at | {"kube_system_uid": "uid-1"}), shop("two", **at | {"kube_system_uid": "uid-2"})
    assert f"{words} again , shop ." in page(ada, one), "of a known other uid nothing is said"
    Cluster.objects.exclude(pk__in=(one.pk, two.pk)).delete()
    assert words not in page(ada, one)
