"""Groups, labels, saved views and what is done to several clusters at once, in pages."""

import uuid

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from migrations_app.models.cluster import Cluster, ClusterGroup, SavedView
from migrations_app.models.policy import Waiver
from migrations_app.models.pull_request import CodeRepository
from migrations_app.queries.fleet.labels import labels_of
from migrations_app.use_cases.clusters import groups, saved_views
from migrations_app.use_cases.clusters import labels as label
from tests.builders.rows import a_cluster, a_finding, a_report, a_snapshot
from tests.web.pages import links, rows, text

pytestmark = pytest.mark.django_db
ARN = "arn:aws:eks:eu-west-1:123456789012:cluster/shop"
CHECK = "legacy_provisioners_gone"


def labels(cluster):
    return [one.text for one in labels_of(cluster.pk)]


def members():
    return {group.name: [one.name for one in group.clusters.order_by("name")] for group in ClusterGroup.objects.all()}


@pytest.fixture
def pair():
    return a_cluster("a"), a_cluster("b")


def test_a_group_from_its_beginning_to_its_end(ada, pair):
    made = ada.post("/groups/new", {"name": "shop", "interval": "10"})
    page = ada.get(made.url)
    assert "0 clusters, scanned every 10 minutes" in text(page)
    ada.post(f"{made.url}members", {"cluster": [one.pk for one in pair], "act": "in"})
    assert members() == {"shop": ["a", "b"]}
    ada.post(f"{made.url}members", {"cluster": [pair[0].pk], "act": "out"})
    assert (members(), rows(ada.get(made.url))) == ({"shop": ["b"]}, ["b"])
    saved = ada.post(f"{made.url}change", {"name": "team", "version": "3"}, follow=True)
    assert "The change is saved." in text(saved)
    assert rows(ada.get("/groups/")) == ["team 1 default Clusters of team · Progress of team"]
    assert "The name does not match" in text(ada.post(f"{made.url}remove", {"name": "shop"}, follow=True))
    ada.post(f"{made.url}remove", {"name": "team"})
    assert (members(), Cluster.objects.count()) == ({}, 2)


def test_a_group_that_a_repository_is_for_is_kept_and_the_page_says_why(ada):
    made = groups.create_group("shop")
    address = "https://github.com/acme/clusters"
    CodeRepository.objects.create(kind="github", address=address, group_id=made, sealed=b"", made_at=timezone.now())
    answer = ada.post(f"/groups/{made}/remove", {"name": "shop"}, follow=True)
    assert (answer.redirect_chain, members()) == ([(f"/groups/{made}/", 302)], {"shop": []})
    assert "A Git repository is for the clusters of this group alone: change or remove it first." in text(answer)


@pytest.mark.parametrize(
    ("sent", "said"),
    [({"name": ""}, "This field is required."), ({"name": "taken"}, "There is a group named taken."),
     ({"name": "x", "interval": "0"}, "greater than or equal to 1")],
)  # fmt: skip
def test_what_is_no_group(ada, sent, said):
    groups.create_group("taken")
    answer = ada.post("/groups/new", sent)
    assert (answer.status_code, said in text(answer), list(members())) == (422, True, ["taken"])


def test_a_group_that_was_changed_meanwhile_is_not_overwritten(ada):
    made = groups.create_group("a")
    groups.change_group(made, name="b", interval=None, version=1)
    answer = ada.post(f"/groups/{made}/change", {"name": "c", "version": "1"})
    assert (answer.status_code, "changed meanwhile" in text(answer), list(members())) == (422, True, ["b"])


@pytest.mark.parametrize("path", ["groups/new", "groups/{}/change", "groups/{}/members", "groups/{}/remove",
                                  "fleet/members", "fleet/labels"])  # fmt: skip
def test_who_may_look_changes_nothing(ben, pair, path):
    made = groups.create_group("a")
    sent = {"name": "a", "cluster": pair[0].pk, "act": "in", "group": made, "key": "team", "value": "x"}
    answer = ben.post(f"/{path.format(made)}", sent)
    assert (answer.status_code, members(), labels(pair[0])) == (403, {"a": []}, [])
    assert ben.get(f"/groups/{made}/").status_code == 200


def test_an_absent_group(ada):
    for path in ("", "change", "members", "remove"):
        method = ada.post if path in ("change", "remove") else ada.get
        assert method(f"/groups/{uuid.uuid4()}/{path}", {"name": "x"}).status_code in (404, 405)


def test_labels_of_one_cluster(ada):
    shop = a_cluster("shop", eks_arn=ARN, environment="dev")
    place = f"/clusters/{shop.pk}/labels"
    page = text(ada.get(place))
    assert "eu-west-1 from the cluster ARN (read-only)" in page
    sent = {"key": ["environment", "team", "tier"], "value": ["prod", "shop", ""], "version": "1"}
    assert ada.post(place, sent).url == f"/clusters/{shop.pk}/"
    wanted = ["account:123456789012", "environment:prod", "region:eu-west-1", "team:shop"]
    assert labels(shop) == wanted
    stale = ada.post(place, sent | {"value": ["x", "x", "x"]})
    assert (stale.status_code, "changed meanwhile" in text(stale)) == (422, True)
    wrong = ada.post(place, {"key": ["UP"], "value": ["x"], "version": "2"})
    assert (wrong.status_code, "A key has 1 to 63" in text(wrong), labels(shop)) == (422, True, wanted)


def test_the_pages_of_a_cluster_show_its_labels_and_groups(ada):
    shop = a_cluster("shop", eks_arn=ARN)
    a_snapshot(shop)
    label.set_labels(shop.pk, {"team": "s h"})
    group = groups.create_group("team shop")
    groups.add_to_group(group, [shop.pk])
    page = ada.get(f"/clusters/{shop.pk}/")
    assert "region: eu-west-1 , from the cluster ARN team: s h group team shop" in text(page)
    assert {"/?label=team%3As%20h", f"/groups/{group}/", f"/burndown?cluster={shop.pk}"} <= set(links(page))


def test_several_clusters_are_labelled_at_once(ada, pair):
    known = a_cluster("known", eks_arn=ARN)
    sent = {"cluster": [one.pk for one in (*pair, known)], "key": "region", "value": "mars", "query": "view=flat"}
    answer = ada.post("/fleet/labels", sent, follow=True)
    assert answer.redirect_chain == [("/?view=flat", 302)]
    assert "2 clusters labelled region:mars." in text(answer)
    assert "because their ARN differs: known." in text(answer)
    assert [labels(one) for one in pair] == [["region:mars"]] * 2
    ada.post("/fleet/labels", {"every": "on", "query": "label=region:mars&q=a", "key": "region", "value": ""})
    assert [labels(one) for one in pair] == [[], ["region:mars"]]
    assert "Nothing was labelled" in text(ada.post("/fleet/labels", sent | {"key": ""}, follow=True))


def test_several_clusters_are_put_into_a_group_at_once(ada, pair):
    group = groups.create_group("shop")
    sent = {"cluster": [one.pk for one in pair], "group": group, "query": "%zz&cursor=x"}
    assert ada.post("/fleet/members", sent | {"act": "in"}).url == "/?%25zz="
    assert members() == {"shop": ["a", "b"]}
    ada.post("/fleet/members", sent | {"act": "out", "every": "on", "query": "q=a"})
    assert members() == {"shop": ["b"]}
    answer = ada.post("/fleet/members", sent | {"group": "x"}, follow=True)
    assert "Choose a group" in text(answer)


def test_the_fleet_by_group_and_label(ada, pair):
    group = groups.create_group("shop")
    groups.add_to_group(group, [pair[0].pk])
    label.set_labels(pair[0].pk, {"team": "x", "tier": "1"})
    assert [row.split()[0] for row in rows(ada.get(f"/?group={group}"))] == ["a"]
    page = ada.get("/?view=group")
    assert ("In no group 1" in text(page), "shop 1" in text(page)) == (True, True)
    assert "Without team 1" in text(ada.get("/?view=label:team"))
    narrowed = ada.get("/?label=team:x,tier:1&view=flat")
    assert [row.split()[0] for row in rows(narrowed)] == ["a"]
    assert {"?label=tier%3A1&view=flat", "?label=team%3Ax&view=flat"} <= set(links(narrowed))
    assert "No clusters match" in text(ada.get("/?label=team:nobody"))


@pytest.mark.parametrize("query", ["group=x", "label=,:", "check=nope", "hop=x", "view=label:", "view=label:A B"])
def test_words_that_are_none_of_ours_ask_for_nothing(ada, pair, query):
    assert len(rows(ada.get(f"/?{query}"))) == 2


def test_from_a_check_to_the_clusters_that_it_blocks(ada):
    shop = a_cluster("shop")
    a_snapshot(shop, a_report("shop", checks=(a_finding(CHECK, hop="0.32"),)))
    a_snapshot(a_cluster("fine"), a_report("fine", checks=(a_finding(CHECK, hop="0.32", status="pass"),)))
    from_catalogue = f"/?check={CHECK}&hop=next&view=flat"
    assert from_catalogue in links(ada.get(f"/catalogue/?q={CHECK}"))
    from_row = f"/?check={CHECK}&hop=0.32&view=flat"
    assert from_row in links(ada.get(f"/clusters/{shop.pk}/"))
    for address in (from_catalogue, from_row):
        page = ada.get(address)
        assert [row.split()[0] for row in rows(page)] == ["shop"]
        assert f"Failing: {CHECK} at" in text(page)
    assert "?view=flat" in links(page)


def test_a_link_with_the_former_name_of_a_check_narrows_by_the_check(ada, pair):
    a_snapshot(pair[0], a_report("a", checks=(a_finding("policies_name_current_keys"),)))
    page = ada.get("/?view=flat&check=unread_kinds_current")
    assert ([row.split()[0] for row in rows(page)], "Failing: policies_name_current_keys" in text(page)) == (
        ["a"],
        True,
    )


def test_views_are_kept_offered_and_forgotten(ada, ben, pair):
    ada.post("/fleet/views", {"name": "mine", "query": "q=a&cursor=x"})
    ada.post("/fleet/views", {"name": "ours", "query": "view=flat", "shared": "on"})
    assert {"/?q=a", "/?view=flat"} <= set(links(ada.get("/")))
    assert ("/?q=a" in links(ben.get("/")), "/?view=flat" in links(ben.get("/"))) == (False, True)
    ours = SavedView.objects.get(name="ours")
    assert ben.post(f"/fleet/views/{ours.pk}/remove").status_code == 404
    ada.post(f"/fleet/views/{ours.pk}/remove")
    assert list(SavedView.objects.values_list("name", flat=True)) == ["mine"]
    assert "The view was not saved" in text(ada.post("/fleet/views", {"name": ""}, follow=True))


def test_so_many_views_are_kept_at_most(ada):
    owner = User.objects.get()
    SavedView.objects.bulk_create(
        SavedView(owner=owner, name=f"v{number}") for number in range(saved_views.MAX_VIEWS_PER_PERSON)
    )
    assert "100 saved views at most" in text(ada.post("/fleet/views", {"name": "more"}, follow=True))
    ada.post("/fleet/views", {"name": "v1", "query": "q=new"})
    assert SavedView.objects.get(name="v1").query == "q=new"


def test_a_check_is_waived_for_a_group(ada):
    shop = a_cluster("shop")
    group = groups.create_group("team")
    groups.add_to_group(group, [shop.pk])
    other = groups.create_group("other")
    sent = {"check": CHECK, "reason": "known", "owner": "us", "ends_on": "2026-12-24"}
    place = f"/clusters/{shop.pk}/waive"
    assert ada.post(place, sent | {"group": str(other)}).status_code == 422
    assert ada.post(place, sent | {"group": str(group)}).status_code == 302
    row = Waiver.objects.get()
    assert (row.cluster, row.scope.group_id, row.scope.group_name) == (None, group, "team")
    for page in (ada.get("/waivers/"), ada.get(f"/clusters/{shop.pk}/waivers")):
        assert ("group team" in text(page), f"/groups/{group}/" in links(page)) == (True, True)
    ada.post(f"/waivers/{row.pk}/revoke")
    row.refresh_from_db()
    assert row.revoked_by_name == "ada"
