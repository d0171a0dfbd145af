"""Texts of the web layer's Python are marked for translation: messages, labels, hints and the words of badges."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from migrations_app.texts import text
from tests.house.measures import ROOT

MODULES = sorted(path for room in ("web", "templatetags") for path in (ROOT / "migrations_app" / room).rglob("*.py"))
SHOWN = {"label", "help_text", "headline", "title", "refused"}
"""Arguments that people read."""
NAMES = {"v1alpha5", "v1beta1", "v1"}
"""API versions, the same in every language."""


def bare(source: str) -> Iterator[str]:
    """Each text for people without a mark: of a message, a form's field, or a Look."""
    for call in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)):
        name = ast.unparse(call.func)
        places = {"Look": (0, 3)}.get(name, (1,) if name.startswith("messages.") else ())
        told = [call.args[place] for place in places if place < len(call.args)]
        told += [one.value for one in call.keywords if one.arg in SHOWN]
        for one in told:
            whole = "" if isinstance(one, ast.Constant) and not one.value else ast.unparse(one)
            if whole and isinstance(one, (ast.Constant, ast.JoinedStr)) and any(map(str.isalpha, _written(one))):
                yield whole


def _written(one: ast.Constant | ast.JoinedStr) -> str:
    """The letters of the text itself, without what stands in its braces."""
    if isinstance(one, ast.Constant):
        return one.value if isinstance(one.value, str) and one.value not in NAMES else ""
    return "".join(_written(part) for part in one.values if isinstance(part, ast.Constant))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT / "migrations_app")))
def test_every_text_is_marked(path: Path) -> None:
    assert list(bare(path.read_text())) == []


@pytest.mark.parametrize(
    "source",
    [
        'messages.success(request, "Saved.")',
        'messages.error(request, f"{name} is gone.")',
        'forms.CharField(label="Name")',
        'Look("Ready", "pass", "pass")',
        'Look(_("Ready"), "pass", "pass", "Nothing blocks it.")',
    ],
)
def test_a_text_without_a_mark_is_found(source: str) -> None:
    assert len(list(bare(source))) == 1


@pytest.mark.parametrize(
    "source",
    [
        'messages.success(request, _("Saved."))',
        'messages.error(request, f"{said}.")',
        'forms.CharField(label="", help_text=_("At most 9."))',
        'Look(_("Ready"), "pass", "pass")',
    ],
)
def test_a_marked_text_is_not(source: str) -> None:
    assert list(bare(source)) == []


def test_in_english_a_text_is_itself(settings) -> None:
    said = "Ready to upgrade"
    assert text(said) is said
    settings.USE_I18N = True
    assert text(said) == said
    assert text("{count} left").format(count=3) == "3 left"
