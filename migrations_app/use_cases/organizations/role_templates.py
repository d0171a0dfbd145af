"""The roles of an AWS organization as a CloudFormation template and as Terraform.

Pure: a row in, documents out. The template is for the management account or a delegated administrator. It creates the
hub role there, and a StackSet that creates the reading role in every account of the chosen organizational units,
including later ones. A StackSet never reaches the management account itself, so the template creates the reading role
there, too.
"""

import json
from typing import Any

from migrations_app.clients.aws.permissions import hub_policy, member_policy, trust_policy
from migrations_app.iam.partitions import partition_of
from migrations_app.inventory.objects.cluster_arn import read_role_arn
from migrations_app.manifests import JsonMap
from migrations_app.models.organization import AwsOrganization

POLICY_NAME = "karpdash"
STACK_SET = "karpdash-readers"
_CAPABILITY = "CAPABILITY_NAMED_IAM"


def cloudformation_template(row: AwsOrganization) -> JsonMap:
    """The template; its parameters are the organizational units and the kind of deploying account."""
    here = {"Fn::Equals": [{"Ref": "Administrator"}, "SELF"]}
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": f"The roles by which karpdash finds and reads the EKS clusters of {row.name}",
        "Parameters": {
            "OrganizationalUnits": {"Type": "CommaDelimitedList", "Description": "Ids of roots (r-) or units (ou-)"},
            "Administrator": {
                "Type": "String",
                "Default": "SELF",
                "AllowedValues": ["SELF", "DELEGATED_ADMIN"],
                "Description": "SELF in the management account",
            },
        },
        "Conditions": {"IsManagementAccount": here},
        "Resources": {
            "Hub": _role(_name(row.hub_role_arn), trust=_hub_trust(row), policy=_hub_policy(row)),
            "ReaderHere": _member_role(row) | {"Condition": "IsManagementAccount", "DependsOn": "Hub"},
            "Readers": _stack_set(row) | {"DependsOn": "Hub"},
        },
    }


def member_template(row: AwsOrganization) -> JsonMap:
    """The template that the StackSet deploys in each account: the reading role alone."""
    return {"AWSTemplateFormatVersion": "2010-09-09", "Resources": {"Reader": _member_role(row)}}


def terraform_document(row: AwsOrganization) -> JsonMap:
    """The roles as Terraform in JSON syntax, for a file such as karpdash.tf.json; run it in the management account."""
    hub, partition = _name(row.hub_role_arn), _partition(row)
    roles = {
        "karpdash_hub": _terraform_role(hub, _hub_trust(row)),
        "karpdash_reader_here": _terraform_role(row.member_role, _member_trust(row))
        | {"depends_on": ["aws_iam_role.karpdash_hub"]},
    }
    policies = {
        "karpdash_hub": _terraform_policy("karpdash_hub", _hub_policy(row)),
        "karpdash_reader_here": _terraform_policy("karpdash_reader_here", member_policy(partition)),
    }
    stack_set = {
        "name": STACK_SET,
        "permission_model": "SERVICE_MANAGED",
        "capabilities": [_CAPABILITY],
        "auto_deployment": {"enabled": True, "retain_stacks_on_account_removal": False},
        "template_body": _terraform_text(member_template(row)),
        "depends_on": ["aws_iam_role.karpdash_hub"],
        # AWS fills it in; without this, each plan would show a change.
        "lifecycle": {"ignore_changes": ["administration_role_arn"]},
    }
    instances = {
        "stack_set_name": "${aws_cloudformation_stack_set.karpdash_readers.name}",
        "deployment_targets": {"organizational_unit_ids": "${var.organizational_units}"},
        "stack_set_instance_region": row.regions[0],
    }
    return {
        # `stack_set_instance_region` came with release 6 of the provider.
        "terraform": {"required_providers": {"aws": {"source": "hashicorp/aws", "version": ">= 6.0"}}},
        "variable": {"organizational_units": {"type": "list(string)", "description": "Ids of roots or units"}},
        "resource": {
            "aws_iam_role": roles,
            "aws_iam_role_policy": policies,
            "aws_cloudformation_stack_set": {"karpdash_readers": stack_set},
            "aws_cloudformation_stack_set_instance": {"karpdash_readers": instances},
        },
    }


def _stack_set(row: AwsOrganization) -> JsonMap:
    group = {
        "DeploymentTargets": {"OrganizationalUnitIds": {"Ref": "OrganizationalUnits"}},
        # IAM is global: one region is enough.
        "Regions": [row.regions[0]],
    }
    return {
        "Type": "AWS::CloudFormation::StackSet",
        "Properties": {
            "StackSetName": STACK_SET,
            "PermissionModel": "SERVICE_MANAGED",
            "CallAs": {"Ref": "Administrator"},
            "AutoDeployment": {"Enabled": True, "RetainStacksOnAccountRemoval": False},
            "Capabilities": [_CAPABILITY],
            "StackInstancesGroup": [group],
            "TemplateBody": json.dumps(member_template(row)),
        },
    }


def _member_role(row: AwsOrganization) -> JsonMap:
    return _role(row.member_role, trust=_member_trust(row), policy=member_policy(_partition(row)))


def _role(name: str, *, trust: JsonMap, policy: JsonMap) -> JsonMap:
    return {
        "Type": "AWS::IAM::Role",
        "Properties": {
            "RoleName": name,
            "AssumeRolePolicyDocument": trust,
            "Policies": [{"PolicyName": POLICY_NAME, "PolicyDocument": policy}],
        },
    }


def _terraform_role(name: str, trust: JsonMap) -> dict[str, Any]:
    return {"name": name, "assume_role_policy": _terraform_text(trust)}


def _terraform_policy(role: str, policy: JsonMap) -> dict[str, Any]:
    return {"name": POLICY_NAME, "role": f"${{aws_iam_role.{role}.id}}", "policy": _terraform_text(policy)}


def _terraform_text(document: JsonMap) -> str:
    """JSON as a Terraform string, with ${ and %{ escaped, which would begin a template."""
    return json.dumps(document).replace("${", "$${").replace("%{", "%%{")


def _hub_trust(row: AwsOrganization) -> JsonMap:
    return trust_policy(principal_arn=row.principal, external_id=row.external_id)


def _hub_policy(row: AwsOrganization) -> JsonMap:
    return hub_policy(_partition(row), member_role=row.member_role)


def _member_trust(row: AwsOrganization) -> JsonMap:
    return trust_policy(principal_arn=row.hub_role_arn, external_id=row.external_id)


def _partition(row: AwsOrganization) -> str:
    return partition_of(row.regions[0])


def _name(role_arn: str) -> str:
    parsed_arn = read_role_arn(role_arn)
    return parsed_arn.name if parsed_arn else ""
