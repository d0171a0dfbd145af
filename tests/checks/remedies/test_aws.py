import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.checks.render.aws_cli import command
from migrations_app.checks.render.terraform import encoded, hcl, label, quoted


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
