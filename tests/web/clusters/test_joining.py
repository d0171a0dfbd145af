"""The page that joins two registrations of one cluster: what is shown before, and that nothing else is done."""

import pytest
from django.contrib.auth.models import User

from migrations_app.models.account import Grant
from migrations_app.models.cluster import Cluster, ClusterGroup, ClusterLabel
from migrations_app.models.scan import Snapshot
from migrations_app.queries.joining import join_preview
from tests.builders.rollouts import a_rollout
from tests.builders.rows import a_cluster, a_snapshot
from tests.web.conftest import signed_in
from tests.web.pages import text

pytestmark = pytest.mark.django_db


def registered(name, **columns) -> Cluster:
    row = a_cluster(name, **({"kube_system_uid": "uid-1", "ca_digest": "c"} | columns))
    a_snapshot(row)
    return row


@pytest.fixture
def shop(db):
    return registered("shop")


@pytest.fixture
def again(db):
    return registered("again", ca_digest="d")


def test_from_the_warning_to_one_registration(ada, shop, again):
    ClusterGroup.objects.create(name="team").clusters.add(again)
    ClusterLabel.objects.create(cluster=again, key="region", value="eu")
    assert f'href="/clusters/{shop.pk}/join"' in ada.get(f"/clusters/{shop.pk}/").content.decode()
    words = text(ada.get(f"/clusters/{shop.pk}/join"))
    shown = ("Join again with shop", "1 snapshot,", "team", "region:eu moves", "different CAs", "Keep again instead")
    for told in shown:
        assert told in words
    form = {"typed_name": "again", "seen": join_preview(shop.pk, again.pk).digest}
    answer = ada.post(f"/clusters/{shop.pk}/join?other={again.pk}", form, follow=True)
    assert "again is joined with shop, and a scan begins." in text(answer)
    assert (Cluster.objects.get(), Snapshot.objects.filter(cluster=shop).count()) == (shop, 2)
    assert "registered more than once" not in text(answer)


def test_of_three_one_is_chosen_first(ada, shop, again):
    third = registered("third")
    page = ada.get(f"/clusters/{shop.pk}/join")
    assert "Join again with it" in text(page)
    assert f"/clusters/{shop.pk}/join?other={third.pk}" in page.content.decode()
    assert "Join third with shop" in text(ada.get(f"/clusters/{shop.pk}/join?other={third.pk}"))


def test_a_registration_alone_has_nothing_to_join(ada, shop):
    assert "No other registration of this cluster is known." in text(ada.get(f"/clusters/{shop.pk}/join"))
    assert ada.get(f"/clusters/{shop.pk}/join?other={shop.pk}").status_code == 404


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"typed_name": "shop"}, "Type the name of the registration that ends."),
        ({"seen": "0" * 64}, "The registrations have changed since the preview; read the preview again."),
    ],
)
def test_what_is_refused(ada, shop, again, form, words):
    told = {"typed_name": "again", "seen": join_preview(shop.pk, again.pk).digest} | form
    answer = ada.post(f"/clusters/{shop.pk}/join?other={again.pk}", told)
    assert (answer.status_code, words in text(answer), Cluster.objects.count()) == (422, True, 2)


def test_what_is_in_the_way_is_said_and_the_button_is_off(ada, shop, again):
    a_rollout(again, state="paused")
    page = ada.get(f"/clusters/{shop.pk}/join")
    assert "A rollout of again is under way: wait for its end, or end it." in text(page)
    assert b"disabled" in page.content
    form = {"typed_name": "again", "seen": join_preview(shop.pk, again.pk).digest}
    assert ada.post(f"/clusters/{shop.pk}/join?other={again.pk}", form).status_code == 422


def test_an_admin_of_the_group_is_not_offered_it(shop, again):  # T11: groups decide who may do what
    eve = User.objects.create_user("eve")
    group = ClusterGroup.objects.create(name="team")
    group.clusters.add(shop, again)
    Grant.objects.create(person=eve, role="admin", over=group)
    client = signed_in(eve)
    page = text(client.get(f"/clusters/{shop.pk}/"))
    assert "registered more than once" in page
    assert "Join the registrations" not in page
    assert client.get(f"/clusters/{shop.pk}/join").status_code == 403
