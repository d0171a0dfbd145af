"""The catalogue lists every check and nothing else."""

import re

import pytest

from migrations_app.checks.registry import all_checks
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
