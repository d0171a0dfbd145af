"""The controller's permissions as they were seen: names, which were told, and the roles that count."""

import pytest

from migrations_app.iam.site import AwsSite
from migrations_app.inventory.aws_facts.permissions import Permissions, permissions, requesting_roles, site_seen
from migrations_app.inventory.objects.aws import NodeRole
from migrations_app.inventory.objects.cluster_arn import AwsPlace
from migrations_app.inventory.parts import Seen, UnparsableObject, Unseen
from migrations_app.samples.karpenter_objects import Launched, claim, node_class
from migrations_app.samples.kubernetes_objects import config_map
from tests.builders.clusters import a_cluster
from tests.builders.iam import (
    EVERYTHING,
    NODE_ROLE,
    SITE,
    a_node_role,
    a_role,
    document,
    managed,
    permitted,
    policy_for,
)

NOWHERE = AwsPlace(region="", cluster="")
NAMED = {"CLUSTER_NAME": "test", "INTERRUPTION_QUEUE": "test"}
AL2023 = "/aws/service/eks/optimized-ami/1.29/amazon-linux-2023/x86_64/standard/recommended/image_id"
CLASS = node_class("default", cluster="test", version="v1beta1", tags={"team": "shop"})


def handed_in(*texts):
    return a_role(*texts, found_by="given", arn="", role=Unseen("not_asked"), namespace="", service_account="")


def without_aws(cluster, *roles):
    """Only the documents are there, beside the cluster itself."""
    nothing = dict.fromkeys(
        ("node_roles", "instance_profiles", "queue", "cluster", "identity", "instances", "spot_role"),
        Unseen("not_asked"),
    )
    return cluster.with_aws(controller_roles=roles, **nothing).build()


def test_aws_tells_all_names():
    found = permissions(permitted("0.37.8", a_role(policy_for("0.37"))).build())
    assert isinstance(found, Permissions)
    assert (found.site, found.untold) == (SITE, ())
    assert [role.role.arn for role in found.roles] == ["arn:aws:iam::111122223333:role/KarpenterController"]
    assert found.roles[0].boundary is None


def test_a_boundary_is_read_as_one():
    found = permissions(permitted("0.37.8", a_role(boundary=Seen((managed(document(EVERYTHING)),)))).build())
    assert [len(role.boundary) for role in found.roles] == [1]


def test_the_cluster_itself_tells_its_names(monkeypatch):
    monkeypatch.setattr("tests.builders.clusters.PLACE", NOWHERE)
    launched = Launched(pool="web", number=1, cluster="test", kubelet="v1.29.4")
    docs = (CLASS, *claim(launched, node_class="default", version="v1beta1"))
    inventory = without_aws(a_cluster("0.37.8", env=NAMED).with_docs(*docs), handed_in(document()))
    found = permissions(inventory)
    assert found.untold == ()
    assert found.site == AwsSite(
        cluster="test", account="111122223333", region="eu-central-1", node_roles=(NODE_ROLE,), queue="test",
        parameters=(AL2023,), extra_tags={"team": "shop"},
    )  # fmt: skip


def test_a_name_that_could_hide_a_wildcard_was_not_told(monkeypatch):
    monkeypatch.setattr("tests.builders.clusters.PLACE", NOWHERE)
    env = {"CLUSTER_NAME": "${aws:username}", "INTERRUPTION_QUEUE": "*"}
    found = permissions(without_aws(a_cluster("0.37.8", env=env, role="").with_docs(CLASS), handed_in(document())))
    assert found.untold == ("name of the cluster", "account", "region", "queue")
    assert (found.site.cluster, found.site.queue) == ("my-cluster", "")


def test_names_nobody_told_are_read_from_the_policies(monkeypatch):
    monkeypatch.setattr("tests.builders.clusters.PLACE", NOWHERE)
    inventory = without_aws(a_cluster("0.37.8", role="").unseen("settings"), handed_in(policy_for("0.37")))
    found = permissions(inventory)
    assert found.site == SITE
    assert found.untold == ("name of the cluster", "account", "region", "queue", "role of the nodes")


@pytest.mark.parametrize("zones", [("eu-central-1a", "us-east-1b"), ("us-west-2-lax-1a",), ()])
def test_nodes_that_do_not_agree_tell_no_region(zones, monkeypatch):
    monkeypatch.setattr("tests.builders.clusters.PLACE", NOWHERE)
    cluster = a_cluster("0.37.8", env=NAMED)
    for n, zone in enumerate(zones):
        launched = Launched(pool="web", number=n, cluster="test", kubelet="v1.29.4", zone=zone)
        cluster.with_docs(*claim(launched, node_class="default", version="v1beta1"))
    assert "region" in permissions(without_aws(cluster, handed_in(document()))).untold


def gone(name):
    return NodeRole(name=name, role=Seen(()), policies=Seen(()), inline=Seen(()), access_entry=Seen(()))


def refused(name):
    return NodeRole(name=name, role=Unseen("forbidden"), policies=Seen(()), inline=Seen(()), access_entry=Seen(()))


@pytest.mark.parametrize(
    ("node_roles", "names", "known"),
    [
        ((a_node_role(), a_node_role("B")), (NODE_ROLE, "B"), True),
        ((a_node_role(), gone("B")), (NODE_ROLE,), True),
        ((a_node_role(), refused("B")), (NODE_ROLE, "B"), False),
        (
            Seen((a_node_role(),), None, (UnparsableObject("EC2NodeClass", "", "x", "$.spec.role", "odd"),)),
            (NODE_ROLE,),
            False,
        ),
        ((), (), False),
        (Unseen("forbidden"), (), False),
    ],
)
def test_roles_of_nodes_are_those_that_exist(node_roles, names, known):
    found = permissions(permitted("0.37.8", a_role(), node_roles=node_roles).build())
    assert (found.site.node_roles, "role of the nodes" not in found.untold) == (names, known)


def test_a_profile_hides_the_role_behind_it():
    profiled = node_class("b", cluster="test", version="v1beta1", role=None, instanceProfile="nodes")
    cluster = permitted("0.37.8", a_role(), node_roles=Unseen("forbidden"))
    assert permissions(cluster.with_docs(CLASS).build()).untold == ()
    assert permissions(cluster.with_docs(profiled).build()).untold == ("role of the nodes",)


@pytest.mark.parametrize(
    ("roles", "why"),
    [
        (Unseen("forbidden", "x"), Unseen("forbidden", "x")),
        (
            Seen((a_role(),), None, (UnparsableObject("Role", "", "r", "", "throttled"),)),
            Unseen("unreadable", "r: throttled"),
        ),
        ((), Unseen("not_found", "nothing names a role of the controller")),
        ((a_role(role=Unseen("forbidden")),), Unseen("forbidden")),
        ((a_role(boundary=Unseen("timeout")),), Unseen("timeout")),
        ((a_role(role=Seen(())),), Unseen("not_found", f"AWS has no role {a_role().arn}")),
    ],
)
def test_what_was_not_read_whole_is_unseen(roles, why):
    assert permissions(permitted("0.37.8").with_aws(controller_roles=roles).build()) == why


def test_a_document_that_is_none_is_unseen():
    found = permissions(permitted("0.37.8", a_role(managed('{"Statement": 1}', name="odd"))).build())
    assert (found.why, found.detail) == ("bad_policy", "odd: Statement is neither an object nor a list of objects")


def test_the_last_role_of_a_chain_is_the_one_that_works():
    irsa, first = a_role(name="A"), a_role(name="B", found_by="pod_identity")
    target, assumed = a_role(name="C", found_by="pod_identity_target"), a_role(name="D", found_by="assume_role")
    assert requesting_roles((irsa, first)) == (irsa, first)
    assert requesting_roles((first, target)) == (target,)
    assert requesting_roles((first, target, assumed)) == (assumed,)


def test_reports_are_one_a_role():
    found = permissions(permitted("0.37.8", a_role(policy_for("0.37")), a_role(name="Second")).build())
    assert [(one.role.arn.rpartition("/")[2], report.ok) for one, report in found.reports("0.37")] == [
        ("KarpenterController", True),
        ("Second", False),
    ]


def test_a_site_without_any_role_is_one_all_the_same():
    settings = config_map("karpenter-global-settings", "karpenter", data={"aws.interruptionQueueName": "mine"})
    site = site_seen(a_cluster("0.31.4").with_docs(settings).with_aws().build())
    assert (site.cluster, site.queue, site.account) == ("test", "mine", "111122223333")
