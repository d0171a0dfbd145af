"""Words of shell, JSON pointers and comments of what a cluster calls its things."""

import json
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.checks.render.charts import as_code
from migrations_app.checks.render.values import yaml_of
from migrations_app.checks.shell import json_word, note, pointer, quoted, word
from migrations_app.inventory.facts.managers import BY_HAND


@pytest.mark.parametrize("text", ["default", "karpenter.sh/nodepool", "a-b_c.d:e@f%g+h=i,j", "NodePool"])
def test_ordinary_names_need_no_quotes(text: str) -> None:
    assert word(text) == quoted(text) == text


@given(st.text(alphabet=st.characters(categories=("L", "N", "P", "S", "Zs"))))
def test_a_shell_reads_back_what_was_written(text: str) -> None:
    if text.isprintable():
        assert shlex.split(quoted(text)) == [text]


@given(st.text())
def test_a_word_and_a_comment_stay_on_their_line(text: str) -> None:
    assert len(f"x{word(text)}x".splitlines()) == 1
    assert len(f"{note(text)}x".splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [("a\nb", "$'a\\012b'"), ("'\n", "$'\\047\\012'"), ("\\\n", "$'\\\\\\012'"), ("\u2028", "$'\\342\\200\\250'")],
)
def test_what_cannot_be_printed_is_written_with_backslashes(text: str, found: str) -> None:
    assert quoted(text) == found


def test_a_name_is_never_an_option() -> None:
    assert word("--all") == "NOT-A-NAME:--all"
    assert quoted("--all") == "--all"


def test_patches() -> None:
    assert json_word([{"a": "it's"}]) == '\'[{"a":"it\'"\'"\'s"}]\''
    assert pointer("spec.a/b.c~d") == "/spec/a~1b/c~0d"


def test_code_keeps_hostile_keys_and_values_in_their_quotes() -> None:
    tree = yaml_of({"a.x: y\nb": json.dumps("${file(1)}\nz: 1")})
    assert tree == 'a:\n  "x: y\\nb": "${file(1)}\\nz: 1"'
    terraform = as_code(BY_HAND, release="k\nx = 1", tree=tree, version="", about="")[0].text
    assert "$${file(1)}" in terraform
    assert terraform.startswith("# helm_release of k x = 1\n")
