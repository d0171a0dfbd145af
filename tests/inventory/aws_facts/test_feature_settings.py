"""Each setting drops or adds a feature only where it was seen for certain; all else stays as assumed."""

import pytest

from migrations_app.iam.requirements.features import ASSUMED
from migrations_app.inventory.aws_facts.feature_settings import guessed_features
from migrations_app.inventory.aws_facts.permissions import features_seen
from migrations_app.inventory.objects.aws import TaggedInstances
from migrations_app.samples.karpenter_objects import (
    ON_DEMAND,
    SPOT,
    Launched,
    claim,
    machine,
    node_class,
    node_template,
    pool,
    provisioner,
)
from migrations_app.samples.kubernetes_objects import config_map
from tests.builders.clusters import a_cluster, an_empty_cluster

TAGGED = {"compatibility.karpenter.k8s.aws/cluster-name-tagged": "true"}
LAUNCHED = Launched(pool="web", number=1, cluster="test", kubelet="v1.29.4")
QUEUE = {"INTERRUPTION_QUEUE": "test"}


def changed(cluster):
    """What is dropped from and added to the assumptions, by name."""
    found = features_seen(cluster.build())
    return {f"-{one}" for one in ASSUMED - found} | {f"+{one}" for one in found - ASSUMED}


def with_env(version="1.0.14", **env):
    return a_cluster(version, env=QUEUE | env)


def with_class(*classes, env=None, **spec):
    docs = classes or (node_class("default", cluster="test", version="v1", **spec),)
    return with_env(**(env or {})).with_docs(*docs)


def test_nothing_seen_changes_nothing():
    assert changed(an_empty_cluster()) == set()
    assert changed(with_env()) == set()


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        *((part, set()) for part in ("controller", "settings", "nodepools", "nodeclaims", "machines")),
        *((part, {"+snapshots"}) for part in ("ec2nodeclasses", "awsnodetemplates", "provisioners")),
    ],
)
def test_what_was_not_read_is_as_assumed_and_may_name_snapshots(part, expected):
    assert changed(a_cluster("0.31.4", env=QUEUE).unseen(part)) == expected


def test_without_a_queue_nothing_of_it_is_asked():
    assert changed(a_cluster("1.0.14")) == {"-queue"}
    settings = config_map("karpenter-global-settings", "karpenter", data={"aws.clusterName": "test"})
    assert changed(a_cluster("0.31.4").with_docs(settings)) == {"-queue"}


@pytest.mark.parametrize(
    "cluster",
    [
        a_cluster("0.31.4").with_docs(
            config_map("karpenter-global-settings", "karpenter", data={"aws.interruptionQueueName": "test"})
        ),
        a_cluster("1.0.14").with_values({"settings": {"interruptionQueue": "test"}}),
        a_cluster("1.0.14").unseen("settings"),
        a_cluster("1.0.14").quarantined("settings"),
        a_cluster("1.0.14").with_hidden("INTERRUPTION_QUEUE"),
    ],
    ids=["settings", "values", "unseen", "set aside", "by reference"],
)
def test_a_queue_that_may_be_there_is_asked_for(cluster):
    assert changed(cluster) == set()


def test_profiles_of_their_own_need_no_role():
    assert changed(with_class(role=None, instanceProfile="nodes")) == {"-spec-role"}
    with_role = node_class("b", cluster="test", version="v1")
    profiled = node_class("a", cluster="test", version="v1", role=None, instanceProfile="nodes")
    assert changed(with_class(profiled, with_role)) == set()
    assert changed(with_class(profiled).quarantined("ec2nodeclasses")) == {"+snapshots"}
    assert changed(with_class(profiled).with_docs(node_template("default", cluster="test"))) == set()


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ([{"id": "ami-1"}], {"-ami-alias"}),
        ([{"name": "mine", "owner": "self"}, {"tags": {"a": "b"}}], {"-ami-alias"}),
        ([{"id": "ami-1"}, {"alias": "al2023@latest"}], set()),
        ([{"ssmParameter": "/mine"}], set()),
        ([], set()),
        ("odd", set()),
        (["odd"], set()),
    ],
)
def test_images_by_id_need_no_parameter(terms, expected):
    assert changed(with_class(amiSelectorTerms=terms)) == expected


@pytest.mark.parametrize(("rows", "expected"), [((ON_DEMAND,), {"-spot"}), ((SPOT,), set()), ((), set())])
def test_pools_tell_whether_spot_is_possible(rows, expected):
    assert changed(with_env().with_docs(pool("web", *rows, node_class="default", version="v1"))) == expected


def test_a_cluster_is_looked_up_unless_everything_says_no():
    fixed = {"CLUSTER_ENDPOINT": "https://x"}
    bottlerocket = {"amiSelectorTerms": [{"alias": "bottlerocket@v1"}]}
    assert changed(with_class(env=fixed, **bottlerocket)) == {"-endpoint-lookup"}
    assert changed(with_class(env=fixed, amiFamily="Custom", amiSelectorTerms=[])) == {"-endpoint-lookup"}
    assert changed(with_class(**bottlerocket)) == set()
    assert changed(with_class(env=fixed)) == set()
    assert changed(with_class(env=fixed, amiFamily="AL2023", amiSelectorTerms=[{"id": "a"}])) == {"-ami-alias"}
    windows = with_class(env=fixed, amiFamily="Windows2025", amiSelectorTerms=[{"id": "a"}])
    assert changed(windows) == {"-ami-alias", "-endpoint-lookup"}
    assert changed(with_class(env=fixed, amiSelectorTerms=[{"id": "a"}])) == {"-ami-alias"}
    assert changed(with_env(**fixed)) == set()


@pytest.mark.parametrize("name", ["EKS_CONTROL_PLANE", "ENABLE_ZONAL_SHIFT"])
def test_two_options_look_the_cluster_up_all_the_same(name):
    fixed = {"CLUSTER_ENDPOINT": "https://x"}
    bottlerocket = {"amiSelectorTerms": [{"alias": "bottlerocket@v1"}]}
    assert changed(with_class(env=fixed | {name: "true"}, **bottlerocket)) <= {"+zonal-shift"}
    assert changed(with_class(env=fixed | {name: ""}, **bottlerocket)) == set()


@pytest.mark.parametrize("value", ["1", "t", "T", "true", "TRUE", "True"])
def test_switches_are_read_as_the_controller_reads_them(value):
    assert changed(with_env(ISOLATED_VPC=value)) == {"-open-network"}
    assert changed(with_env(DISABLE_DRY_RUN=value)) == {"-dry-run"}
    assert changed(with_env(ENABLE_ZONAL_SHIFT=value)) == {"+zonal-shift"}


@pytest.mark.parametrize("value", ["false", "0", "yes", ""])
def test_a_switch_that_is_off_or_elsewhere_changes_nothing(value):
    assert changed(with_env(ISOLATED_VPC=value, DISABLE_DRY_RUN=value, ENABLE_ZONAL_SHIFT=value)) == set()


def test_rare_options_of_node_classes():
    assert changed(with_class(capacityReservationSelectorTerms=[{"id": "cr-1"}])) == {"+capacity-reservations"}
    assert changed(with_class(placementGroupSelector={"name": "pg"})) == {"+placement-groups"}
    assert changed(with_class(capacityReservationSelectorTerms=[])) == set()


def disks(*devices):
    return {"blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": ebs} for ebs in devices]}


SNAPSHOT = disks({"volumeSize": "4Gi"}, {"volumeSize": "40Gi", "snapshotID": "snap-1"})


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (SNAPSHOT, {"+snapshots"}),
        (disks({"volumeSize": "4Gi", "volumeType": "gp3"}), set()),
        (disks({"snapshotID": ""}), set()),
        ({"blockDeviceMappings": []}, set()),
        ({"blockDeviceMappings": "snapshotID"}, set()),
        ({"blockDeviceMappings": ["snapshotID", {"ebs": "snapshotID"}, {"ebs": None}, None]}, set()),
        ({"tags": {"snapshotID": "snap-1"}}, set()),
    ],
)
def test_disks_of_a_node_class_tell_whether_a_snapshot_is_launched_from(spec, expected):
    assert changed(with_class(**spec)) == expected
    template = node_template("default", cluster="test", **spec)
    assert changed(a_cluster("0.31.4", env=QUEUE).with_docs(template)) == expected


@pytest.mark.parametrize(("spec", "expected"), [(SNAPSHOT, {"+snapshots"}), (disks({"volumeSize": "4Gi"}), set())])
def test_a_class_within_a_provisioner_tells_it_too(spec, expected):
    inline = provisioner("web", ON_DEMAND, template="default")
    inline["spec"] = {**inline["spec"], "provider": spec}
    assert changed(a_cluster("0.31.4", env=QUEUE).with_docs(inline)) - {"-spot"} == expected


def guessed(cluster):
    return {feature.value for feature in guessed_features(cluster.build())}


def test_snapshots_are_a_guess_where_nobody_could_look():
    whole, named = (
        node_class("a", cluster="test", version="v1"),
        node_class("b", cluster="test", version="v1", **SNAPSHOT),
    )
    assert guessed(with_class(whole)) == guessed(with_class(named)) == set()
    assert guessed(with_class(whole).unseen("ec2nodeclasses")) == {"snapshots"}
    assert guessed(with_class(whole).quarantined("ec2nodeclasses")) == {"snapshots"}
    assert guessed(with_class(named).quarantined("ec2nodeclasses")) == set()
    own = node_template("default", cluster="test", launchTemplate="mine")
    assert guessed(a_cluster("0.31.4", env=QUEUE).with_docs(own)) == {"snapshots"}


def test_a_role_to_assume():
    assert changed(a_cluster("0.37.8", env=QUEUE | {"ASSUME_ROLE_ARN": "arn:aws:iam::1:role/x"})) == {"+assume-role"}


def claims(*marks):
    docs = [
        doc
        for n, mark in enumerate(marks)
        for doc in claim(
            Launched(pool="web", number=n, cluster="test", kubelet="v1.29.4"),
            node_class="default", version="v1", annotations=mark,
        )
    ]  # fmt: skip
    return with_env().with_docs(*docs)


def instances(**tags):
    return (TaggedInstances(tags=tuple(tags.items()), count=1, samples=("i-1",)),)


def test_once_every_claim_is_marked_nothing_older_is_left():
    assert changed(claims(TAGGED, TAGGED)) == {"-in-place"}
    assert changed(claims(TAGGED, {})) == set()
    assert changed(claims(TAGGED).quarantined("nodeclaims")) == set()
    assert changed(claims(TAGGED).with_docs(*machine(LAUNCHED, template="default"))) == set()


def test_an_instance_without_the_tag_is_one_that_is_left():
    tagged, untagged = {"eks:eks-cluster-name": "test"}, {"karpenter.sh/nodepool": "web"}
    assert changed(claims(TAGGED).with_aws(instances=instances(**tagged))) == {"-in-place"}
    assert changed(claims(TAGGED).with_aws(instances=instances(**untagged))) == set()


def test_instances_from_before_machines_are_told_by_their_tags():
    alpha = {"karpenter.sh/provisioner-name": "web"}
    cluster = a_cluster("0.31.4", env=QUEUE)
    assert changed(cluster.with_aws(instances=instances(**alpha))) == {"+instances-of-0.27"}
    marked = alpha | {"karpenter.sh/managed-by": "test"}
    assert changed(cluster.with_aws(instances=instances(**marked))) == set()
