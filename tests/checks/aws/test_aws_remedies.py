import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.checks.remedies.aws import added_to_role
from migrations_app.checks.render.aws_cli import command
from migrations_app.checks.render.terraform import encoded, hcl, label, quoted
from tests.builders_aws import parse_all

DOCUMENT = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:Get", "Resource": "${x}"}]}
ROLE = "arn:aws-cn:iam::111122223333:role/team/karpenter"


def test_words_are_quoted_where_the_shell_would_read_them():
    assert command("iam", "get-role", "--role-name", "it's ${x}") == "aws iam get-role --role-name 'it'\"'\"'s ${x}'"


@pytest.mark.parametrize(
    ("name", "found"), [("nodes", "nodes"), ("a.b/c", "a_b_c"), ("1st", "_1st"), ("", "_"), ("-x", "_-x"), ("é", "__")]
)
def test_labels_are_what_terraform_takes(name, found):
    assert label(name) == found


def test_a_block_escapes_templates_and_keeps_expressions():
    text = hcl("aws_x", "y", arguments={"name": "${a}", "policy": encoded({"b": "%{c}"}), "count": 3, "on": True})
    assert text.splitlines() == [
        'resource "aws_x" "y" {',
        '  name = "$${a}"',
        '  policy = jsonencode({"b": "%%{c}"})',
        "  count = 3",
        "  on = true",
        "}",
    ]


@given(st.text(max_size=30))
def test_a_quoted_text_holds_no_template(text):
    found = quoted(text)
    assert json.loads(found.replace("$${", "${").replace("%%{", "%{")) in (text, json.loads(json.dumps(text)))
    assert "${" not in found.replace("$${", "")


def test_documents_go_beside_those_of_the_role():
    found = tuple(added_to_role(ROLE, "More", documents=[DOCUMENT, DOCUMENT]))
    lines = found[0].text.splitlines()
    assert [line.split()[2] for line in lines[1:]] == ["create-policy", "attach-role-policy"] * 2
    assert lines[2] == (
        "aws iam attach-role-policy --role-name karpenter --policy-arn arn:aws-cn:iam::111122223333:policy/More-1"
    )
    assert found[1].text.count('role = "karpenter"') == 2
    assert list(json.loads(found[2].text)["Resources"]) == ["PolicyMore11", "PolicyMore22"]
    parse_all(found)


def test_a_role_that_is_not_known_is_for_a_person():
    (found,) = added_to_role("", "More", documents=[DOCUMENT])
    assert found.how == "iam"
    assert found.text.splitlines() == [
        '# More: {"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:Get","Resource":"${x}"}]}',
        "# For a person: attach these policies to the role of the controller",
        "# nothing in the cluster names the role",
        "# Look at: the credentials that the controller runs with",
    ]


def test_without_documents_nothing_is_proposed():
    assert tuple(added_to_role(ROLE, "More", documents=[])) == ()
