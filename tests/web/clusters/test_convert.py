"""The Convert tab of a cluster: both sides, findings at their lines, switches and downloads."""

import dataclasses
import re

import msgspec
import pytest
import yaml
from django.urls import reverse

from migrations_app.inventory.facts.ownership import OwnedNode
from migrations_app.models.scan import KeptObjects
from migrations_app.readiness.report import PartLine
from tests.builders.rows import NOW, a_cluster, a_report, a_snapshot
from tests.web.clusters.conversions import BETA, BROKEN, POOL, TEMPLATE, a_cluster_with, cards, downloaded, ids, row
from tests.web.pages import links, text

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _sealing(settings):
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=(("k1", b"0" * 32),))


def show(client, cluster, **asked):
    return client.get(reverse("cluster-convert", args=[cluster.pk]), asked)


def test_a_cluster_never_scanned(ben):
    answer = show(ben, a_cluster())
    assert "Never scanned" in text(answer)
    assert "How to convert" not in answer.content.decode()


def test_objects_that_were_not_kept_yet(ben):
    cluster = a_cluster()
    a_snapshot(cluster)
    answer = show(ben, cluster)
    assert "No objects stored yet" in text(answer)
    assert cards(answer) == []


def test_a_cluster_without_any(ben):
    answer = show(ben, a_cluster_with())
    assert "The cluster has no Provisioner, AWSNodeTemplate, NodePool or EC2NodeClass." in text(answer)
    assert "download=" not in answer.content.decode()


def test_what_needs_a_person_comes_first(ben):
    answer = show(ben, a_cluster_with(POOL, BETA, TEMPLATE, BROKEN))
    assert cards(answer) == [
        "Provisioner broken Not converted",
        "AWSNodeTemplate nodes EC2NodeClass nodes Decide first",
        "Provisioner default NodePool default Converted",
        "NodePool beta Nothing to do",
    ]
    for words in ("4 objects", "Not converted 1", "Decide first 1", "Converted 1", "Nothing to do 1"):
        assert words in text(answer)


def test_a_finding_and_its_line_lead_to_each_other(ben):
    answer = show(ben, a_cluster_with(TEMPLATE))
    assert "line 7 spec. instanceProfile node-role-placeholder" in text(answer)
    line = row(answer, "awsnodetemplate-nodes-l7")
    assert "instanceProfile: node-profile" in line
    assert 'href="#awsnodetemplate-nodes-f0"' in line
    body = answer.content.decode()
    assert '<li class="is-warning" id="awsnodetemplate-nodes-f0">' in body
    assert '<a href="#awsnodetemplate-nodes-l7">line 7</a>' in body


def test_a_line_with_many_findings_shows_three_and_leads_to_the_rest(ben):
    bare = {**TEMPLATE, "spec": {"amiFamily": "AL2"}}
    line = row(show(ben, a_cluster_with(bare), to="v1"), "awsnodetemplate-nodes-l5")
    assert "spec:" in line
    assert line.count('class="flag') == 4
    assert [word for word in ("Decide", "May change", "Note") if f'title="{word}' in line] == ["Decide"]
    assert re.search(r'href="#awsnodetemplate-nodes-f\d+"\s*>\+\d', line)


def test_every_link_into_the_page_arrives(ben):
    answer = show(ben, a_cluster_with(POOL, POOL, BETA, TEMPLATE, BROKEN))
    found = ids(answer)
    assert sorted(set(found)) == sorted(found)
    targets = {link[1:] for link in links(answer) if link.startswith("#")}
    assert len(targets) > 40
    assert targets <= set(found)


def test_changed_lines_are_marked_by_sign_and_class(ben):
    line = row(show(ben, a_cluster_with(POOL)), "provisioner-default-l1")
    assert line.startswith('<tr class="is-changed"')
    assert "apiVersion: karpenter.sh/<del>v1alpha5</del>" in line
    assert "apiVersion: karpenter.sh/<ins>v1beta1</ins>" in line
    assert ('<span class="sign">\u2212</span>' in line, '<span class="sign">+</span>' in line) == (True, True)


def test_the_side_of_a_refused_object_is_whole_and_marks_nothing_as_removed(ben):
    answer = show(ben, a_cluster_with(BROKEN))
    assert "-1 is out of range" in text(answer)
    assert 'class="is-removed' not in answer.content.decode()
    assert "download=" not in answer.content.decode()


@pytest.mark.parametrize(
    ("stage", "chosen"), [("alpha", "v1beta1"), ("mixed", "v1beta1"), ("beta", "v1"), ("v1", "v1")]
)
def test_the_target_follows_the_stage(ben, stage, chosen):
    answer = show(ben, a_cluster_with(POOL, stage=stage))
    assert f'value="{chosen}"' in next(tag for tag in answer.content.decode().split("<input") if "checked" in tag)


def test_straight_to_v1_is_not_for_a_live_cluster(ben):
    warned = show(ben, a_cluster_with(POOL), to="v1")
    assert "Two steps on a live cluster." in text(warned)
    assert "karpenter.sh/v1" in downloaded(show(ben, a_cluster_with(POOL, name="b"), to="v1", download="yaml"))[1]
    assert "Two steps" not in text(show(ben, a_cluster_with(BETA, name="c"), to="v1"))


def test_defaults_are_written_out_unless_ignored(ben):
    cluster = a_cluster_with(POOL)
    kept = downloaded(show(ben, cluster, download="yaml"))[1]
    left = downloaded(show(ben, cluster, download="yaml", defaults="leave"))[1]
    assert ("kubernetes.io/arch" in kept, "kubernetes.io/arch" in left) == (True, False)


def test_a_given_role_settles_the_placeholder(ben):
    cluster = a_cluster_with(TEMPLATE)
    assert "The node role is a placeholder in 1 object." in text(show(ben, cluster))
    answer = show(ben, cluster, role="KarpenterNodeRole-shop")
    assert "placeholder in" not in text(answer)
    assert "role: KarpenterNodeRole-shop" in text(answer)
    assert cards(answer) == ["AWSNodeTemplate nodes EC2NodeClass nodes Converted"]


def test_the_instance_profile_may_stay(ben):
    name, content = downloaded(show(ben, a_cluster_with(TEMPLATE), profile="on", download="yaml"))
    assert name == "shop-prod-karpenter.yaml"
    assert yaml.safe_load(content)["spec"]["instanceProfile"] == "node-profile"


@pytest.mark.parametrize("asked", [{"to": "v2"}, {"defaults": "x"}, {"role": "a b"}, {"role": "x" * 201}])
def test_a_strange_switch_is_told_and_left_as_it_was(ben, asked):
    cluster = a_cluster_with(POOL, TEMPLATE)
    answer = show(ben, cluster, **asked)
    assert 'class="problem"' in answer.content.decode()
    assert cards(answer) == cards(show(ben, cluster))


def test_the_downloads_keep_the_switches(ben):
    answer = show(ben, a_cluster_with(POOL), to="v1", defaults="leave")
    found = [link for link in links(answer) if "download=" in link]
    assert found == [f"?to=v1&defaults=leave&download={form}" for form in ("yaml", "terraform", "kustomize")]


def test_files_hold_only_what_changes(ben):
    cluster = a_cluster_with(POOL, BETA, BROKEN)
    documents = list(yaml.safe_load_all(downloaded(show(ben, cluster, download="yaml"))[1]))
    assert [(one["kind"], one["metadata"]["name"]) for one in documents] == [("NodePool", "default")]


def test_terraform_and_kustomize(ben):
    cluster = a_cluster_with(POOL, BETA)
    name, content = downloaded(show(ben, cluster, download="terraform"))
    assert (name, content.splitlines()[0]) == (
        "shop-prod-karpenter.tf",
        'resource "kubectl_manifest" "nodepool_default" {',
    )
    name, content = downloaded(show(ben, cluster, to="v1", download="kustomize"))
    assert name == "shop-prod-kustomization.yaml"
    assert yaml.safe_load(content)["patches"][0]["target"] == {
        "group": "karpenter.sh",
        "version": "v1beta1",
        "kind": "NodePool",
        "name": "beta",
    }


def test_an_odd_name_of_a_cluster_is_a_harmless_file_name(ben):
    cluster = a_cluster_with(POOL, name='a/../"b"\r\nX: y')
    assert downloaded(show(ben, cluster, download="yaml"))[0] == "a-..-b-X-y-karpenter.yaml"


def test_the_owner_of_an_object_is_told_and_its_marks_are_left_out(ben):
    owned = {**POOL, "metadata": {"name": "default", "labels": {"kustomize.toolkit.fluxcd.io/name": "apps"}}}
    cluster = a_cluster_with(owned)
    assert "gitops-marker" in text(show(ben, cluster))
    assert "fluxcd" not in downloaded(show(ben, cluster, download="yaml"))[1]


def test_nodes_of_the_scan_decide_which_pool_keeps_a_shared_class(ben):
    pools = [
        {**BETA, "metadata": {"name": name}, "spec": {"template": {"spec": {
            "nodeClassRef": {"name": "nodes"}, "requirements": [], "kubelet": {"maxPods": most}}}}}
        for name, most in (("few", 10), ("many", 20))
    ]  # fmt: skip
    spec = {
        "amiFamily": "AL2",
        "role": "r",
        "subnetSelectorTerms": [{"id": "subnet-0a"}],
        "securityGroupSelectorTerms": [{"id": "sg-0a"}],
    }
    shared = {
        "apiVersion": "karpenter.k8s.aws/v1beta1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "nodes"},
        "spec": spec,
    }
    nodes = tuple(OwnedNode(name=f"n{i}", owner="karpenter_beta", pool="many") for i in range(3))
    answer = show(ben, a_cluster_with(*pools, shared, nodes=nodes), to="v1")
    assert "EC2NodeClass nodes EC2NodeClass nodes , EC2NodeClass nodes-few Converted" in cards(answer)


def test_what_the_scan_could_not_read_is_said(ben):
    report = a_report()
    parts = (*report.parts, PartLine(name="awsnodetemplates", seen=False, why="forbidden"))
    answer = show(ben, a_cluster_with(POOL, report=msgspec.structs.replace(report, parts=parts)))
    assert "Not everything was read." in text(answer)


def test_a_look_at_the_past_shows_the_newest_objects_and_says_so(ben):
    cluster = a_cluster_with(POOL)
    old = a_snapshot(cluster, at=NOW.replace(year=2025))
    a_snapshot(cluster, at=NOW)
    assert "Objects are stored from the newest scan only" in text(show(ben, cluster, at=str(old.pk)))


def test_user_data_of_somebody_else_is_only_text(ben):
    evil = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "userData": "<script>alert(1)</script>\u202e\x1b[31m\n'\"&"}}
    body = show(ben, a_cluster_with(evil)).content.decode()
    assert "<script>alert" not in body
    assert ("\u202e" in body, "\x1b" in body) == (False, False)


def test_the_page_asks_for_little(ben, django_assert_max_num_queries):
    cluster = a_cluster_with(*({**POOL, "metadata": {"name": f"p{i}"}} for i in range(40)))
    with django_assert_max_num_queries(18):
        assert len(cards(show(ben, cluster))) == 40


def test_nothing_is_changed_by_looking(ben):
    cluster = a_cluster_with(POOL)
    before = KeptObjects.objects.values().get()
    assert show(ben, cluster).status_code == 200
    assert ben.post(reverse("cluster-convert", args=[cluster.pk])).status_code == 405
    assert KeptObjects.objects.values().get() == before
