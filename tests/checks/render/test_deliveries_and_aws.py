"""What Flux, Argo CD, Terraform, CloudFormation and the aws program are told, line by line."""

import json

import msgspec
import pytest

from migrations_app.checks.changes import (
    AwsCall,
    ChangeTarget,
    DeliveryPause,
    DeliveryResume,
    IamStatements,
    ObjectDelete,
    ObjectPatch,
    Observation,
    PersonTask,
    group,
)
from migrations_app.checks.render import argocd, aws_cli, cloudformation, flux, helm, terraform
from migrations_app.checks.render.sources import TERRAFORM as APPLIED
from migrations_app.inventory.facts.managers import BY_HAND, Managed

STATEMENT = {"Effect": "Allow", "Action": "s3:Get", "Resource": "${x}"}
GRANT = IamStatements(role="arn:aws-cn:iam::111122223333:role/team/kp", policy="More", statements=(STATEMENT,))
POOL = ChangeTarget("NodePool", "web", resource="nodepools.karpenter.sh")


def test_flux_stops_and_goes_on():
    target = ChangeTarget("HelmRelease", "kp", "flux-system")
    assert flux.text(DeliveryPause(target=target, notes=("Stops",)), BY_HAND) == (
        "# Stops\nflux suspend helmrelease kp --namespace flux-system"
    )
    target = ChangeTarget("Kustomization", "kp", "flux-system")
    assert flux.text(DeliveryResume(target=target), BY_HAND) == "flux resume kustomization kp --namespace flux-system"
    assert flux.text(DeliveryPause(target=ChangeTarget("Application", "a", "b")), BY_HAND) == ""


def test_argo_stops_and_goes_on_as_it_did():
    target = ChangeTarget("Application", "kp", "argocd")
    assert argocd.text(DeliveryPause(target=target), BY_HAND) == "argocd app set argocd/kp --sync-policy none"
    assert argocd.text(DeliveryResume(target=target, prune=True, self_heal=True), BY_HAND) == (
        "argocd app set argocd/kp --sync-policy automated --auto-prune --self-heal"
    )
    plain = DeliveryResume(target=target)
    assert argocd.text(plain, BY_HAND) == "argocd app set argocd/kp --sync-policy automated"
    assert argocd.text(DeliveryPause(target=ChangeTarget("HelmRelease", "a", "b")), BY_HAND) == ""


@pytest.mark.parametrize(
    ("render", "by", "found"),
    [
        (
            flux.text,
            Managed("flux", "", "pools", "flux-system"),
            "In the repository that Flux applies (flux-system/pools)",
        ),
        (argocd.text, Managed("argocd", "", "pools"), "In the source of the Argo CD Application (pools)"),
        (terraform.text, Managed("terraform"), "In the Terraform code that holds it"),
    ],
)
def test_what_a_tool_keeps_is_changed_where_it_reads_it(render, by, found):
    only = " --prune --resource karpenter.sh:NodePool:web"
    then = {"terraform": f"\n# {APPLIED}", "argocd": f"\n# Then argocd app sync pools{only}"}.get(by.by, "")
    assert render(ObjectDelete(target=POOL, what="take it out"), by) == f"# {found}: take it out{then}"
    two = group(ObjectDelete(target=POOL), PersonTask(what="look"), ObjectDelete(target=POOL))
    assert render(two, by) == f"# {found}: change NodePool web{then}"
    kept = ObjectPatch(target=POOL, body={}, what="write it")
    assert render(kept, by) == f"# {found}: write it{then.removesuffix(only)}"
    assert render(ObjectDelete(target=POOL, what="take it out"), BY_HAND) == ""


def test_helm_says_where_the_chart_has_the_object():
    by = Managed("helm", "", "kp", "ops")
    found = helm.text(ObjectDelete(target=POOL, what="take it out"), by, target_release="1.0.14")
    assert found == "# In the chart of the Helm release (ops/kp): take it out"


def test_a_role_gets_a_policy_of_its_own():
    document = json.dumps({"Version": "2012-10-17", "Statement": [STATEMENT]}, separators=(",", ":"))
    arn = "arn:aws-cn:iam::111122223333:policy/More"
    assert aws_cli.text(GRANT).splitlines() == [
        f"aws iam create-policy --policy-name More --policy-document '{document}'",
        f"aws iam attach-role-policy --role-name kp --policy-arn {arn}",
    ]
    made, attached = terraform.text(GRANT, BY_HAND).split("\n\n")
    assert made.splitlines()[:3] == ['resource "aws_iam_policy" "More" {', '  name = "More"', "  policy = jsonencode({"]
    assert in_code(made) == {"Version": "2012-10-17", "Statement": [STATEMENT]}
    assert attached.splitlines() == [
        'resource "aws_iam_role_policy_attachment" "More" {',
        '  role = "kp"',
        "  policy_arn = aws_iam_policy.More.arn",
        "}",
        f"# {APPLIED}",
    ]
    (resource,) = json.loads(cloudformation.text(GRANT))["Resources"].values()
    properties = resource["Properties"]
    assert (resource["Type"], properties["ManagedPolicyName"]) == ("AWS::IAM::ManagedPolicy", "More")
    assert (properties["Roles"], properties["PolicyDocument"]["Statement"]) == (["kp"], [STATEMENT])


def in_code(block):
    """The document in a block of Terraform."""
    text = block.partition("jsonencode(")[2].rpartition(")\n}")[0]
    return json.loads(text.replace("$${", "${").replace("%%{", "%{"))


def test_a_policy_inside_the_role_is_one_of_the_role():
    inside = msgspec.structs.replace(GRANT, inline=True)
    document = json.dumps({"Version": "2012-10-17", "Statement": [STATEMENT]}, separators=(",", ":"))
    assert aws_cli.text(inside) == (
        f"aws iam put-role-policy --role-name kp --policy-name More --policy-document '{document}'"
    )
    off = msgspec.structs.replace(inside, removed=True)
    assert aws_cli.text(off) == "aws iam delete-role-policy --role-name kp --policy-name More"
    code = terraform.text(inside, BY_HAND)
    assert code.splitlines()[:3] == ['resource "aws_iam_role_policy" "More" {', '  name = "More"', '  role = "kp"']
    assert in_code(code)["Statement"] == [STATEMENT]
    (resource,) = json.loads(cloudformation.text(inside))["Resources"].values()
    assert (resource["Type"], resource["Properties"]["PolicyName"]) == ("AWS::IAM::Policy", "More")


def test_a_policy_is_taken_off_and_deleted_by_command_alone():
    off = IamStatements(role=GRANT.role, policy="More", statements=GRANT.statements, removed=True)
    arn = "arn:aws-cn:iam::111122223333:policy/More"
    assert aws_cli.text(off).splitlines() == [
        f"aws iam detach-role-policy --role-name kp --policy-arn {arn}",
        f"aws iam delete-policy --policy-arn {arn}",
    ]
    assert (terraform.text(off, BY_HAND), cloudformation.text(off)) == ("", "")


def test_without_the_name_of_the_role_it_is_for_a_person():
    document = json.dumps({"Version": "2012-10-17", "Statement": [STATEMENT]}, separators=(",", ":"))
    unnamed = msgspec.structs.replace(GRANT, role="")
    assert aws_cli.text(unnamed).splitlines() == [
        "# For a person: make the policy More of this document and attach it to the role of the controller",
        "# nothing that was read names the role",
        f"# {document}",
    ]
    assert aws_cli.text(msgspec.structs.replace(unnamed, removed=True)).splitlines() == [
        "# For a person: detach More from the role of the controller",
        "# nothing that was read names the role",
    ]
    assert (terraform.text(unnamed, BY_HAND), cloudformation.text(unnamed)) == ("", "")


def test_calls_and_looks():
    look = Observation(pipe=(("aws", "sqs", "list-queues"),), notes=("Is it there?",))
    call = AwsCall(service="sqs", operation="create-queue", words=("--queue-name", "a b"))
    assert aws_cli.text(group(look, call, notes=("Both",))).splitlines() == [
        "# Both",
        "# Is it there?",
        "aws sqs list-queues",
        "aws sqs create-queue --queue-name 'a b'",
    ]
    assert aws_cli.text(group(GRANT, ObjectDelete(target=POOL))) == ""
    assert cloudformation.text(group(GRANT, call)) == ""
