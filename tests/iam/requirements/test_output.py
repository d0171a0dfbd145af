import json

from migrations_app.iam.policy import PolicyCondition, PolicyStatement
from migrations_app.iam.requirements.output import as_cloudformation, as_json, as_module_statements, as_terraform
from migrations_app.iam.requirements.remedies import document_of

STATEMENT = PolicyStatement(
    where="x",
    sid="TagOwn",
    actions=("ec2:CreateTags",),
    conditions=(PolicyCondition(operator="StringLike", key="aws:ResourceTag/a", values=("${aws:username}", "%{b}")),),
)
DOCUMENT = document_of([STATEMENT])


def test_json_holds_one_document_after_another():
    decoder = json.JSONDecoder()
    text = as_json([DOCUMENT, DOCUMENT])
    first, end = decoder.raw_decode(text)
    assert (first, json.loads(text[end:])) == (DOCUMENT, DOCUMENT)


def test_cloudformation_attaches_each_document_to_the_role_of_its_parameter():
    template = json.loads(as_cloudformation([DOCUMENT, DOCUMENT], release="1.0"))
    assert template == {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": "What the Karpenter controller of 1.0 may not do yet",
        "Parameters": {
            "ControllerRoleName": {
                "Type": "String",
                "Description": "Name of the role that the Karpenter controller uses",
            }
        },
        "Resources": {
            f"KarpenterController10Gaps{n}": {
                "Type": "AWS::IAM::ManagedPolicy",
                "Properties": {"Roles": [{"Ref": "ControllerRoleName"}], "PolicyDocument": DOCUMENT},
            }
            for n in (1, 2)
        },
    }


def test_terraform_names_policy_and_attachment_and_escapes_templates():
    text = as_terraform([DOCUMENT], release="1.0")
    assert text.startswith('variable "karpenter_controller_role_name" {\n  type = string\n}\n')
    assert 'resource "aws_iam_policy" "karpenter_1_0_gaps_1" {' in text
    assert "  policy_arn = aws_iam_policy.karpenter_1_0_gaps_1.arn\n" in text
    assert '"$${aws:username}"' in text
    assert '"%%{b}"' in text
    body = text.split("jsonencode(")[1].split(")\n}")[0].replace("$${", "${").replace("%%{", "%{")
    assert json.loads(body) == DOCUMENT


def test_the_module_spells_conditions_by_its_version():
    expected = {
        "sid": "TagOwn",
        "effect": "Allow",
        "actions": ["ec2:CreateTags"],
        "resources": ["*"],
    }
    condition = [{"test": "StringLike", "variable": "aws:ResourceTag/a", "values": ["$${aws:username}", "%%{b}"]}]
    for major, block in ((20, "conditions"), (21, "condition")):
        text = as_module_statements([STATEMENT], major=major)
        assert text.startswith("iam_policy_statements = ")
        assert json.loads(text.partition(" = ")[2]) == [expected | {block: condition}]
