import json
import shlex
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import leaves
from migrations_app.inventory.objects.aws import CrossCheck
from migrations_app.inventory.objects.cluster_arn import AwsPlace
from migrations_app.inventory.parts import Seen, Unseen
from migrations_app.samples.karpenter_objects import node_class
from migrations_app.samples.kubernetes_objects import node
from tests.builders.clusters import a_cluster, asked_hops, finding_of, reads, remedies, result_of, result_without
from tests.builders.iam import EVERYTHING, a_node_role, a_role, document, managed, permitted, policy_for
from tests.builders.newest import NEWEST, NEWEST_MINOR

CHECK = "controller_permitted"
LAUNCHED = "image, instance, launch-template, network-interface, security-group, spot-instances-request, subnet, volume"
GOOD = ("pass", "The controller has every IAM permission of the target version", ())
TAG_KEYS = Evidence(
    kind="IAM role",
    name="KarpenterController",
    path="ec2:CreateTags on instance",
    seen=(
        "blocked by a condition: KarpenterControllerPolicy-test: Statement[3] (TagOwnInstances): "
        "ForAllValues:StringEquals aws:TagKeys wants karpenter.sh/nodeclaim or Name, sent: eks:eks-cluster-name"
    ),
    wanted=(
        "allowed, for tagging. Running instances do not get their names, and those launched before 1.0 not the tag "
        "eks:eks-cluster-name: 1.1 and later list by it and do not see them. The controller logs: tagging nodeclaim, "
        "tagging instance, UnauthorizedOperation ... ec2:CreateTags on resource: instance/."
    ),
)


def missing(action: str, *, seen="not granted: no statement allows the action", wanted: str) -> Evidence:
    return Evidence(kind="IAM role", name="KarpenterController", path=action, seen=seen, wanted=wanted)


@pytest.mark.parametrize(
    ("version", "hop", "release"),
    [
        ("0.30.0", "0.31", "0.31"),
        ("0.30.0", "0.32", "0.32"),
        ("0.37.8", "1.0", "1.0"),
        ("1.0.14", NEWEST_MINOR, NEWEST_MINOR),
    ],
)
def test_a_policy_for_the_release_is_enough(version, hop, release):
    assert result_of(CHECK, hop, permitted(version, a_role(policy_for(release)))) == GOOD


def test_a_stale_condition_is_found_though_no_action_is_missing():
    found = result_of(CHECK, "1.0", permitted("0.37.8", a_role(policy_for("0.37"))))
    assert found == ("fail", "1 IAM permission of the controller is missing", (TAG_KEYS,))


def of_snapshots(*docs, unseen=()):
    """The result for a role that may not launch from snapshots."""
    rest = {"Effect": "Allow", "NotAction": "ec2:RunInstances", "Resource": "*"}
    run = {"Effect": "Allow", "Action": "ec2:RunInstances", "NotResource": "arn:aws:ec2:*::snapshot/*"}
    cluster = permitted("1.0.14", a_role(document(rest, run))).with_docs(*docs)
    return result_of(CHECK, NEWEST_MINOR, cluster.unseen(*unseen) if unseen else cluster)


def test_snapshots_are_needed_where_a_node_class_names_one():
    disk = {"deviceName": "/dev/xvdb", "ebs": {"snapshotID": "snap-1"}}
    plain, named = (
        node_class("default", cluster="test", version="v1", blockDeviceMappings=disks) for disks in ([], [disk])
    )
    assert of_snapshots(plain) == GOOD
    status, _, (row,) = of_snapshots(named)
    assert (status, row.path) == ("fail", "ec2:RunInstances on snapshot")


def test_where_node_classes_were_not_read_snapshots_are_open():
    status, summary, rows = of_snapshots(unseen=("ec2nodeclasses",))
    assert (status, rows) == ("unknown", ())
    assert summary.startswith(
        "ec2:RunInstances on snapshot: nothing tells whether a node class names a snapshotID in its block device"
    )


@pytest.mark.parametrize(("family", "status"), [("amazon-linux-2023", "pass"), ("amazon-linux-2", "fail")])
def test_the_images_of_the_node_classes_decide_which_parameters_are_needed(family, status):
    body = json.loads(policy_for(NEWEST_MINOR, without=("ssm:GetParameter",)))
    path = f"arn:aws:ssm:*:*:parameter/aws/service/eks/optimized-ami/*/{family}/*"
    text = document(*body["Statement"], {"Effect": "Allow", "Action": "ssm:GetParameter", "Resource": path})
    cluster = permitted("1.4.4", a_role(text)).with_docs(node_class("default", cluster="test", version="v1"))
    assert result_of(CHECK, NEWEST_MINOR, cluster)[0] == status


def test_a_missing_action_says_what_fails_and_what_is_logged():
    row = missing(
        "ec2:TerminateInstances on instance",
        wanted=(
            "allowed, for terminate. Nodes drain but their instances, finalizers and cost stay. The controller logs: "
            "terminating cloudprovider instance, terminating instance, UnauthorizedOperation."
        ),
    )
    cluster = permitted("0.37.8", a_role(policy_for("1.0", without=("ec2:TerminateInstances",))))
    assert result_of(CHECK, "1.0", cluster)[2] == (row,)


MILD = "ec2:DescribeInstanceStatus"


@pytest.mark.parametrize(
    ("without", "severity"),
    [((MILD,), "warning"), ((MILD, "pricing:GetProducts"), "warning"), ((MILD, "ec2:RunInstances"), "blocker")],
)
def test_it_warns_where_the_controller_does_its_work_without(without, severity):
    found = finding_of(CHECK, NEWEST_MINOR, permitted("1.0.14", a_role(policy_for(NEWEST_MINOR, without=without))))
    assert (found.status, found.severity) == ("fail", severity)


def test_a_doubt_beside_a_mild_refusal_may_be_about_more():
    refused = CrossCheck(
        release=NEWEST, role_arn="arn:x", action="ec2:RunInstances", resource="*", ours="allowed",
        theirs="explicitDeny", agreement="disagree", because="an SCP", probes=("v1-run-instance",),
    )  # fmt: skip
    role = a_role(policy_for(NEWEST_MINOR, without=(MILD,)))
    assert finding_of(CHECK, NEWEST_MINOR, permitted("1.0.14", role, simulation=(refused,))).severity == "blocker"


def test_an_explicit_deny_is_told_as_such():
    deny = {"Sid": "No", "Effect": "Deny", "Action": "ec2:DescribeSubnets", "Resource": "*"}
    (row,) = result_of(CHECK, "1.0", permitted("0.37.8", a_role(document(EVERYTHING, deny))))[2]
    assert (row.path, row.seen) == (
        "ec2:DescribeSubnets on *",
        "denied: KarpenterControllerPolicy-test: Statement[1] (No) denies it",
    )


def test_each_role_has_to_be_allowed_by_itself():
    roles = a_role(policy_for("1.0")), a_role(policy_for("0.37"), name="Second")
    assert result_of(CHECK, "1.0", permitted("0.37.8", *roles))[2] == (replace_name(TAG_KEYS, "Second"),)


def replace_name(row: Evidence, name: str) -> Evidence:
    return Evidence(kind=row.kind, name=name, path=row.path, seen=row.seen, wanted=row.wanted)


def test_profiles_and_their_roles_are_for_another_check():
    without = ("iam:CreateInstanceProfile", "iam:PassRole", "iam:GetInstanceProfile")
    assert result_of(CHECK, "1.0", permitted("0.37.8", a_role(policy_for("1.0", without=without)))) == GOOD


def test_before_there_was_one_pass_role_is_for_this_check():
    (row,) = result_of(CHECK, "0.31", permitted("0.30.0", a_role(policy_for("0.31", without=("iam:PassRole",)))))[2]
    assert row.path == "iam:PassRole on role"


def test_what_hangs_on_a_condition_nobody_can_judge_is_unknown():
    odd = EVERYTHING | {"Condition": {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}}
    status, summary, evidence = result_of(CHECK, "1.0", permitted("0.37.8", a_role(document(odd))))
    assert (status, evidence) == ("unknown", ())
    assert summary.startswith("ec2:CreateFleet on ")
    assert "aws:SourceIp wants 10.0.0.0/8, sent: unknown" in summary


def test_settings_decide_what_is_asked():
    """Without a queue nothing of the queue is needed; a pool of reservations needs to read them."""
    role = a_role(policy_for(NEWEST_MINOR, without=("sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage")))
    assert result_of(CHECK, NEWEST_MINOR, permitted("1.3.3", role, env={})) == GOOD
    reserving = node_class("default", cluster="test", version="v1", capacityReservationSelectorTerms=[{"id": "cr-1"}])
    found = result_of(CHECK, NEWEST_MINOR, permitted("1.3.3", role, env={}).with_docs(reserving))
    assert [row.path for row in found[2]] == [
        "ec2:DescribeCapacityReservations on *",
        "ec2:RunInstances on capacity-reservation",
    ]


def test_documents_handed_in_are_judged_without_a_role():
    given = a_role(
        managed(policy_for("0.37"), name="mine.json"), found_by="given", arn="", role=Unseen("not_asked"), namespace=""
    )
    (row,) = result_of(CHECK, "1.0", permitted("0.37.8", given))[2]
    assert (row.kind, row.name, row.path) == ("IAM policies", "mine.json", "ec2:CreateTags on instance")


def test_a_refusal_by_a_name_that_nobody_told_is_no_evidence():
    """Only documents were handed in, and nothing tells the cluster's name: what they name may be right."""
    given = a_role(policy_for("0.37"), found_by="given", arn="", role=Unseen("not_asked"), namespace="")
    blind_to_aws = a_cluster("0.37.8", role="").build()
    cluster = permitted("0.37.8", given)
    cluster.build = lambda: replace(blind_to_aws, aws=replace(blind_to_aws.aws, controller_roles=Seen((given,))))
    status, summary, evidence = result_of(CHECK, "1.0", cluster)
    assert (status, evidence) == ("unknown", ())
    assert summary.startswith(
        "ec2:CreateTags on instance: nothing tells the name of the cluster and the account and the region ("
    )


def without_account(*texts: str) -> Any:
    """A cluster whose objects tell everything but its account, with documents that were handed in."""
    given = a_role(*texts, found_by="given", arn="", role=Unseen("not_asked"), namespace="")
    pod_identity = a_cluster("0.37.8", role="", env={"CLUSTER_NAME": "test", "INTERRUPTION_QUEUE": "test"})
    place = {"kubelet": "v1.29.1", "provider_id": "aws:///eu-central-1a/i-0123456789abcdef0"}
    return pod_identity.with_docs(node("ip-10-0-0-9", **place)).with_aws(
        place=AwsPlace(region="", cluster=""), controller_roles=(given,), node_roles=(a_node_role(),)
    )


DENIED = {"Effect": "Deny", "Action": "ec2:RunInstances", "Resource": "*"}
NOT_HERE = {"StringNotEquals": {"aws:PrincipalAccount": "111122223333"}}
OF_TEAM = {"Effect": "Allow", "Action": "sqs:*", "Resource": "arn:aws:sqs:eu-central-1:1111*:team"}


@pytest.mark.parametrize(
    ("texts", "certain"),
    [
        ((policy_for("0.37"),), ["ec2:CreateTags on instance"]),  # 1.0 sets a tag that no account's condition lists
        ((policy_for("1.0"), document(DENIED)), [f"ec2:RunInstances on {LAUNCHED}"]),
        ((policy_for("1.0"), document(DENIED | {"Condition": NOT_HERE})), []),  # allowed in the account that is named
        ((policy_for("0.37"), document(OF_TEAM)), []),  # which accounts that means is not known
    ],
)
def test_a_refusal_in_whichever_account_is_certain(texts, certain):
    status, _, evidence = result_of(CHECK, "1.0", without_account(*texts))
    assert [row.path for row in evidence] == certain
    assert (status == "fail") == bool(certain)


def test_a_refusal_in_some_accounts_is_unknown():
    """A Deny outside of an account that is not told."""
    cluster = without_account(policy_for("1.0"), document(DENIED | {"Condition": NOT_HERE}))
    assert result_of(CHECK, "1.0", cluster)[0] == "pass"
    named_twice = document(DENIED | {"Condition": NOT_HERE}, EVERYTHING | {"Resource": "arn:aws:sqs:*:444455556666:x"})
    status, summary, evidence = result_of(CHECK, "1.0", without_account(policy_for("1.0"), named_twice))
    assert (status, evidence) == ("unknown", ())
    assert summary.startswith(f"ec2:RunInstances on {LAUNCHED}: nothing tells the account (")


@pytest.mark.parametrize("all_clusters", [False, True])
def test_an_allow_for_a_name_that_nobody_told_is_no_proof(all_clusters):
    text = document(EVERYTHING) if all_clusters else policy_for("0.37", "1.0")
    given = a_role(text, found_by="given", arn="", role=Unseen("not_asked"), namespace="")
    nameless = a_cluster("0.37.8", role="").build()
    cluster = permitted("0.37.8", given)
    cluster.build = lambda: replace(nameless, aws=replace(nameless.aws, controller_roles=Seen((given,))))
    status, summary, evidence = result_of(CHECK, "1.0", cluster)
    if all_clusters:
        assert (status, summary, evidence) == GOOD
    else:
        assert (status, evidence) == ("unknown", ())
        assert summary == (
            "ec2:CreateFleet, ec2:CreateLaunchTemplate, ec2:CreateTags, ec2:DeleteLaunchTemplate, ec2:RunInstances, "
            "ec2:TerminateInstances, eks:DescribeCluster, iam:AddRoleToInstanceProfile, iam:CreateInstanceProfile, "
            "iam:DeleteInstanceProfile, iam:RemoveRoleFromInstanceProfile, iam:TagInstanceProfile: allowed for the "
            "cluster test, and nothing tells the name of the cluster"
        )


def test_without_access_it_says_how_to_give_it():
    status, summary, _ = result_of(CHECK, "1.0", a_cluster("0.37.8"))
    assert status == "unknown"
    assert summary == (
        "AWS not connected: give karpdash the cluster's ARN and a role it may assume (AWS access of the cluster), "
        "then scan again, or provide the policies of the controller's role (karpdash scan --iam-policy)"
    )


@pytest.mark.parametrize(
    ("role", "why"),
    [
        (a_role(policies=Unseen("forbidden", "iam:GetPolicy")), "forbidden (iam:GetPolicy)"),
        (a_role(role=Seen(())), "not_found (AWS has no role arn:aws:iam::111122223333:role/KarpenterController)"),
        (
            a_role(managed("[]", name="odd")),
            "bad_policy (odd: not a policy: the document is no JSON object)",
        ),
    ],
)  # fmt: skip
def test_a_role_that_was_not_read_whole_is_unknown(role, why):
    found = result_of(CHECK, "1.0", permitted("0.37.8", role))
    assert found == ("unknown", f"the controller's permissions could not be read: {why}", ())


def test_no_role_at_all_is_unknown():
    why = "the controller's permissions could not be read: not_found (nothing names a role of the controller)"
    assert result_of(CHECK, "1.0", permitted("0.37.8")) == ("unknown", why, ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    found = result_without(CHECK, "1.0", permitted("0.37.8"), part=part)
    assert found == ("unknown", f"{part} could not be read: forbidden")


def test_aws_may_refuse_what_the_documents_allow():
    row = CrossCheck(
        release="1.0.14", role_arn="arn:x", action="ec2:RunInstances", resource="*", ours="allowed",
        theirs="explicitDeny", agreement="disagree", because="an SCP", probes=("v1-run-instance",),
    )  # fmt: skip
    other = CrossCheck(
        release="0.31.4", role_arn="arn:x", action="ec2:RunInstances", resource="*", ours="allowed",
        theirs="explicitDeny", agreement="disagree", probes=("alpha-run-instance",),
    )  # fmt: skip
    role = a_role(policy_for("1.0"))
    assert result_of(CHECK, "1.0", permitted("0.37.8", role, simulation=(other,))) == GOOD
    assert result_of(CHECK, "1.0", permitted("0.37.8", role, simulation=(row,))) == (
        "unknown",
        (
            "ec2:RunInstances on *: the documents allow it and SimulatePrincipalPolicy says explicitDeny, an SCP: "
            "look for a policy of the organization"
        ),
        (),
    )


def test_it_is_asked_at_every_hop():
    assert asked_hops(CHECK) == ("*",)


def test_the_first_remedy_says_what_to_do_and_the_second_is_the_document():
    steps, body, *_ = remedies(CHECK, "1.0", permitted("0.37.8", a_role(policy_for("0.37"))))
    about, keep, create, attach, after, gone = steps.text.splitlines()
    assert about == "# Before the upgrade, beside the policies that the role has: allows of several add up."
    assert keep == (
        "# Keep what the role has while a rollback is wanted: the document of 1.0 alone refuses every launch of "
        "0.33 to 0.37."
    )
    words, name = shlex.split(create), "karpenter-test-eu-central-1-1-0-14-needs-1"
    assert words[:-1] == ["aws", "iam", "create-policy", "--policy-name", name, "--policy-document"]
    assert json.loads(words[-1]) == json.loads(body.text)
    assert attach == (
        "aws iam attach-role-policy --role-name KarpenterController "
        f"--policy-arn arn:aws:iam::111122223333:policy/{name}"
    )
    assert after == "# Once 1.0.14 runs and a rollback is no longer needed, this may be removed:"
    assert gone == "#   KarpenterControllerPolicy-test: Statement[3] (TagOwnInstances): whole statement"
    (step,) = leaves(steps.change)
    assert (step.policy, step.undo.removed, body.change) == (name, True, steps.change)
    assert [one["Sid"] for one in json.loads(body.text)["Statement"]] == ["TagOwnInstances"]


ACTIONS = st.sampled_from(["*", "ec2:*", "ec2:CreateTags", "sqs:*", "iam:PassRole", "s3:Get*", "eks:DescribeCluster"])
RESOURCES = st.sampled_from(
    [
        "*",
        "arn:aws:ec2:us-east-1:999988887777:instance/*",
        "arn:aws:iam::999988887777:role/Other",
        "arn:aws:sqs:us-east-1:999988887777:other",
        "arn:aws:eks:us-east-1:999988887777:cluster/other",
        "arn:${AWS::Partition}:ec2:${AWS::Region}:*:*",
    ]
)
CONDITIONS = st.sampled_from(
    [
        {},
        {"StringEquals": {"aws:RequestTag/kubernetes.io/cluster/other": "owned"}},
        {"StringEquals": {"aws:RequestedRegion": "us-east-1"}},
        {"ForAllValues:StringEquals": {"aws:TagKeys": ["Name"]}},
        {"NoSuchOperator": {"aws:SourceIp": "x"}},
    ]
)
ADDED = st.builds(
    lambda action, resource, condition: {
        "Effect": "Allow", "Action": action, "Resource": resource, **({"Condition": condition} if condition else {})
    },
    ACTIONS, RESOURCES, CONDITIONS,
)  # fmt: skip
BASES = [policy_for("1.0"), policy_for("0.37"), policy_for("1.0", without=("sqs:GetQueueUrl",)), document(EVERYTHING)]
RANK = ("fail", "unknown", "pass")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(BASES), st.lists(ADDED, min_size=1, max_size=3), st.booleans())
def test_a_further_allow_never_turns_a_pass_into_a_failure(base, added, known):
    """Neither where AWS tells the names nor where they have to be read from these very documents."""

    def status(*texts: str) -> str:
        role = a_role(*(managed(text, name=str(n)) for n, text in enumerate(texts)))
        cluster = permitted("0.37.8", role)
        if not known:
            here = a_cluster("0.37.8", role="").build()
            cluster.build = lambda: replace(here, aws=replace(here.aws, controller_roles=Seen((role,))))
        return finding_of(CHECK, "1.0", cluster).status

    before, after = status(base), status(base, document(*added))
    assert not (before == "pass" and after == "fail")
    assert not known or RANK.index(after) >= RANK.index(before)
