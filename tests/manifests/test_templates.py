"""Templates are recognised, and what their documents state in plain text."""

import pytest

from migrations_app.manifests.reader import read
from migrations_app.manifests.templates import StatedKind, is_template, stated_kinds


@pytest.mark.parametrize("text", ["name: {{ .Values.a }}", "{% if a %}", "a:\n  %{ for b in c ~}\n"])
def test_an_action_makes_a_template(text: str) -> None:
    assert is_template(text)


@pytest.mark.parametrize("text", ["a: {b: c}", "used: 80%{sign}", "$" + "{name}: a"])
def test_text_without_an_action_is_none(text: str) -> None:
    assert not is_template(text)


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("kind: A\napiVersion: b/v1", [StatedKind(2, "b/v1", "A")]),
        ("\n---\r\napiVersion: 'b/v1' # c\r\nkind: \"A\"\r\n", [StatedKind(3, "b/v1", "A")]),
        ("kind: A\napiVersion: b/v1\n--- # c\nkind: D\napiVersion: v1", [
            StatedKind(2, "b/v1", "A"), StatedKind(5, "v1", "D"),
        ]),
        ("apiVersion: b/v1\napiVersion: b/v2\nkind: A", []),
        ("apiVersion: {{ .b }}\nkind: A", []),
        ("apiVersion: b/v{{ .c }}\nkind: A", []),
        ("data:\n  apiVersion: b/v1\n  kind: A", []),
        ("kind: A", []),
    ],
)  # fmt: skip
def test_what_a_document_states_once_in_plain_text(text: str, stated: list[StatedKind]) -> None:
    assert list(stated_kinds(text)) == stated


@pytest.mark.parametrize(
    "text",
    ["{{- if .Values.a }}\na: b\n{{- end }}\n", "a: {{ .b }}\n", "a:\n%{ for b in c ~}\n- b\n", "{{ toYaml . }}\n b\n"],
)
def test_every_kind_of_error_in_a_template_says_so(text: str) -> None:
    (fault,) = read(text, file="f.yaml").faults
    assert (fault.code, fault.what.partition("; ")[2]) == ("not-yaml", "it looks like a template, render it first")
