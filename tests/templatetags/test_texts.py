"""Every text of a template is marked for translation, can be collected and translated, and costs nothing until then."""

import ast
import re
import struct
from pathlib import Path

import pytest
from django.conf import settings as running
from django.template import Context, Engine, TemplateSyntaxError
from django.template.base import Template, TextNode
from django.utils import translation
from django.utils.translation import trans_real
from django.utils.translation.template import templatize

from migrations_app.templatetags.texts import Phrase, TranslatedNode
from migrations_app.templatetags.texts import unmarked as english
from tests.house.measures import ROOT
from tests.house.template_texts import unmarked

TEMPLATES = sorted(path for path in (ROOT / "templates").rglob("*") if path.suffix in {".html", ".svg"})
HITS = (
    "{% blocktranslate trimmed count hits|length %}\n {{ hits|length }} hit{% plural %}"
    "{{ hits|length }}\n hits{% endblocktranslate %}"
)


@pytest.fixture
def engine():
    """An engine as the settings make it, which keeps no template of another language."""
    options = running.TEMPLATES[0]["OPTIONS"]
    libraries = {name: f"migrations_app.templatetags.{name}" for name in _libraries()}
    libraries |= {"static": "django.templatetags.static", "django_htmx": "django_htmx.templatetags.django_htmx"}
    return Engine(
        dirs=running.TEMPLATES[0]["DIRS"],
        loaders=[options["loaders"][0][1][0]],
        libraries=libraries,
        builtins=[*Engine.default_builtins, *options["builtins"]],
    )


def _libraries():
    folder = ROOT / "migrations_app/templatetags"
    return [path.stem for path in folder.glob("*.py") if "register = template.Library()" in path.read_text()]


@pytest.fixture
def german(settings, monkeypatch, tmp_path):
    """The site in a language with a catalogue of these texts."""
    folder = tmp_path / "de/LC_MESSAGES"
    folder.mkdir(parents=True)
    plural = "Content-Type: text/plain; charset=UTF-8\nPlural-Forms: nplurals=2; plural=(n != 1);\n"
    texts = {
        "": plural,
        "Open": "Öffnen",
        "%(name|upper)s is <b>100 %%</b> done": "Fertig zu <b>100 %%</b>: %(name|upper)s",
        "%(hits|length)s hit\0%(hits|length)s hits": "%(hits|length)s Treffer allein\0%(hits|length)s Treffer",
    }
    (folder / "django.mo").write_bytes(compiled(texts))
    monkeypatch.setattr(translation, "_trans", trans_real)
    settings.LOCALE_PATHS = [tmp_path]
    settings.USE_I18N = True
    with translation.override("de"):
        yield


def compiled(texts):
    """A catalogue in the format of msgfmt."""
    pairs = sorted((key.encode(), value.encode()) for key, value in texts.items())
    start = 28 + 16 * len(pairs)
    tables, body = [b"", b""], b""
    for which in (0, 1):
        for pair in pairs:
            tables[which] += struct.pack("<II", len(pair[which]), start + len(body))
            body += pair[which] + b"\0"
    head = struct.pack("<7I", 0x950412DE, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, start)
    return head + tables[0] + tables[1] + body


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT / "templates")))
def test_every_visible_text_is_marked(path: Path) -> None:
    assert list(unmarked(path.read_text())) == []


@pytest.mark.parametrize(
    "source",
    [
        "<p>Open</p>",
        '<a title="Open">{{ x }}</a>',
        '<i aria-label="Choose {{ name }}"></i>',
        '{{ x|default:"none" }}',
        '{% ago x "never" %}',
        '<p>{{ _("Open") }} the door</p>',
        "{% if x %}open{% endif %}",
    ],
)
def test_a_text_without_a_mark_is_found(source: str) -> None:
    assert len(list(unmarked(source))) == 1


@pytest.mark.parametrize(
    "source",
    [
        '<p class="small">{{ _("Open") }} karpdash, {{ x }} · 3</p>',
        '<a title="{{ _(\'Open\') }}" data-act="open"><code>kubectl get nodes</code></a>',
        '<i aria-label="{% blocktranslate %}Choose {{ name }}{% endblocktranslate %}">&nbsp;</i>',
    ],
)
def test_a_marked_text_is_not(source: str) -> None:
    assert list(unmarked(source)) == []


def test_the_texts_that_makemessages_collects_are_those_that_pages_ask_for(engine, settings) -> None:
    settings.USE_I18N = True
    every: set[str] = set()
    for path in TEMPLATES:
        nodes = engine.get_template(str(path.relative_to(ROOT / "templates"))).nodelist.get_nodes_by_type(
            TranslatedNode
        )
        asked = {form.message for node in nodes for form in (node.singular, node.plural) if isinstance(form, Phrase)}
        assert asked <= set(collected(path.read_text())), path
        every |= asked
    assert len(every) > 300


def collected(source: str) -> list[str]:
    """The texts that Django hands to xgettext."""
    calls = re.findall(r" n?gettext(\((?:u'(?:[^'\\]|\\.)*'|u\"(?:[^\"\\]|\\.)*\"|, |count)+\)) ", templatize(source))
    return [part.value for call in calls for part in ast.walk(ast.parse(call)) if isinstance(part, ast.Constant)]


def test_in_english_a_mark_is_plain_text(engine) -> None:
    assert english('{{ _("Open") }}, {{ _(\'the "door"\') }}: {{ x|default:_("none") }}') == (
        'Open, the "door": {{ x|default:"none" }}'
    )
    page = engine.get_template("404.html")
    assert "Page not found" in {node.s for node in page.nodelist.get_nodes_by_type(TextNode)}


@pytest.mark.parametrize(("hits", "told"), [([], "0 hits"), ([1], "1 hit"), ([1, 2], "2 hits")])
def test_in_english_a_number_chooses_its_form(engine, hits, told) -> None:
    assert rendered(engine, HITS, hits=hits) == told


def test_values_of_a_text_are_escaped(engine) -> None:
    source = "{% blocktranslate %}<b>{{ name|upper }}</b> at 5 %{% endblocktranslate %}"
    assert rendered(engine, source, name="<i>") == "<b>&lt;I&gt;</b> at 5 %"


def test_a_page_is_told_in_another_language(engine, german) -> None:
    assert rendered(engine, '{{ _("Open") }}') == "Öffnen"
    text = "{% blocktranslate trimmed %}\n  {{ name|upper }} is\n  <b>100 %</b> done\n{% endblocktranslate %}"
    assert rendered(engine, text, name="<i>") == "Fertig zu <b>100 %</b>: &lt;I&gt;"
    assert rendered(engine, HITS, hits=[1]) == "1 Treffer allein"
    assert rendered(engine, HITS, hits=[1, 2]) == "2 Treffer"
    assert rendered(engine, "{% blocktranslate %}not in {{ x }} it{% endblocktranslate %}", x=1) == "not in 1 it"


@pytest.mark.parametrize(
    "source",
    [
        "{% blocktranslate %}{% if x %}a{% endif %}{% endblocktranslate %}",
        "{% blocktranslate with x=y %}{{ x }}{% endblocktranslate %}",
        "{% blocktranslate count x %}a{% endblocktranslate %}",
        "{% blocktranslate %}a{% plural %}b{% endblocktranslate %}",
    ],
)
def test_what_no_catalogue_could_hold_is_refused(engine, source: str) -> None:
    with pytest.raises(TemplateSyntaxError):
        engine.from_string(source)


def rendered(engine: Engine, source: str, **values: object) -> str:
    made: Template = engine.from_string(source)
    return str(made.render(Context(values)))
