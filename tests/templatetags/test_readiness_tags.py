"""Every word of the report has a look, and colour never stands alone."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import pytest
from django.test import RequestFactory

from migrations_app.checks.base import PHASES, Reason, Remedy, RemedyTool, Severity, Status
from migrations_app.inventory.inventory import PART_NAMES
from migrations_app.queries.fleet.clusters import BUCKETS, STAGES
from migrations_app.readiness.next_step import group_findings
from migrations_app.readiness.report import OWNERS, Stage, Verdict
from migrations_app.templatetags import readiness_tags as tags
from migrations_app.templatetags import wording
from tests.builders.rows import a_finding

STATIC = Path(__file__).parents[2] / "static"
TABLES = {
    "verdicts": (wording.VERDICTS, get_args(Verdict)),
    "buckets": (wording.BUCKETS, BUCKETS),
    "stages": (wording.STAGES, (*get_args(Stage), *STAGES)),
    "statuses": (wording.STATUSES, get_args(Status)),
    "severities": (wording.SEVERITIES, get_args(Severity)),
    "phases": (wording.PHASES, PHASES),
    "owners": (wording.OWNERS, OWNERS),
    "remedies": (wording.REMEDIES, get_args(RemedyTool)),
    "parts": (wording.PARTS, PART_NAMES),
}


@pytest.mark.parametrize("table", TABLES)
def test_every_value_has_a_word(table):
    known, values = TABLES[table]
    assert [value for value in values if value not in known] == []


def test_every_icon_is_drawn():
    drawn = set(re.findall(r'<symbol id="([a-z]+)"', (STATIC / "img/icons.svg").read_text()))
    tables = (wording.VERDICTS, wording.BUCKETS, wording.STATUSES, wording.SEVERITIES)
    assert {look.icon for table in tables for look in table.values()} <= drawn


def test_every_tone_is_in_the_sheet():
    sheet = (STATIC / "css/karpdash.css").read_text()
    tables = (wording.VERDICTS, wording.BUCKETS, wording.STAGES, wording.STATUSES, wording.SEVERITIES)
    tones = {look.tone for table in tables for look in table.values()} | {tone for _, tone in wording.ENVIRONMENTS}
    assert [tone for tone in tones if f".is-{tone} {{" not in sheet] == []
    assert [owner for owner in OWNERS if f".own-{owner} {{" not in sheet] == []


@pytest.mark.parametrize("verdict", get_args(Verdict))
def test_a_badge_is_icon_and_word(verdict):
    html, look = tags.verdict_badge(verdict), wording.VERDICTS[verdict]
    assert f"is-{look.tone}" in html
    assert f"#{look.icon}" in html
    assert look.word in html


@pytest.mark.parametrize(
    ("status", "severity", "tone", "word"),
    [
        ("fail", "blocker", "blocker", "Fails"),
        ("fail", "warning", "warning", "Fails"),
        ("fail", "info", "accent", "Fails"),
        ("unknown", "blocker", "unknown", "Unknown"),
        ("pass", "blocker", "pass", "Passed"),
    ],
)
def test_a_failure_looks_like_its_severity(status, severity, tone, word):
    look = tags.finding_style(a_finding(status=status, severity=severity))
    assert (look.tone, look.word) == (tone, word)


def test_a_check_that_was_not_asked():
    assert tags.finding_style(None).word == "Not asked"


@pytest.mark.parametrize(
    ("stage", "places"),
    [
        ("alpha", ["here", "ahead", "ahead", "ahead", "ahead"]),
        ("beta_v1", ["past", "past", "past", "here", "ahead"]),
        ("v1", ["past", "past", "past", "past", "here"]),
        ("unknown", ["ahead"] * 5),
        ("no_karpenter", ["ahead"] * 5),
    ],
)
def test_the_road(stage, places):
    assert re.findall(r'circle [^>]*class="(\w+)"', tags.stage_dots(stage)) == places


@pytest.mark.parametrize(
    ("name", "tone"),
    [("production", "blocker"), ("Staging", "warning"), ("dev-eu", "pass"), ("test", "accent"), ("blue", "muted")],
)
def test_environments(name, tone):
    assert f"is-{tone}" in tags.environment_badge(name)


def test_no_environment_no_badge():
    assert tags.environment_badge("") == ""


def test_environment_names_are_escaped():
    assert "&lt;b&gt;" in tags.environment_badge("<b>")


@pytest.mark.parametrize(
    ("changes", "address"),
    [
        ({"sort": "name"}, "?q=a&sort=name"),
        ({"q": ""}, "?stage=beta"),
        ({"q": None, "stage": ""}, "?"),
        ({"cursor": "xyz"}, "?q=a&stage=beta&cursor=xyz"),
        ({"q": "a&b=<"}, "?q=a%26b%3D%3C&stage=beta"),
    ],
)
def test_addresses_keep_what_was_asked(changes, address):
    asked = {"q": "a", "stage": "beta", "cursor": "old", "page": "7"}
    if "sort" in changes:
        del asked["stage"]
    assert tags.query_string({"request": RequestFactory().get("/", asked)}, **changes) == address


def test_unknown_codes_are_still_words():
    assert tags.reason_word("brand_new-code") == "Brand new code"
    assert tags.code_text("machine-without-hash") == "no hash annotation"


def test_a_second_remedy_of_a_kind_is_numbered():
    remedies = [Remedy(how=how, text=how) for how in ("kubectl", "helm", "kubectl")]
    assert [label for label, _ in tags.remedy_tabs(remedies)] == ["kubectl 1", "Helm", "kubectl 2"]
    assert len(tags.remedy_tabs(remedies * 9)) == 8


@pytest.mark.parametrize(
    ("value", "name", "word"),
    [
        ("alpha", "stage", wording.STAGES["alpha"].word),
        (None, "stage", wording.STAGES["unknown"].word),
        ("1.2.3", "karpenter", "1.2.3"),
        (None, "karpenter", "unknown"),
        ("a\u202eb", "karpenter", "a\\u202eb"),
    ],
)
def test_one_side_of_a_fact_that_changed(value, name, word):
    assert tags.fact_word(value, name) == word


def test_owners_and_their_nodes_in_one_line():
    segments = [SimpleNamespace(owner=owner, count=count) for count, owner in enumerate(OWNERS[:2], 3)]
    first, second = (wording.OWNERS[owner] for owner in OWNERS[:2])
    assert tags.owner_counts(segments) == f"{first} 3, {second} 4"
    assert tags.owner_counts([]) == ""


@pytest.mark.parametrize(
    ("look", "faint", "classes"),
    [("refused", False, "is-x"), ("not_needed", True, "is-x faint none"), ("unknown", False, "is-x hatched")],
)
def test_the_classes_of_a_cell_of_the_sheet(look, faint, classes):
    assert tags.cell_classes(SimpleNamespace(look=SimpleNamespace(id=look, tone="x"), faint=faint)) == classes


def test_links_stay_in_the_snapshot_that_is_looked_at():
    newest = SimpleNamespace(is_latest=True, snapshot=SimpleNamespace(id=7))
    past = SimpleNamespace(is_latest=False, snapshot=SimpleNamespace(id=7))
    assert tags.seen_at(newest) == ""
    assert (tags.seen_at(past), tags.seen_at(past, "&")) == ("?at=7", "&at=7")


def test_a_data_source_that_was_not_read_is_named_as_on_the_other_pages():
    reason = Reason("part_unread", "crds", "forbidden")
    refused = [a_finding(name, status="unknown", summary="crds: (no)", reason=reason) for name in "ab"]
    told = [tags.group_words(*group_findings(found, cluster="prod")) for found in (refused, refused[:1])]
    assert [*told, tags.finding_words(refused[0])] == ["Karpenter CRDs could not be read: forbidden"] * 3
    failing = a_finding("c", summary="3 CRDs are old")
    assert (tags.finding_words(failing), tags.finding_words(a_finding("d", summary=""))) == (
        "3 CRDs are old", a_finding("d").title,
    )  # fmt: skip


def test_releases_to_go_back_to_stand_newest_first():
    assert tags.newest_first(["0.32.10", "0.36.9", "0.9.1", "0.35.12"]) == ["0.36.9", "0.35.12", "0.32.10", "0.9.1"]


PLACES = {"cursor", "page", "download", "action", "draft", "next", "iss"}
"""Where one is in a list, what is downloaded, and what another page or the identity provider handed over: no link of a
list keeps these."""


def test_links_keep_every_parameter_that_a_page_reads():
    """A filter that a page begins to read and no link keeps would be lost with the next click."""
    web = Path(tags.__file__).parents[1] / "web"
    source = "".join(path.read_text(encoding="utf-8") for path in web.rglob("*.py"))
    read = set(re.findall(r"(?:GET|query)(?:\.get(?:list)?)?[\[(]\"([a-z_]+)\"", source))
    assert len(read) > 25
    assert read - PLACES - tags.KEPT_PARAMETERS == set()
    request = RequestFactory().get("/", dict.fromkeys(sorted(read | {"format"}), "x"))
    kept = {pair.partition("=")[0] for pair in tags.query_string({"request": request})[1:].split("&")}
    assert read - PLACES <= kept <= tags.KEPT_PARAMETERS
