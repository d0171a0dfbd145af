"""The pages of one cluster, in every state that a cluster can be in."""

from datetime import timedelta

import msgspec
import pytest
from django.utils import timezone

from migrations_app.models.cluster import Cluster
from migrations_app.readiness.report import PartLine, Target
from tests.builders.rows import (
    NOW,
    a_claim_lost,
    a_cluster,
    a_failure,
    a_finding,
    a_report,
    a_scan,
    a_snapshot,
    findings,
    some_nodes,
)
from tests.web.pages import links, rows, tags, text

pytestmark = pytest.mark.django_db
FORBIDDEN = PartLine(name="pdbs", seen=False, why="forbidden", detail="cannot list poddisruptionbudgets")
SLOW = PartLine(name="pods", seen=False, why="timeout", detail="no answer in 30 s")
NODES = PartLine(name="nodes", seen=True, count=6, seconds=0.25)
ODD = PartLine(name="machines", seen=True, count=9, quarantined=2, detail="default-x: $.spec is a number")


@pytest.fixture
def shop(db):
    return a_cluster("shop", environment="production")


def page_of(client, cluster, tab="", **query):
    return client.get(f"/clusters/{cluster.pk}/{tab}", query)


def test_the_verdict_box(ada, shop):
    a_snapshot(shop)
    words = text(page_of(ada, shop))
    assert "Not ready: 1 blocker Upgrade to 0.32.10" in words
    assert "1 blocker 1 unknown 1 verify manually 1 warning 1 waived 1 passed" in words
    assert "Kubernetes 1.23 to 1.28 (compatible) Rollback to 0.31.4" in words
    assert "Do this now 2 objects keep legacy provisioners gone from being true" in words
    assert "kubectl kubectl get provisioners Helm" in words
    assert "Done, check again" in words


def test_reasons_lead_to_their_rows(ada, shop):
    a_snapshot(shop)
    page = page_of(ada, shop)
    assert "#check-legacy_provisioners_gone" in links(page)
    assert 'id="check-legacy_provisioners_gone"' in page.content.decode()


def test_reasons_lead_to_their_rows_from_every_tab(ada, shop):
    a_snapshot(shop)
    for tab in ("nodes", "parts", "history"):
        assert f"/clusters/{shop.pk}/#check-legacy_provisioners_gone" in links(page_of(ada, shop, tab))


def test_a_failing_check_is_headed_by_what_is_wrong(ada, shop):
    a_snapshot(shop)
    words = text(page_of(ada, shop))
    wrong = "2 objects keep legacy provisioners gone from being true"
    assert (
        f"1 Blocker: {wrong} legacy_provisioners_gone" in words or f"Fails: {wrong} legacy_provisioners_gone" in words
    )
    assert "Legacy provisioners gone 2 objects keep" not in words
    assert "Passed: Crds installed" in words


def test_what_fixes_the_current_blocker_stands_once(ada, shop):
    a_snapshot(shop)
    html = page_of(ada, shop).content.decode()
    assert (html.count('name="remedy-next"'), html.count('name="remedy-legacy_provisioners_gone"')) == (2, 0)
    assert "#next" in links(page_of(ada, shop))


def test_other_tabs_have_the_verdict_in_one_line(ada, shop):
    a_snapshot(shop)
    words = text(page_of(ada, shop, "nodes"))
    assert "Blocked Not ready: 1 blocker Next: 2 objects keep legacy provisioners gone" in words
    assert "Done, check again" not in words


def test_blockers_first_unknown_second_settled_folded(ada, shop):
    a_snapshot(shop)
    html = tags(page_of(ada, shop))
    order = ["blockers", "unknown", "manual", "warnings", "infos", "waived", "passed", "na"]
    places = [html.index(f'id="{name}"') for name in order]
    assert places == sorted(places)
    assert html.count("<details><summary") == 3, "infos, passed and not applicable are folded"


def test_by_phase(ada, shop):
    a_snapshot(shop)
    html = page_of(ada, shop, by="phase").content.decode()
    places = [html.index(f'id="phase-{name}"') for name in ("iam", "controller", "resources", "workloads", "rollout")]
    assert places == sorted(places)


def test_a_row_holds_evidence_and_remedies(ada, shop):
    a_snapshot(shop)
    page = page_of(ada, shop)
    words = text(page)
    assert "Provisioner default spec. ttl 30 absent 2" in words
    assert "kubectl kubectl get provisioners Helm spec: template:" in words
    assert 'name="remedy-controller_off_bad_patches"' in page.content.decode()


def test_a_lower_bound_says_at_least(ada, shop):
    a_snapshot(shop, a_report(checks=[a_finding(evidence_total=7, evidence_exact=False)]))
    assert "at least 7 objects" in text(page_of(ada, shop))


def test_nodes_that_were_partly_read_are_at_least_so_many(ada, shop):
    partly = msgspec.structs.replace(NODES, quarantined=1)
    a_snapshot(shop, a_report(nodes=some_nodes(6), parts=[partly]), nodes=some_nodes(6))
    assert "At least 6 nodes by owner" in text(ada.get(f"/clusters/{shop.pk}/nodes"))


def test_another_hop_is_chosen_by_address(ada, shop):
    a_snapshot(shop, a_report(checks=[a_finding(hop="0.32"), a_finding("later", hop="1.0", status="pass")]))
    page = page_of(ada, shop, hop="1.0")
    assert "Later: the upgrade before it comes first Upgrade to 1.0.10" in text(page)
    assert 'id="check-later"' in page.content.decode()
    assert "Upgrade to 0.32.10" in text(page_of(ada, shop, hop="9.9"))


def test_no_karpenter(ada, shop):
    report = msgspec.structs.replace(a_report(), hops=(), checks=(), target=Target(None, ()))
    a_snapshot(shop, report, stage="no_karpenter", verdict="", next_hop="")
    words = text(page_of(ada, shop))
    assert "Nothing to upgrade Karpenter is not installed." in words
    assert "No checklist Karpenter is not installed, nothing to check." in words
    assert "Already upgraded" not in words


def test_what_an_uninstall_left_is_a_checklist_without_a_path(ada, shop):
    stuck = a_finding("finalizers_served", hop="clean-up", severity="blocker", status="fail")
    report = msgspec.structs.replace(a_report(checks=[stuck]), target=Target(None, ()))
    a_snapshot(shop, report, stage="unknown", verdict="blocked", next_hop="clean-up")
    page = page_of(ada, shop)
    assert "Not ready: 1 blocker" in text(page)
    assert 'id="check-finalizers_served"' in page.content.decode()


def test_what_told_that_there_is_no_release_is_not_said_to_be_its_source(ada, shop):
    facts = msgspec.structs.replace(
        a_report().cluster, karpenter_version=None, karpenter_range=(), karpenter_told_by="there is no Deployment"
    )
    report = msgspec.structs.replace(a_report(), cluster=facts)
    a_snapshot(shop, report, stage="no_karpenter", karpenter_version="")
    assert "Karpenter none there is no Deployment" in text(page_of(ada, shop))


def test_the_older_generation_with_what_was_not_read(ada, shop):
    a_snapshot(shop, a_report(legacy={"Provisioner": 2, "Machine": None}))
    assert "Legacy objects remaining Provisioner 2 Machine not read" in text(page_of(ada, shop))


def test_never_scanned(ada, shop):
    words = text(page_of(ada, shop))
    assert "Never scanned" in words
    assert "Scan now" in words


@pytest.mark.parametrize("tab", ["nodes", "parts", "history"])
def test_every_tab_opens_before_the_first_scan(ada, shop, tab):
    assert "Never scanned" in text(page_of(ada, shop, tab))


def test_the_first_scan_under_way(ada, shop):
    a_scan(shop, state="queued", requested_by="cleo")
    page = page_of(ada, shop)
    assert "A scan is queued." in text(page)
    assert "by cleo" in text(page)
    assert 'class="skeleton"' in page.content.decode()


def test_a_running_scan_greys_the_old_result(ada, shop):
    a_snapshot(shop)
    a_scan(shop)
    page = page_of(ada, shop)
    assert "7 of 27 data sources read, last Machines" in text(page)
    assert "Showing results from" in text(page)
    assert "As of" in text(page)
    assert "greyed" in page.content.decode()
    assert "A scan is running" in text(page)


def test_partial(ada, shop):
    a_snapshot(shop, a_report(parts=[FORBIDDEN, SLOW, NODES]))
    page = page_of(ada, shop)
    assert "Partial. 2 of 3 data sources could not be read: PodDisruptionBudgets, Pods." in text(page)
    assert f"/clusters/{shop.pk}/parts" in links(page)


def test_unreachable_keeps_the_last_good_result(ada, shop):
    a_snapshot(shop)
    a_failure(shop, times=4, code="tls_refused", detail="certificate expired")
    words = text(page_of(ada, shop))
    assert "Unreachable since" in words
    assert "The server's certificate was not accepted. 4 scans in a row have failed." in words
    assert "tls_refused: certificate expired" in words
    assert "As of" in words


def test_one_failed_scan_is_not_unreachable(ada, shop):
    a_snapshot(shop)
    a_failure(shop, times=1)
    words = text(page_of(ada, shop))
    assert "The last scan failed" in words
    assert "Unreachable" not in words


def test_it_never_answered(ada, shop):
    a_failure(shop, times=1, code="address_refused", detail="169.254.169.254")
    words = text(page_of(ada, shop))
    assert "It has never answered, so nothing is known about it." in words
    assert "Cannot connect" in words


def test_a_bundle_is_not_said_to_be_the_cluster_of_today(ada):
    bundle = a_cluster("away", source="bundle")
    Cluster.objects.filter(pk=bundle.pk).update(created_at=timezone.now() - timedelta(days=90))
    a_snapshot(bundle)
    page = text(page_of(ada, bundle))
    assert "From a bundle. It was uploaded 90 days ago . Scans read it again, not the cluster" in page
    assert "of an uploaded bundle" in rows(ada.get("/"))[0]


def test_an_older_snapshot_says_so_on_every_tab(ada, shop):
    old = a_snapshot(shop, a_report(legacy={"Machine": 77}), at=NOW - timedelta(days=3))
    a_snapshot(shop)
    for tab in ("", "nodes", "parts"):
        page = page_of(ada, shop, tab, at=old.pk)
        assert "Viewing an older snapshot." in text(page)
        assert ("Machine 77" in text(page)) is (tab == "")
        assert f"/clusters/{shop.pk}/nodes?at={old.pk}" in links(page)


def test_what_disagrees_is_said(ada, shop):
    report = a_report()
    cluster = msgspec.structs.replace(report.cluster, disagreements=("image says 0.30.0, Helm says 0.31.1",))
    a_snapshot(shop, msgspec.structs.replace(report, cluster=cluster))
    assert "image says 0.30.0, Helm says 0.31.1" in text(page_of(ada, shop))


def test_a_release_known_as_a_range(ada, shop):
    report = a_report()
    cluster = msgspec.structs.replace(report.cluster, karpenter_version=None, karpenter_range=("0.31", "0.32"))
    a_snapshot(shop, msgspec.structs.replace(report, cluster=cluster))
    assert "one of 0.31, 0.32" in text(page_of(ada, shop))


def test_who_may_not_scan_is_told(ben, shop):
    a_snapshot(shop)
    page = page_of(ben, shop)
    assert "You do not have permission to scan." in text(page)
    assert "Manage" not in text(page)


def nodes_page(client, shop, **query):
    return page_of(client, shop, "nodes", **query)


@pytest.fixture
def peopled(shop):
    nodes = (
        *some_nodes(4),
        *some_nodes(2, owner="managed_node_group", pool="system"),
        *some_nodes(1, owner="unknown", anomalies=("pool-gone",)),
    )
    a_snapshot(shop, a_report(nodes=nodes, anomalies=(a_claim_lost(),)), nodes=nodes)
    return shop


def test_nodes_by_owner(ada, peopled):
    page = nodes_page(ada, peopled)
    assert "7 nodes by owner" in text(page)
    assert "Karpenter, alpha 4 57 % Managed node group 2 29 % Unknown owner 1 14 %" in text(page)
    assert len(rows(page)) == 7
    assert "claim without node Machine default-9zz" in text(page)


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ({"owner": "managed_node_group"}, 2),
        ({"q": "SYSTEM"}, 2),
        ({"q": "default alpha"}, 0),
        ({"q": "default eu-west-1a"}, 4),
        ({"odd": "1"}, 1),
        ({"owner": "nobody"}, 7),
        ({"page": "99"}, 7),
        ({"page": "x"}, 7),
    ],
)
def test_nodes_are_searched(ada, peopled, query, count):
    assert len(rows(nodes_page(ada, peopled, **query))) == count


def test_no_node_fits(ada, peopled):
    assert "No nodes match" in text(nodes_page(ada, peopled, q="zzz"))


def test_nodes_are_paged(ada, shop):
    nodes = some_nodes(230)
    a_snapshot(shop, a_report(nodes=nodes), nodes=nodes)
    first, last = nodes_page(ada, shop, q="m6i"), nodes_page(ada, shop, q="m6i", page=3)
    assert ("1 to 100 of 230" in text(first), "201 to 230 of 230" in text(last)) == (True, True)
    assert "?q=m6i&page=2" in links(first)
    assert "?q=m6i&page=2" in links(last)


def test_nodes_that_were_not_read_are_not_zero(ada, shop):
    a_snapshot(shop, a_report(parts=[PartLine(name="nodes", seen=False, why="forbidden")]))
    words = text(nodes_page(ada, shop))
    assert "Nodes could not be read: Forbidden" in words
    assert "The cluster has no nodes." not in words


def test_parts_read_and_not_read(ada, shop):
    a_snapshot(shop, a_report(parts=[FORBIDDEN, SLOW, NODES, ODD]))
    page = page_of(ada, shop, "parts")
    words = text(page)
    assert "PodDisruptionBudgets Forbidden: missing list permission cannot list" in words
    assert "Pods No answer in time no answer in 30 s" in words
    assert "Machines 2 of 9 default-x: $.spec is a number" in words
    assert "Nodes 6 0.25" in words


def test_the_missing_rule_names_the_forbidden_kinds_only(ada, shop):
    a_snapshot(shop, a_report(parts=[FORBIDDEN, SLOW, NODES]))
    html = page_of(ada, shop, "parts").content.decode()
    assert "poddisruptionbudgets" in html
    assert "resources: [pods]" not in html


def test_the_missing_rule_names_what_was_refused_in_one_namespace_too(ada, shop):
    partly = PartLine(name="helm_releases", seen=True, count=1, quarantined=1, detail="x", reasons=("forbidden",))
    a_snapshot(shop, a_report(parts=[partly, NODES]))
    assert "resources: [secrets]" in page_of(ada, shop, "parts").content.decode()


def test_no_rule_where_nothing_was_forbidden(ada, shop):
    a_snapshot(shop, a_report(parts=[SLOW, NODES]))
    assert "kind: ClusterRole" not in page_of(ada, shop, "parts").content.decode()


def test_progress_is_a_part_of_the_page(ada, shop):
    a_scan(shop)
    answer = page_of(ada, shop, "progress")
    assert "7 of 27 data sources read" in text(answer)
    assert "<html" not in answer.content.decode()
    assert "HX-Refresh" not in answer.headers


def test_progress_reloads_the_page_when_it_is_over(ada, shop):
    a_scan(shop, state="done")
    answer = page_of(ada, shop, "progress")
    assert (answer.headers["HX-Refresh"], answer.content.strip()) == ("true", b"")


@pytest.mark.parametrize("size", [1, 60])
def test_query_count_of_the_page(ada, shop, size, django_assert_num_queries):
    many = [a_finding(f"check_{index}") for index in range(size)]
    a_snapshot(shop, a_report(checks=[*many, *findings()]))
    # session, user, one-time password, cluster, scan under way, content, waivers, kill switch, rollouts, labels,
    # groups, the tool of fixes, the rollout and the journey that are under way
    with django_assert_num_queries(15):
        page_of(ada, shop)


def test_a_list_in_another_version_is_told_where_it_stands(ada, shop):
    told = "karpenter.sh/v1beta1, because karpenter.sh/v1 fails: conversion_failed (<b>no</b>)"
    a_snapshot(shop, a_report(parts=[PartLine(name="nodepools", seen=True, count=1, read_as=told)]))
    assert f"NodePools read as {told}" in text(page_of(ada, shop, "parts"))


def test_a_hop_that_was_taken_leads_to_the_work_that_is_left(ada, shop):
    a_snapshot(shop, a_report(target=Target("1.4.0", a_report().target.path[1:])))
    page = page_of(ada, shop, hop="0.32")
    assert "What remains of the migration is listed above. The work of the next upgrade removes it" in text(page)
    assert {f"/clusters/{shop.pk}/#next", f"/clusters/{shop.pk}/rollouts"} <= set(links(page))
