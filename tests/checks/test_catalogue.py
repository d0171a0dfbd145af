"""What holds for every check: its name, its words, its test, its page."""

from pathlib import Path

import pytest

from migrations_app.checks import catalogue
from migrations_app.checks.base import EVERY, PHASES, Check, Evidence
from migrations_app.checks.docs import page
from migrations_app.checks.registry import all_checks, hops_text
from migrations_app.checks.runner import run
from migrations_app.inventory.inventory import PART_NAMES, Inventory
from migrations_app.karpenter.hops import every_hop
from migrations_app.readiness.verdict import verdict
from tests.builders.clusters import NOW, a_cluster, an_empty_cluster, case_at
from tests.builders.newest import NEWEST_MINOR

ROOT = Path(__file__).parents[2]
LONGEST = 80
HOPS = ("0.31", "0.32", "0.33+", "1.0", "1.1+", NEWEST_MINOR)


@pytest.fixture(params=all_checks(), ids=lambda check: check.id)
def check(request) -> Check:
    return request.param


def module_path(check: Check) -> Path:
    (found,) = Path(catalogue.__path__[0]).glob(f"*/{check.id}.py")
    return found


def test_every_file_is_a_check_and_every_check_a_file():
    files = {path.stem for path in Path(catalogue.__path__[0]).rglob("*.py")} - {"__init__"}
    assert {check.id for check in all_checks()} == files
    assert len(files) >= 15


def test_every_check_has_its_test_and_no_test_is_an_orphan():
    tests = {(path.parent.name, path.stem) for path in (Path(__file__).parent / "catalogue").rglob("*.py")}
    assert tests == {(module_path(check).parent.name, f"test_{check.id}") for check in all_checks()}


def test_all_phases_are_covered():
    assert {check.phase for check in all_checks()} == set(PHASES)


def test_most_parts_are_read_by_some_check():
    read = {part for check in all_checks() for part in check.reads}
    # Read where they are there, and no reason for "unknown" where they are not.
    assert set(PART_NAMES) - read == {"helm_releases", "endpoints", "namespaces", "cilium_config"}


def test_no_check_is_longer_than_a_screen(check):
    assert len(module_path(check).read_text().splitlines()) <= LONGEST


def test_its_words_are_whole(check):
    assert all(text and text == text.strip() for text in (check.title, check.why, check.how, *check.says))
    assert (check.why[-1], check.how[-1]) == (".", ".")
    assert not check.title.endswith(".")
    assert check.sources
    assert len(set(check.reads)) == len(check.reads)


def test_what_it_says_can_be_filled_in(check):
    row = Evidence(kind="Node", name="first", seen="that")
    assert not any("{" in check.headline((row,) * rows, exact=exact) for rows in (1, 3) for exact in (True, False))


def test_its_hops_exist(check):
    known = set(every_hop())
    assert check.hops == EVERY or set(check.hops) <= known
    assert set(check.severity_at) <= (known if check.hops == EVERY else set(check.hops))


def test_it_has_a_docstring_a_judge_and_advice(check):
    source = module_path(check).read_text()
    assert source.startswith('"""')
    assert source.count("\n@check.judge\n") == 1
    assert source.count("\n@check.advise\n") == 1


@pytest.mark.parametrize("hop", HOPS)
def test_a_cluster_of_which_nothing_was_read_is_unknown_throughout(hop):
    start = "0.30.0" if hop in HOPS[:2] else "0.32.10"
    case = case_at(hop, an_empty_cluster().unseen(*PART_NAMES, why="timeout"), start=start)
    found = run(all_checks(), case)
    assert {finding.status for finding in found} == {"unknown"}
    assert verdict(found) == "needs_facts"


def test_an_inventory_that_nobody_filled_in_passes_nothing():
    case = case_at("1.0", a_cluster())
    blank = Inventory(cluster="test", taken_at=NOW)
    found = run(all_checks(), type(case)(blank, case.hop, case.running, case.stage, case.now))
    assert {finding.status for finding in found} == {"unknown"}


@pytest.mark.parametrize("hop", HOPS)
def test_an_empty_cluster_crashes_no_check(hop):
    start = "0.30.0" if hop in HOPS[:2] else "0.32.10"
    found = run(all_checks(), case_at(hop, an_empty_cluster(), start=start))
    assert [finding.summary for finding in found if finding.summary.startswith("check failed")] == []


def test_the_page_is_the_one_in_docs():
    assert (ROOT / "docs" / "checks.md").read_text() == page(all_checks())


def test_the_page_names_every_check_once_in_full():
    text = page(all_checks())
    assert [text.count(f"\n### {check.id}\n") for check in all_checks()] == [1] * len(all_checks())


def test_hops_in_words():
    assert hops_text(EVERY) == "every hop"
    assert hops_text(("1.0", "1.1+")) == "1.0, 1.1+"
    assert hops_text(every_hop()[4:]) == f"0.32 to {NEWEST_MINOR}"
    assert hops_text(("1.1+", "0.28", "0.29", "0.30", "0.33+")) == "0.28 to 0.30, 0.33+, 1.1+"


def test_a_page_tells_former_names():
    made = Check(
        "x.new_name",
        title="All is well",
        phase="cleanup",
        severity="info",
        why="Because.",
        reads=("nodes",),
        says=("one", "many"),
        formerly=("old_name",),
    )
    assert page([made]).endswith(
        "### new_name\n\nAll is well. Because.\n\n- severity: info\n- asked at: every hop\n- reads: nodes\n"
        "- life cycle: active since 0.1.0, formerly old_name\n"
    )
