"""The catalogue lists every check and nothing else."""

import re

import pytest

from migrations_app.checks.registry import Retired, all_checks
from migrations_app.karpenter.coverage.entries import CHANGES, KNOWN_PROBLEMS, counted
from tests.web.pages import text

pytestmark = pytest.mark.django_db


def listed(answer):
    return re.findall(r'<article class="entry" id="([a-z0-9_]+)"', answer.content.decode())


def test_every_check_is_there_once(ada):
    assert sorted(listed(ada.get("/catalogue/"))) == sorted(check.id for check in all_checks())


def test_an_entry_says_why_where_and_from_what(ada):
    check = next(check for check in all_checks() if check.id == "legacy_provisioners_gone")
    words = text(ada.get("/catalogue/?q=legacy_provisioners_gone"))
    for word in (check.title, check.id, check.why, "Provisioners", *check.sources):
        assert word in words


def test_an_entry_says_how_with_what_since_when_and_what_it_answers(ada):
    words = text(ada.get("/catalogue/?q=alerts_name_current_metrics"))
    check = next(check for check in all_checks() if check.id == "alerts_name_current_metrics")
    for word in (
        check.how,
        "kubectl, Helm",
        "Karpenter 0.32",
        "Active since karpdash 0.1.0",
        "metrics-renamed-v1",
    ):
        assert word in words


def test_a_change_is_found_by_its_id(ada):
    assert listed(ada.get("/catalogue/?q=spot-service-linked-role")) == ["spot_role_present"]


def test_checks_that_are_not_asked_any_more(ada, monkeypatch):
    assert "Retired" not in text(ada.get("/catalogue/"))
    old = Retired("old_one", "All was <b>well</b>", "0.1.0", "0.3.0", "Nobody runs it.", ("spot_role_present",))
    monkeypatch.setattr("migrations_app.web.catalogue.checks.RETIRED", (old,))
    answer = ada.get("/catalogue/")
    assert "All was &lt;b&gt;well" in answer.content.decode()
    assert "In use from 0.1.0 to 0.3.0" in text(answer)


def test_filters(ada):
    for severity in ("blocker", "warning", "info"):
        expected = {c.id for c in all_checks() if severity in (c.severity, *c.severity_at.values())}
        assert set(listed(ada.get("/catalogue/", {"severity": severity}))) == expected
    at_first = {check.id for check in all_checks() if check.applies("0.32")}
    assert set(listed(ada.get("/catalogue/", {"hop": "0.32"}))) == at_first


def test_nothing_fits(ada):
    assert "No check fits" in text(ada.get("/catalogue/?q=zzzz"))


def test_foreign_filters_are_ignored(ada):
    assert len(listed(ada.get("/catalogue/?severity=fatal&hop=9.9"))) == len(all_checks())


def test_how_far_the_known_changes_are_covered(ada):
    words = text(ada.get("/catalogue/"))
    assert "Known Judged Partly judged Told to a person Not looked at" in words
    for entries in (CHANGES, KNOWN_PROBLEMS):
        assert " ".join(f"{one.entries} ({one.proven} proven)" for one in counted(entries) if one.proven) in words
    assert "judged, proven" in text(ada.get("/catalogue/?q=alerts_name_current_metrics"))
