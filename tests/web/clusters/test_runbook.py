"""The plan of a hop: stages in order, what is not known, the line of no return, and the Markdown of it."""

import re

import msgspec
import pytest

from migrations_app.checks.base import Evidence, Reason, Remedy
from migrations_app.checks.changes import HelmChange, HelmValue
from migrations_app.readiness.outputs import runbook_markdown
from migrations_app.readiness.report import ClusterFacts, GivenChart, InstallationFacts, ReportHop, Target
from migrations_app.readiness.runbook.runbook import runbook
from tests.builders.rows import a_cluster, a_finding, a_report, a_snapshot
from tests.web.pages import links, text

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>\u202e"


@pytest.fixture
def shop(db):
    return a_cluster("shop")


def plan_of(client, cluster, query=""):
    return client.get(f"/clusters/{cluster.pk}/plan{query}")


def refused(name, **more):
    told = "crds could not be read: forbidden (no)"
    return a_finding(name, status="unknown", summary=told, reason=Reason("part_unread", "crds", "forbidden"), **more)


def test_the_stages_stand_in_the_order_of_the_work(ada, shop):
    a_snapshot(shop)
    words = text(plan_of(ada, shop))
    order = [
        "Unknown 1 could not", "Prepare", "Add the IAM permissions of the new version", "Fix the installed CRDs",
        "Fix the controller and its settings", "Fix NodePools and EC2NodeClasses before",
        "Install the CRDs of 0.32.10", "Upgrade the controller to 0.32.10", "Migrate",
        "Replace legacy nodes", "Verify 9", "Rescan to confirm",
    ]  # fmt: skip
    places = [words.index(one) for one in order]
    assert places == sorted(places)
    lines = [
        words.index(one) for one in ("0.30.0 is not known to be able to take over", "Nodes that a NodePool launched")
    ]
    assert words.index("Upgrade the controller") < lines[0] < words.index("Migrate") < lines[1]


def test_the_badge_of_a_stage_counts_what_it_names(ada, shop):
    rollout = {"hop": "0.32", "phase": "rollout"}
    checks = [
        a_finding("legacy_machines_gone", **rollout), a_finding("nodes_owned_by_nodeclaims", **rollout),
        a_finding("provisioners_hold_no_nodes", severity="warning", **rollout),
        a_finding("drift_enabled_for_rollout", severity="warning", **rollout),
    ]  # fmt: skip
    a_snapshot(shop, a_report(checks=checks))
    words = text(plan_of(ada, shop))
    assert ("Replace the nodes that would be lost Rollout 2 blockers" in words, "4 blockers" in words) == (True, False)


def test_the_list_of_stages_leads_to_each_of_them(ada, shop):
    a_snapshot(shop)
    html = plan_of(ada, shop).content.decode()
    inside = html.partition("data-ticks=")[2].partition("</nav>")[0]
    stages = [f"#{one}" for one in re.findall(r'class="plan-stage[^>]*id="(stage-\d+)"', html)]
    assert (re.findall(r'href="(#stage-\d+)"', inside), len(stages) > 5) == (stages, True)
    assert f'data-ticks="{shop.pk} 0.32.10"' in html


def test_every_open_finding_has_one_place_to_go_to(ada, shop):
    report = a_report(checks=[refused("one"), refused("two"), a_finding("three"), a_finding("four", status="manual")])
    a_snapshot(shop, report)
    html = plan_of(ada, shop).content.decode()
    assert [html.count(f'id="check-{name}"') for name in ("one", "two", "three", "four")] == [1, 1, 1, 1]
    assert f"/clusters/{shop.pk}/#check-three" in links(plan_of(ada, shop))


def test_what_one_list_keeps_open_is_one_row_with_one_remedy(ada, shop):
    a_snapshot(shop, a_report(checks=[refused("one"), refused("two", phase="crds"), refused("three", severity="info")]))
    answer = plan_of(ada, shop)
    assert "3 checks depend on it" in text(answer)
    assert answer.content.decode().count("kubectl apply -f -") == 1


def test_the_commands_name_the_installation(ada, shop):
    installed = InstallationFacts(namespace="karpenter", release="kp", kept_by="flux", keeper="flux-system/kp")
    facts = ClusterFacts(
        name="shop", kubernetes_version="v1.27", karpenter_version="0.30.0", stage="alpha", installed=installed
    )
    a_snapshot(shop, a_report(cluster=facts))
    words = text(plan_of(ada, shop))
    assert "# HelmRelease flux-system/kp" in words
    assert "helm upgrade kp oci://public.ecr.aws/karpenter/karpenter --version v0.32.10 --namespace karpenter" in words


def test_the_hop_is_chosen_by_the_address_and_is_the_next_one_without(ada, shop):
    a_snapshot(shop)
    assert "Install the CRDs of 0.32.10" in text(plan_of(ada, shop))
    assert "Install the CRDs of 0.33.10" in text(plan_of(ada, shop, "?hop=0.33%2B"))
    assert "Install the CRDs of 0.32.10" in text(plan_of(ada, shop, "?hop=nonsense"))
    assert plan_of(ada, shop, "/").status_code == 200


def test_a_forecast_says_how_sure_it_is(ada, shop):
    seen = Evidence(kind="Node", name="a", count=1200)
    checks = [
        a_finding("hashes_carry_over", severity="info", evidence_total=1200, evidence_exact=False, evidence=(seen,)),
        a_finding("claims_not_drifted", status="unknown", summary="nodeclaims could not be read: forbidden"),
        a_finding("pods_have_controllers", status="pass"),
    ]
    a_snapshot(shop, a_report(checks=checks))
    words = text(plan_of(ada, shop))
    assert "nodes that drift with the upgrade at least 1,200" in words
    assert "nodes that have drifted already not known" in words
    assert "unmanaged pods" not in words


def test_downloads_are_the_markdown_of_the_hop_and_of_the_path(ada, shop):
    report = a_report(scanned_at="2026-11-21T12:00:00Z")
    a_snapshot(shop, report)
    whole = plan_of(ada, shop, "?download=path")
    assert whole.content.decode() == runbook_markdown.render(runbook(report))
    assert whole["Content-Type"] == "text/markdown; charset=utf-8"
    one = plan_of(ada, shop, "?download=hop&hop=0.33%2B")
    assert one["Content-Disposition"] == 'attachment; filename="shop-prod-karpenter-0.33.10-plan.md"'
    assert one.content.decode().count("\n## ") == 1
    assert plan_of(ada, shop, "?download=pdf").status_code == 404


def test_an_older_snapshot_keeps_its_plan(ada, shop):
    old = a_snapshot(shop, a_report(checks=[a_finding("long_gone")]))
    a_snapshot(shop, a_report(checks=[a_finding("still_here")]))
    assert "long_gone" in text(plan_of(ada, shop, f"?at={old.pk}"))
    assert "long_gone" not in text(plan_of(ada, shop))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"target": Target("1.4.0", ())}, "Nothing left to do"),
        ({"target": Target(None, ())}, "Without a known release there is no path"),
    ],
)
def test_where_there_is_no_hop_the_page_says_why(ada, shop, more, words):
    a_snapshot(shop, a_report(**more))
    answer = plan_of(ada, shop)
    assert words in text(answer)
    assert plan_of(ada, shop, "?download=hop").status_code == 404


def test_a_cluster_that_was_never_scanned_has_a_page(ada, shop):
    assert "Never scanned" in text(plan_of(ada, shop))
    assert plan_of(ada, shop, "?download=path").status_code == 200


def test_hostile_text_is_text(ada, shop):
    hop = a_report().target.path[0]
    hostile = ReportHop(
        name="0.32", release="0.32.10", kubernetes=hop.kubernetes, why=HOSTILE, needs=(HOSTILE,), caveats=(HOSTILE,)
    )
    installed = InstallationFacts(namespace=HOSTILE, release=HOSTILE, kept_by="argocd", keeper=HOSTILE)
    facts = ClusterFacts(
        name=HOSTILE, kubernetes_version="1.27", karpenter_version="0.30.0", stage="alpha", installed=installed
    )
    a_snapshot(shop, a_report(checks=[refused("one"), refused("two")], cluster=facts, target=Target("1", (hostile,))))
    html = plan_of(ada, shop).content.decode()
    assert "<script>alert" not in html
    assert "\u202e" not in html
    assert "\u202e" not in plan_of(ada, shop, "?download=hop").content.decode()


def test_values_stand_side_by_side_with_their_reasons(ada, shop):
    given = GivenChart(
        chart="karpenter",
        release="kp",
        namespace="ops",
        origin="Helm release record",
        values={"settings": {"aws": {"clusterName": HOSTILE}}, "replicas": 2, "podAnnotations": {"token": "(removed)"}},
    )
    change = HelmChange(
        chart="karpenter",
        release="kp",
        namespace="ops",
        when="landing",
        values=(
            HelmValue("settings.aws.clusterName", why="settings.clusterName takes over"),
            HelmValue("settings.clusterName", '"shop"', "takes over settings.aws.clusterName"),
        ),
    )
    facts = a_report().cluster
    installed = InstallationFacts(namespace="ops", release="kp", given=(given,))
    finding = a_finding("moved", hop="0.33+", remedies=(Remedy(how="helm", text="x", change=change),))
    report = a_report(checks=[finding], cluster=msgspec.structs.replace(facts, installed=installed))
    a_snapshot(shop, report)
    answer = plan_of(ada, shop, "?hop=0.33%2B")
    words, html = "".join(text(answer).split()), answer.content.decode()
    for told in (
        "Helm values before and after this upgrade ops/kp chart karpenter, read from Helm release record",
        "settings.aws.clusterName renamed",
        'settings.clusterName: "shop" settings.clusterName takes over',
        "2 values stay as before replicas: 2",
    ):
        assert "".join(told.split()) in words
    assert HOSTILE not in html
    assert html.count('data-label="Old"') == html.count('data-label="New"') == html.count('data-label="Why"') > 1


def test_values_that_are_not_known_say_why(ada, shop):
    unread = GivenChart(chart="karpenter", release="", namespace="", origin="", unread="secrets: forbidden")
    installed = InstallationFacts(namespace="ops", release="kp", given=(unread,))
    cluster = msgspec.structs.replace(a_report().cluster, installed=installed)
    a_snapshot(shop, a_report(cluster=cluster))
    assert "secrets: forbidden" in text(plan_of(ada, shop))


def test_a_waived_check_is_named_and_not_counted_as_passed(ada, shop):
    """No step fixes what is waived: who carries the runbook out is to know."""
    phase = {"hop": "0.32", "phase": "iam"}
    waived = a_finding(
        "controller_permitted", status="waived", summary="1 permission (accepted by ada: known)", **phase
    )
    open_, passed = a_finding("node_roles_may_join", **phase), a_finding("aws_read", status="pass", **phase)
    a_snapshot(shop, a_report(checks=[waived, open_, passed]))
    words = text(plan_of(ada, shop))
    assert "Waived 1 accepted failures: no step fixes them 1 permission (accepted by ada: known)" in words
    assert "IAM · 1 check passed · 1 waived" in words
    line = "Waived, so no step fixes it: 1 permission (accepted by ada: known)"
    assert line in plan_of(ada, shop, "?download=hop").content.decode().replace("\\", "")
