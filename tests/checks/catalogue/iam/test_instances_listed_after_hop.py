import shlex

import jmespath
import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.karpenter_objects import Launched, machine
from tests.builders.aws import alpha, beta, instances, parse_all, v1
from tests.builders.clusters import (
    a_cluster,
    an_empty_cluster,
    asked_hops,
    finding_of,
    reads,
    remedies,
    result_of,
    result_without,
)
from tests.builders.newest import NEWEST, NEWEST_MINOR

CHECK = "instances_listed_after_hop"
GOOD = ("pass", "Every instance has the tags of the target version", ())
TWO = "2 instances lack tags of the target version"


def seen(version, *groups):
    kubernetes = {"0.27.6": "1.26", "0.32.10": "1.28", "0.33.12": "1.28"}.get(version, "1.29")
    return a_cluster(version, kubernetes=kubernetes).with_aws(instances=groups)


def lacks(key, was="absent; of NodePool web", wanted="any value", **more):
    row = {"kind": "Instance", "name": "i-1 i-2", "path": f"tags[{key}]", "seen": was, "wanted": wanted, "count": 2}
    return Evidence(**(row | more))


@pytest.mark.parametrize(
    ("version", "hop", "group"),
    [
        ("0.32.10", "0.33+", beta()),
        ("0.37.8", "1.0", beta()),
        ("1.0.14", "1.1+", v1()),
        ("1.1.10", NEWEST_MINOR, v1()),
    ],
)
def test_the_tags_are_there(version, hop, group):
    assert result_of(CHECK, hop, seen(version, group)) == GOOD


def test_instances_of_provisioners_are_lost_to_0_33():
    found = result_of(CHECK, "0.33+", seen("0.32.10", beta(), alpha("old")))
    assert found == ("fail", TWO, (lacks("karpenter.sh/nodepool", "absent; of Provisioner old"),))
    assert finding_of(CHECK, "0.33+", seen("0.32.10", alpha())).severity == "blocker"


def test_0_34_wants_the_node_class_too():
    group = instances({"karpenter.sh/nodepool": "web"})
    assert result_of(CHECK, "0.33+", seen("0.32.10", group)) == (
        "fail",
        TWO,
        (lacks("karpenter.k8s.aws/ec2nodeclass"),),
    )


@pytest.mark.parametrize(
    ("group", "was"), [(beta(), "absent; of NodePool web"), (v1(cluster="other"), "other; of NodePool web")]
)
def test_1_1_wants_the_name_of_the_cluster(group, was):
    row = lacks("eks:eks-cluster-name", was, "test")
    assert result_of(CHECK, "1.1+", seen("1.0.14", group)) == ("fail", TWO, (row,))


@pytest.mark.parametrize(
    ("version", "hop", "release", "group"),
    [
        ("0.37.8", "1.1+", "1.1.10", beta()),  # 1.0 comes to write it, as claims_tagged_with_cluster says as well
        ("0.32.10", "1.0", "1.0.14", alpha()),
        ("1.0.14", NEWEST_MINOR, NEWEST, beta()),
    ],
)
def test_a_later_hop_does_not_ask_again(version, hop, release, group):
    summary = f"a tag by which {release} lists is written or asked for at an earlier upgrade"
    assert result_of(CHECK, hop, seen(version, group)) == ("not_applicable", summary, ())


def test_what_is_lost_already_is_told_as_a_warning():
    found = finding_of(CHECK, NEWEST_MINOR, seen("1.1.10", beta()))
    assert (found.status, found.severity) == ("fail", "warning")
    assert found.evidence == (lacks("eks:eks-cluster-name", wanted="test"),)


def test_instances_left_by_a_way_back_below_machines():
    row = lacks("karpenter.sh/managed-by", "no Machine of it; of Provisioner web", "absent")
    assert result_of(CHECK, "0.31", seen("0.27.6", alpha())) == ("fail", TWO, (row,))


def test_instances_behind_machines_are_not_left_over():
    launched = Launched(pool="web", number=1, cluster="test", kubelet="v1.26.4")
    mine = launched.provider_id.rpartition("/")[2]
    cluster = a_cluster("0.27.6", kubernetes="1.26").with_docs(*machine(launched, template="default"))
    tags = {"karpenter.sh/provisioner-name": "web", "karpenter.sh/managed-by": "test"}
    assert result_of(CHECK, "0.31", cluster.with_aws(instances=(instances(tags, count=1, ids=(mine,)),))) == GOOD
    cluster.with_aws(instances=(instances(tags, count=9, ids=(mine, "i-9")),))
    row = lacks("karpenter.sh/managed-by", "no Machine of it; of Provisioner web", "absent", count=1)
    (found,) = result_of(CHECK, "0.31", cluster)[2]
    assert (found.name, found.count, found.seen) == (f"{mine} i-9 ...", 1, row.seen)


def test_between_machines_and_0_31_nothing_is_in_doubt():
    cluster = a_cluster("0.30.0", kubernetes="1.27").with_aws(instances=(alpha(),))
    assert result_of(CHECK, "0.31", cluster) == GOOD


def test_no_instance_is_no_question():
    summary = "there is no instance of Karpenter's"
    assert result_of(CHECK, "1.1+", seen("1.0.14")) == ("not_applicable", summary, ())


def test_a_release_that_is_not_known_leaves_it_open():
    cluster = an_empty_cluster().with_kubernetes("v1.29.4").with_aws(instances=(beta(),))
    status, summary, rows = result_of(CHECK, "1.1+", cluster, start="1.0.14")
    assert (status, rows) == ("unknown", ())
    assert summary.startswith("which tags are still to be written is not known: ")


def test_without_aws_it_says_how_to_give_access():
    status, summary, _ = result_of(CHECK, "1.1+", a_cluster("1.0.14"))
    assert (status, summary[:36]) == ("unknown", "AWS not connected: give karpdash the")


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.1+", seen("1.0.14"), part=part) == (
        "unknown",
        f"{part} could not be read: forbidden",
    )


def test_it_is_asked_where_tags_count():
    hops = asked_hops(CHECK)
    assert hops[:7] == ("0.28", "0.29", "0.30", "0.31", "0.33+", "1.0", "1.1+")
    assert NEWEST_MINOR in hops


def test_missing_names_are_tagged():
    remedy = remedies(CHECK, "1.1+", seen("1.0.14", beta()))
    assert remedy[0].text.splitlines()[-1] == (
        "aws ec2 create-tags --region eu-central-1 --resources i-1 i-2 --tags Key=eks:eks-cluster-name,Value=test"
    )
    assert [one.how for one in remedy] == ["iam"]
    parse_all(remedy)


def test_instances_beyond_the_first_are_listed_for_the_same_command():
    group = instances({"karpenter.sh/nodepool": "web", "karpenter.k8s.aws/ec2nodeclass": "default"}, count=5)
    (remedy,) = remedies(CHECK, "1.1+", seen("1.0.14", group))
    *_, tagging, note, listing = remedy.text.splitlines()
    assert "--resources i-1 i-2 --tags" in tagging
    assert note == "# The first of 5; the others, for the same command:"
    words = shlex.split(listing)
    assert words[:5] == ["aws", "ec2", "describe-instances", "--region", "eu-central-1"]
    parse_all((remedy,))
    query = words[words.index("--query") + 1]
    key = "eks:eks-cluster-name"
    tagged = {"a": [(key, "test")], "b": [(key, "other")], "c": [("Name", "x")], "d": []}
    made = [
        {"InstanceId": name, "Tags": [{"Key": key, "Value": value} for key, value in tags]}
        for name, tags in tagged.items()
    ]
    untagged = {"InstanceId": "e"}
    answer = {"Reservations": [{"Instances": made}, {"Instances": [untagged]}]}
    assert jmespath.search(query, answer) == ["b", "c", "d", "e"]


def test_what_is_not_handed_over_is_replaced():
    (remedy,) = remedies(CHECK, "0.33+", seen("0.32.10", alpha()))
    assert remedy.text.splitlines()[-1] == (
        "kubectl get nodes -L karpenter.sh/provisioner-name -L karpenter.sh/nodepool"
    )


def test_marks_left_over_are_taken_off():
    tags = {"karpenter.sh/provisioner-name": "web", "karpenter.sh/managed-by": "test"}
    (remedy,) = remedies(CHECK, "0.31", seen("0.27.6", instances(tags, count=5)))
    assert remedy.text == (
        "# 5 in all; list the others with aws ec2 describe-instances\n"
        "aws ec2 delete-tags --region eu-central-1 --resources i-1 i-2 --tags Key=karpenter.sh/managed-by"
    )
