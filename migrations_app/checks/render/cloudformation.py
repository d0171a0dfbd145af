"""Text for CloudFormation: policies for a role as a template."""

import json

from migrations_app.checks.changes import Change, IamStatements, leaves
from migrations_app.iam.policy import WITH_VARIABLES
from migrations_app.inventory.objects.cluster_arn import read_role_arn


def text(change: Change) -> str:
    """A whole template as JSON, for a separate stack next to that of the role; empty if the change does more than add
    statements to a role."""
    steps = [leave for leave in leaves(change) if isinstance(leave, IamStatements)]
    roles = [role for step in steps if not step.removed and (role := read_role_arn(step.role))]
    if len(roles) < sum(1 for _ in leaves(change)):
        return ""
    resources = {}
    for number, (statements, role) in enumerate(zip(steps, roles, strict=True), start=1):
        resources[f"{_logical(statements.policy)}{number if len(steps) > 1 else ''}"] = {
            "Type": "AWS::IAM::Policy" if statements.inline else "AWS::IAM::ManagedPolicy",
            "Properties": {
                "PolicyName" if statements.inline else "ManagedPolicyName": statements.policy,
                "Roles": [role.name],
                "PolicyDocument": {"Version": WITH_VARIABLES, "Statement": list(statements.statements)},
            },
        }
    role_names = ", ".join(dict.fromkeys(role.name for role in roles))
    about = f"Policies beside those of {role_names}; deploy it with --capabilities CAPABILITY_NAMED_IAM"
    template = {"AWSTemplateFormatVersion": "2010-09-09", "Description": about, "Resources": resources}
    return json.dumps(template, indent=2)


def _logical(name: str) -> str:
    """The name as a logical id of CloudFormation: letters and digits, starting with a letter."""
    return "Policy" + "".join(sign for sign in name if sign.isascii() and sign.isalnum())
