"""What a phone has little room for keeps enough of it: names in tables that scroll, and titles beside their badges."""

import pytest

from tests.builders.rows import a_finding, a_report, a_snapshot

PHONE = {"width": 390, "height": 800}


@pytest.fixture
def wide(browse):
    """The width of the first element that matches, on that page of a phone."""

    def measure(path: str, selector: str) -> float:
        page = browse(viewport=PHONE)
        page.goto(path)
        box = page.locator(selector).first.bounding_box()
        assert box is not None
        return box["width"]

    return measure


def test_names_of_nodes_are_not_broken_after_each_fourth_letter(wide, fleet):
    path = f"/clusters/{fleet['production'].pk}/rollouts/new?action=roll_nodes"
    assert wide(path, ".scroll th[scope=row]") >= 160


def test_the_title_of_a_stage_has_the_line_for_itself(wide, fleet):
    checks = [a_finding("one", hop="0.32"), a_finding("two", hop="0.32", status="unknown")]
    a_snapshot(fleet["production"], a_report(checks=checks))
    assert wide(f"/clusters/{fleet['production'].pk}/plan", ".plan-stage-head h3") >= 250
