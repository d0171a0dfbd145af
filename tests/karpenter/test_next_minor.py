"""A part of the suite with one minor more: tables, path, stories, the catalogue of checks and some pages.

`python -m tests.tools.next_minor` runs any other part, or all of it.
"""

from pathlib import Path

import pytest

from tests.tools.next_minor import PAGES, copy_into, run_in

PARTS = (
    "tests/karpenter/test_upgrade_path.py",
    "tests/karpenter/test_releases.py",
    "tests/karpenter/test_new_release.py",
    "tests/iam/requirements/test_ranges.py",
    "tests/checks/test_catalogue.py",
    "tests/checks/catalogue/preflight/test_kubernetes_inside_window.py",
    "tests/samples/test_stories.py",
    "tests/web/catalogue/test_checks.py",
)


@pytest.mark.timeout(900)  # half a minute, and more where others work on the machine
def test_the_suite_stays_green_with_one_minor_more(tmp_path: Path) -> None:
    copy_into(tmp_path)
    written = run_in(tmp_path, *PAGES)
    assert written.returncode == 0, written.stderr
    ran = run_in(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", *PARTS)
    assert ran.returncode == 0, ran.stdout[-4000:]
