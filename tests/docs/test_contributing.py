"""CONTRIBUTING.md: its paths exist, its targets are those of the Makefile, its numbers are those that are measured."""

import re

import pytest

from tests.house.measures import ROOT, files, text

PAGE = text("CONTRIBUTING.md")
QUOTED = re.findall(r"`([^`\n]+)`", PAGE)
TOPS = ("migrations_app/", "karpdash/", "tests/", "docs/", "templates/", "deploy/")


def paths() -> list[str]:
    """What the page names as a file or folder, alone or as a word of a command."""
    words = {word for quoted in QUOTED for word in quoted.split()}
    return sorted(word for word in words if word.startswith(TOPS))


@pytest.mark.parametrize("path", paths())
def test_a_path_exists(path: str) -> None:
    """Of `<id>` the folder: the file is the one that the reader writes."""
    there = ROOT / path.partition("<")[0].rpartition("/")[0] if "<" in path else ROOT / path
    assert there.exists()


def test_the_paths_are_found() -> None:
    assert len(paths()) > 20


def test_the_targets_are_those_of_the_makefile() -> None:
    named = re.findall(r"^\| `make ([\w-]+)` \|", PAGE, re.M)
    (declared,) = re.findall(r"^\.PHONY: (.+)$", text("Makefile"), re.M)
    assert sorted(named) == sorted(set(declared.split()) - {"help"})


def test_every_measured_limit_is_one_of_the_page() -> None:
    tests = text("tests/house/test_architecture.py")
    limits = re.findall(r"def test_no_(\w+?)_is_over_(\d+)_lines|_over\([^)]*?, (\d+)\)", tests)
    numbers = {number for _, named, used in limits for number in (named, used) if number}
    table = PAGE.split("**Numbers**")[1].split("## Commits")[0]
    assert (numbers - set(re.findall(r"\d+", table)), len(numbers) >= 4) == (set(), True)


def test_a_hook_runs_what_is_there() -> None:
    config = text(".pre-commit-config.yaml")
    named = re.findall(r"(?:tests|karpdash)(?:/\w+\.py|\.\w+)", config)
    assert [name for name in named if f"{name.removesuffix('.py').replace('.', '/')}.py" not in files()] == []
    assert re.findall(r"repo: (?!local)", config) == []
