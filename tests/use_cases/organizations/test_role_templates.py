"""The roles of an AWS organization as CloudFormation and Terraform: narrow, guarded, and of a size that fits."""

import json

import pytest

from migrations_app.clients.aws.permissions import RIGHTS
from migrations_app.iam.evaluate import IamRequest, RequestVerdict, evaluate
from migrations_app.iam.policy import parse_policy
from migrations_app.inventory.aws_facts.organization_drift import names_for
from migrations_app.inventory.objects.organization import ListedCluster
from migrations_app.models.organization import AwsOrganization
from migrations_app.use_cases.organizations.role_templates import (
    cloudformation_template,
    member_template,
    terraform_document,
)

HUB = "arn:aws:iam::100000000001:role/karpdash-organization"
ROW = AwsOrganization(
    name="acme ${x}",
    hub_role_arn=HUB,
    member_role="karpdash-reader",
    regions=["eu-west-1", "us-east-2"],
    external_id="karpdash-0011",
    principal="arn:aws:iam::999900001111:user/karpdash",
)


def role(resource):
    properties = resource["Properties"]
    return properties["AssumeRolePolicyDocument"]["Statement"][0], properties["Policies"][0]["PolicyDocument"]


def allowed(document, action, resource):
    policy = parse_policy(json.dumps(document))
    return evaluate(IamRequest(action=action, resource=resource), [policy]).verdict is RequestVerdict.ALLOWED


def test_the_hub_role_lists_accounts_assumes_the_readers_and_nothing_else():
    trust, policy = role(cloudformation_template(ROW)["Resources"]["Hub"])
    assert trust["Principal"] == {"AWS": ROW.principal}
    assert trust["Condition"] == {"StringEquals": {"sts:ExternalId": ROW.external_id}}
    assert allowed(policy, "organizations:ListAccounts", "*")
    assert allowed(policy, "sts:AssumeRole", "arn:aws:iam::200000000002:role/karpdash-reader")
    assert not allowed(policy, "sts:AssumeRole", "arn:aws:iam::200000000002:role/admin")
    assert not allowed(policy, "organizations:DescribeOrganization", "*")
    assert not allowed(policy, "iam:GetRole", "arn:aws:iam::100000000001:role/x")


def test_the_reader_trusts_the_hub_role_with_the_external_id_and_reads_every_cluster_of_its_account():
    trust, policy = role(member_template(ROW)["Resources"]["Reader"])
    assert trust["Principal"] == {"AWS": HUB}
    assert trust["Condition"] == {"StringEquals": {"sts:ExternalId": ROW.external_id}}
    assert allowed(policy, "eks:ListClusters", "*")
    for right in RIGHTS:
        gaps = {"partition": "aws", "account": "200000000002", "region": "us-east-2", "cluster": "any"}
        resource = right.resource.format_map(gaps).replace(":*:", ":aws:").replace("*", "x")
        assert right.free or allowed(policy, right.action, resource), right.action
    assert not allowed(policy, "sts:AssumeRole", "arn:aws:iam::200000000002:role/x")
    assert not allowed(policy, "ec2:TerminateInstances", "*")


def test_the_stack_set_deploys_the_reader_to_the_chosen_units_once_an_account():
    resources = cloudformation_template(ROW)["Resources"]
    properties = resources["Readers"]["Properties"]
    assert json.loads(properties["TemplateBody"]) == member_template(ROW)
    (group,) = properties["StackInstancesGroup"]
    assert group["Regions"] == ["eu-west-1"]
    assert group["DeploymentTargets"] == {"OrganizationalUnitIds": {"Ref": "OrganizationalUnits"}}
    assert resources["ReaderHere"]["Condition"] == "IsManagementAccount"


def test_no_text_of_terraform_begins_a_template_unless_it_is_meant():
    document = terraform_document(ROW)
    body = document["resource"]["aws_cloudformation_stack_set"]["karpdash_readers"]["template_body"]
    assert json.loads(body.replace("$${", "${")) == member_template(ROW)
    meant = [
        "${aws_iam_role.karpdash_hub.id}",
        "${aws_iam_role.karpdash_reader_here.id}",
        "${var.organizational_units}",
    ]
    meant.append("${aws_cloudformation_stack_set.karpdash_readers.name}")
    text = json.dumps(document)
    assert sorted(meant) == sorted(part for part in meant if part in text)
    for part in meant:
        text = text.replace(part, "")
    assert "${" not in text.replace("$${", "")


def test_names_are_those_of_the_clusters_where_they_are_unique():
    def cluster(name, account, region="eu-west-1"):
        arn = f"arn:aws:eks:{region}:{account}:cluster/{name}"
        return ListedCluster(arn=arn, name=name, region=region, account=account)

    found = [
        cluster("web", "1" * 12),
        cluster("web", "2" * 12),
        cluster("core", "1" * 12),
        cluster("a" * 100, "1" * 12),
    ]
    names = names_for(found, taken={"core", "a" * 100})
    assert list(names.values()) == [
        "web 111111111111 eu-west-1",
        "web 222222222222 eu-west-1",
        "core 111111111111 eu-west-1",
        f"{'a' * 60} 111111111111 eu-west-1",
    ]
    assert len(set(names.values())) == len(found)


@pytest.mark.parametrize("size", ["Hub", "ReaderHere"])
def test_an_inline_policy_fits_into_a_role(size):
    _, policy = role(cloudformation_template(ROW)["Resources"][size])
    assert len(json.dumps(policy, separators=(",", ":"))) < 10_240
