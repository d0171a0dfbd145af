import json
from dataclasses import replace

import pytest

from migrations_app.checks.base import Evidence
from migrations_app.inventory.parts import Unseen
from tests.builders.aws import a_controller_role, alpha, beta, instances, parse_all, v1, with_roles
from tests.builders.clusters import a_cluster, asked_hops, finding_of, reads, remedies, result_of, result_without
from tests.builders.newest import NEWEST_MINOR

CHECK = "instance_tags_match_conditions"
GOOD = ("pass", "The policy conditions match the tags of the instances", ())
TWO = "The controller's IAM policies do not allow it to manage 2 instances"
ROLE = "arn:aws:iam::111122223333:role/karpenter"
OWNED = {"aws:ResourceTag/kubernetes.io/cluster/test": "owned"}
END_LOG = (
    "Else: Nodes drain but their instances, finalizers and cost stay. "
    "Log: terminating cloudprovider instance, terminating instance, UnauthorizedOperation"
)
KUBERNETES = {"0.31.4": "1.27", "0.32.10": "1.28"}


def end(tag="karpenter.sh/nodepool", value="*", **more):
    condition = {"StringEquals": OWNED, "StringLike": {f"aws:ResourceTag/{tag}": value}}
    return {"Effect": "Allow", "Action": "ec2:TerminateInstances", "Resource": "*", "Condition": condition} | more


def tagging(*keys):
    condition = {"StringEquals": OWNED, "ForAllValues:StringEquals": {"aws:TagKeys": list(keys)}}
    return {"Effect": "Allow", "Action": "ec2:CreateTags", "Resource": "*", "Condition": condition}


END_ALPHA, END_BETA = end("karpenter.sh/provisioner-name"), end()
TAG_V1 = tagging("eks:eks-cluster-name", "karpenter.sh/nodeclaim", "Name")


def seen(version, *statements, groups):
    return a_cluster(version, kubernetes=KUBERNETES.get(version, "1.29")).with_aws(
        **with_roles(*statements, groups=groups)
    )


def refused(action, tags, because, *, release, wanted=END_LOG):
    return Evidence(
        kind="Instance",
        name="i-1 i-2",
        path=action,
        seen=f"{tags}: {because}",
        wanted=f"allowed in {release} for {ROLE}. {wanted}",
        count=2,
    )


@pytest.mark.parametrize(
    ("version", "hop", "statements", "groups"),
    [
        ("0.31.4", "0.32", [END_ALPHA], (alpha(),)),
        ("0.32.10", "0.33+", [END_ALPHA, END_BETA], (alpha(), beta())),
        ("0.37.8", "1.0", [END_BETA, TAG_V1], (beta(),)),
        ("1.0.14", "1.1+", [END_BETA], (v1(),)),
        ("1.0.14", "1.1+", [{"Effect": "Allow", "Action": "*", "Resource": "*"}], (beta(), v1())),
    ],
)
def test_the_conditions_fit(version, hop, statements, groups):
    assert result_of(CHECK, hop, seen(version, *statements, groups=groups)) == GOOD


def test_the_alpha_policy_was_removed_too_early():
    """iam-alpha-policy-removed-early: no action is missing, the condition asks for the tag of the other generation."""
    tags = "karpenter.sh/managed-by=test karpenter.sh/provisioner-name=web kubernetes.io/cluster/test=owned"
    because = "karpenter: Statement[0]: StringLike aws:ResourceTag/karpenter.sh/nodepool wants *, sent: nothing"
    row = refused("ec2:TerminateInstances", tags, because, release="0.31")
    assert result_of(CHECK, "0.32", seen("0.31.4", END_BETA, groups=(alpha(),))) == ("fail", TWO, (row,))
    found = finding_of(CHECK, "0.33+", seen("0.32.10", END_BETA, groups=(alpha(), beta())))
    assert found.evidence == (refused("ec2:TerminateInstances", tags, because, release="0.32"),)
    assert (found.severity, found.phase) == ("blocker", "iam")


def test_instances_of_before_1_0_cannot_be_given_the_new_tag():
    """IAM-03: ec2:CreateTags is allowed, and its list of keys is stale."""
    tags = (
        "karpenter.k8s.aws/ec2nodeclass=default karpenter.sh/managed-by=test karpenter.sh/nodepool=web "
        "kubernetes.io/cluster/test=owned"
    )
    because = (
        "karpenter: Statement[1]: ForAllValues:StringEquals aws:TagKeys wants Name or karpenter.sh/nodeclaim, "
        "sent: eks:eks-cluster-name"
    )
    wanted = (
        "Else: Running instances do not get their names, and those launched before 1.0 not the tag "
        "eks:eks-cluster-name: 1.1 and later list by it and do not see them. "
        "Log: tagging nodeclaim, tagging instance, UnauthorizedOperation ... ec2:CreateTags on resource: instance/"
    )
    row = refused("ec2:CreateTags with eks:eks-cluster-name", tags, because, release="1.0", wanted=wanted)
    cluster = seen("0.37.8", END_BETA, tagging("Name", "karpenter.sh/nodeclaim"), groups=(beta(), v1()))
    assert result_of(CHECK, "1.0", cluster) == ("fail", TWO, (row,))


def test_each_set_of_tags_is_judged_by_itself():
    cluster = seen("1.0.14", end(value="web"), groups=(v1(), v1("batch")))
    status, summary, (row,) = result_of(CHECK, "1.1+", cluster)
    assert (status, summary, "karpenter.sh/nodepool=batch" in row.seen) == ("fail", TWO, True)


def test_a_resource_that_names_no_instance_is_told():
    elsewhere = end(Resource="arn:aws:ec2:us-east-1:111122223333:instance/*")
    (row,) = result_of(CHECK, "1.1+", seen("1.0.14", elsewhere, groups=(v1(),)))[2]
    assert row.seen.endswith("does not name arn:aws:ec2:eu-central-1:111122223333:instance/i-1")


def test_a_tag_that_is_not_kept_leaves_it_open():
    """Conditions on Name are a known fault; a scan does not keep names, so it cannot tell."""
    summary = (
        "ec2:TerminateInstances on i-1 i-2: karpenter: Statement[0] allows it or not: "
        "StringLike aws:ResourceTag/Name wants karpenter*, sent: unknown"
    )
    cluster = seen("1.0.14", end("Name", "karpenter*"), groups=(v1(),))
    assert result_of(CHECK, "1.1+", cluster) == ("unknown", summary, ())


def test_a_denial_counts_and_so_does_a_boundary():
    everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    denied = seen("1.0.14", everything, END_BETA | {"Effect": "Deny"}, groups=(v1(),))
    (row,) = result_of(CHECK, "1.1+", denied)[2]
    assert row.seen.endswith("karpenter: Statement[1] denies it")
    bounded = a_controller_role(everything, boundary=a_controller_role(END_ALPHA).policies)
    cluster = a_cluster("1.0.14").with_aws(controller_roles=(bounded,), instances=(v1(),))
    (row,) = result_of(CHECK, "1.1+", cluster)[2]
    assert "the permissions boundary does not let it through" in row.seen


def test_a_boundary_that_refuses_what_the_policy_refuses_is_said_with_the_statements():
    limited = a_controller_role(END_ALPHA, boundary=a_controller_role(END_ALPHA).policies)
    cluster = a_cluster("1.0.14").with_aws(controller_roles=(limited,), instances=(v1(),))
    (row,) = result_of(CHECK, "1.1+", cluster)[2]
    assert "; the permissions boundary does not let it through either: " in row.seen
    steps = remedies(CHECK, "1.1+", cluster)[0].text
    said = "# the permissions boundary has to be extended as well, it does not let through ec2:TerminateInstances\n"
    assert f"{said}aws iam create-policy " in steps
    assert "No added statement lifts this" not in steps


def test_adoption_of_the_oldest_instances_is_judged():
    """From 0.29 to 0.32 instances without a mark of their claim get it."""
    old = instances({"karpenter.sh/provisioner-name": "web"})
    (row,) = result_of(CHECK, "0.32", seen("0.31.4", END_ALPHA, groups=(old,)))[2]
    assert row.path == "ec2:CreateTags with karpenter.sh/managed-by, karpenter.sh/provisioner-name"


@pytest.mark.parametrize(
    ("version", "hop", "groups"),
    [
        ("1.0.14", "1.1+", ()),
        ("0.37.8", "1.0", (alpha(),)),
        ("0.32.10", "1.0", (alpha(),)),
        ("1.0.14", NEWEST_MINOR, (v1(),)),
    ],
)
def test_instances_that_the_hop_does_not_touch(version, hop, groups):
    summary = "no instance exists on which this upgrade brings a request"
    assert result_of(CHECK, hop, seen(version, groups=groups)) == ("not_applicable", summary, ())


@pytest.mark.parametrize(
    ("roles", "why"),
    [
        ((), "nothing names a role of the controller"),
        ((a_controller_role(policies=Unseen("forbidden", "iam:GetPolicy is refused")),), "iam:GetPolicy is refused"),
    ],
)
def test_permissions_that_are_not_known(roles, why):
    cluster = a_cluster("1.0.14").with_aws(controller_roles=roles, instances=(v1(),))
    assert result_of(CHECK, "1.1+", cluster) == ("unknown", f"the controller's permissions are not known: {why}", ())


def test_without_aws_it_says_how_to_give_access():
    status, summary, _ = result_of(CHECK, "1.1+", a_cluster("1.0.14"))
    assert (status, summary[:36]) == ("unknown", "AWS not connected: give karpdash the")


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    cluster = seen("1.0.14", groups=(v1(),))
    assert result_without(CHECK, "1.1+", cluster, part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_it_is_asked_at_every_hop():
    assert asked_hops(CHECK) == ("*",)


def test_the_smallest_policy_is_offered_beside_the_others():
    found = remedies(CHECK, "0.32", seen("0.31.4", END_BETA, groups=(alpha(), alpha("batch"))))
    create, attach = found[0].text.splitlines()
    document = json.loads(create.partition("--policy-document ")[2].strip("'"))
    assert [one["Action"] for one in document["Statement"]] == ["ec2:TerminateInstances"]
    assert "karpenter.sh/provisioner-name" in json.dumps(document["Statement"][0]["Condition"])
    assert attach == (
        "aws iam attach-role-policy --role-name karpenter "
        "--policy-arn arn:aws:iam::111122223333:policy/karpenter-test-eu-central-1-0-32-10-instances-1"
    )
    assert found[1].text.startswith('resource "aws_iam_policy" "karpenter-test-eu-central-1-0-32-10-instances-1" {')
    parse_all(found)


def test_no_statement_lifts_a_denial():
    everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    (found,) = remedies(CHECK, "1.1+", seen("1.0.14", everything, END_BETA | {"Effect": "Deny"}, groups=(v1(),)))
    assert found.text.splitlines() == [
        "# No added statement lifts this; the one that is named has to change:",
        "# ec2:TerminateInstances: karpenter: Statement[1] denies it",
        "aws iam list-attached-role-policies --role-name karpenter",
    ]


def test_what_no_release_grants_is_not_proposed():
    foreign = replace(v1(), tags=(("karpenter.sh/nodepool", "web"), ("kubernetes.io/cluster/other", "owned")))
    found = remedies(CHECK, "1.1+", seen("1.0.14", TAG_V1, groups=(foreign,)))
    assert [one.text.splitlines()[0] for one in found] == [
        "# No added statement lifts this; the one that is named has to change:"
    ]
