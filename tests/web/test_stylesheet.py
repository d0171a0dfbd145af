"""Colours and sizes are named once, in one stylesheet; no page has its own."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHEET = (ROOT / "static/css/karpdash.css").read_text()
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
SCRIPTS = sorted((ROOT / "static/js").glob("*.js"))
TOKENS, REST = SHEET.split("\n}\n", 1)
LITERAL_COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}\b|rgb\(|hsl\(")


def rules():
    """The sheet below the tokens, without comments and the conditions of media queries."""
    text = re.sub(r"/\*.*?\*/", "", REST, flags=re.DOTALL)
    return re.sub(r"@media[^{]*\{", "{", text)


def test_colours_are_named_in_the_tokens_only():
    assert LITERAL_COLOUR.findall(rules()) == []


def test_a_theme_is_a_set_of_colours():
    """Pages are looked at in both themes by the rules of colour alone: tests/browser/barriers.py."""
    assert "prefers-color-scheme" not in SHEET
    of_theme = re.findall(r"\[data-theme=\"?\w+\"?\][^{]*\{([^}]*)\}", SHEET)
    assert of_theme
    assert {rule.strip() for rule in of_theme} <= {"color-scheme: light;", "color-scheme: dark;"}


def test_lengths_are_named_in_the_tokens_only():
    literal = re.findall(r"[\s:(-](\d*\.?\d+(?:px|pt|cm))\b", rules())
    assert literal == []


def test_every_token_is_used_and_every_use_is_known():
    named = set(re.findall(r"(--[a-z0-9-]+):", TOKENS))
    local = {"--tone", "--tone-line", "--tone-soft"}
    used = set(re.findall(r"var\((--[a-z0-9-]+)", SHEET))
    assert used - named - local == set()
    assert named - used == set()


def test_every_meaning_has_text_line_and_ground_in_both_themes():
    for meaning in ("pass", "blocker", "warning", "unknown", "waived", "muted", "accent"):
        for shade in ("", "-line", "-soft"):
            assert re.search(rf"--{meaning}{shade}: light-dark\(", TOKENS), meaning + shade


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT / "templates")))
def test_no_template_carries_script_style_or_trust(path):
    text = path.read_text()
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)", text)
    assert "|safe" not in text
    assert "autoescape off" not in text
    assert not re.search(r"https?://|\"//", text.replace("http://www.w3.org/2000/svg", ""))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_no_script_writes_markup(path):
    text = path.read_text()
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", text)


def test_every_icon_that_is_asked_for_is_drawn():
    drawn = set(re.findall(r'<symbol id="([a-z]+)"', (ROOT / "static/img/icons.svg").read_text()))
    asked = {name for path in TEMPLATES for name in re.findall(r'\{% icon "([a-z]+)"', path.read_text())}
    assert asked - drawn == set()


def test_every_class_of_a_template_is_in_the_sheet():
    known = set(re.findall(r"\.([a-z][a-zA-Z0-9_-]*)", SHEET))
    hooks = {
        "fleet",
        "nodes",
        "history",
        "test",
        "way",
        "hide",
        "needs-connection",
        "ahead",
        "here",
        "blocker",
        "warning",
    }
    used: set[str] = set()
    for path in TEMPLATES:
        plain = re.sub(r"\{\{.*?\}\}|\{%.*?%\}", lambda tag: "" if tag[0][1] == "{" else " ", path.read_text())
        for value in re.findall(r'class="([^"]*)"', plain):
            used |= set(value.split())
    assert {name for name in used - known - hooks if not name.endswith("-")} == set()
