"""A remedy as text: JSON, CloudFormation, Terraform, and for the Karpenter submodule of the Terraform EKS module."""

import json
from collections.abc import Iterable, Sequence

from migrations_app.karpenter.iam.policy import Statement
from migrations_app.karpenter.iam.remedies import Document

_NAME = "KarpenterController{release}Gaps"


def as_json(documents: Sequence[Document]) -> str:
    """The documents as IAM takes them; several follow each other, one for each policy to create."""
    return "\n".join(json.dumps(document, indent=2) for document in documents)


def as_cloudformation(documents: Sequence[Document], *, release: str) -> str:
    """A template with a managed policy for each document, attached to the role that its parameter names."""
    name = _plain(_NAME.format(release=release))
    resources = {
        f"{name}{n}": {
            "Type": "AWS::IAM::ManagedPolicy",
            "Properties": {"Roles": [{"Ref": "ControllerRoleName"}], "PolicyDocument": document},
        }
        for n, document in enumerate(documents, start=1)
    }
    parameter = {"Type": "String", "Description": "Name of the role that the Karpenter controller uses"}
    template = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": f"What the Karpenter controller of {release} may not do yet",
        "Parameters": {"ControllerRoleName": parameter},
        "Resources": resources,
    }
    return json.dumps(template, indent=2)


def as_terraform(documents: Sequence[Document], *, release: str) -> str:
    """A policy and its attachment for each document; the role is a variable."""
    label = _plain(release.replace(".", "_"))
    blocks = ['variable "karpenter_controller_role_name" {\n  type = string\n}']
    for n, document in enumerate(documents, start=1):
        name = f"karpenter_{label}_gaps_{n}"
        body = _indented(_hcl(document), 2)
        blocks.append(
            f'resource "aws_iam_policy" "{name}" {{\n'
            f'  name_prefix = "KarpenterController-"\n'
            f"  policy = jsonencode({body})\n}}"
        )
        blocks.append(
            f'resource "aws_iam_role_policy_attachment" "{name}" {{\n'
            f"  role       = var.karpenter_controller_role_name\n"
            f"  policy_arn = aws_iam_policy.{name}.arn\n}}"
        )
    return "\n\n".join(blocks) + "\n"


def as_module_statements(statements: Iterable[Statement], *, major: int) -> str:
    """The variable `iam_policy_statements` of the submodule; its blocks are `conditions` to 20, `condition` from 21.

    Source: terraform-aws-modules/terraform-aws-eks@v20.16.0, v20.37.2, v21.19.0:modules/karpenter/policy.tf, main.tf
    """
    block = "condition" if major >= 21 else "conditions"
    listed = [
        {
            "sid": statement.sid,
            "effect": "Allow",
            "actions": list(statement.actions),
            "resources": list(statement.resources),
            block: [
                {"test": line.operator, "variable": line.key, "values": list(line.values)}
                for line in statement.conditions
            ],
        }
        for statement in statements
    ]
    return f"iam_policy_statements = {_hcl(listed)}\n"


def _hcl(value: object) -> str:
    """JSON is an expression of HCL once its two template openings are escaped."""
    return json.dumps(value, indent=2).replace("${", "$${").replace("%{", "%%{")


def _indented(text: str, spaces: int) -> str:
    return text.replace("\n", "\n" + " " * spaces)


def _plain(text: str) -> str:
    return "".join(sign for sign in text if sign.isalnum() or sign == "_")
