"""Prints the test files that a change affects: changed tests, and tests that import a changed module.

    python -m tests.tools.touched [REVISION]

Compares with REVISION (HEAD by default, so: uncommitted changes). The folders of the deciding half are left out,
because `make check` runs them whole, and so are browser, deploy, installations and bench, which `make test` runs.
"""

import re
import subprocess
import sys
from pathlib import PurePosixPath

from tests.house.measures import ROOT

PURE = (
    "actions", "campaigns", "checks", "conversion", "iam", "inventory", "journeys", "karpenter", "readiness",
    "upstream",
)  # fmt: skip
SLOW = ("acceptance", "bench", "browser", "deploy", "installations")


def changed(revision: str) -> list[str]:
    """Returns Python files that differ from the revision, new ones included."""
    against = ["git", "diff", "--name-only", "--diff-filter=d", revision, "--", "*.py"]
    new = ["git", "ls-files", "--others", "--exclude-standard", "--", "*.py"]
    lines = (
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True) for command in (against, new)
    )
    return sorted({name for done in lines for name in done.stdout.splitlines()})


def modules(paths: list[str]) -> list[str]:
    """Returns the dotted names of these files; a package stands for its __init__."""
    return [re.sub(r"(/__init__)?\.py$", "", path).replace("/", ".") for path in paths]


def importers(names: list[str]) -> list[str]:
    """Returns test files that import one of the modules, as `from a.b import c` or `from a import b`."""
    wanted = set(names)
    found = []
    for path in sorted((ROOT / "tests").glob("**/test_*.py")):
        text = path.read_text()
        for package, imported in re.findall(r"^from ([\w.]+) import \(?([^)\n]*(?:\n[^)]*)?)", text, re.MULTILINE):
            if package in wanted or wanted & {f"{package}.{name}" for name in re.findall(r"\w+", imported)}:
                found.append(path.relative_to(ROOT).as_posix())
                break
    return found


def is_run(path: str) -> bool:
    """Whether `make check` lists the file: a test, outside the folders that are run whole or left to `make test`."""
    parts = PurePosixPath(path).parts
    return parts[0] == "tests" and parts[-1].startswith("test_") and parts[1] not in PURE + SLOW


def main() -> None:
    paths = changed(sys.argv[1] if len(sys.argv) > 1 else "HEAD")
    print("\n".join(sorted({path for path in [*paths, *importers(modules(paths))] if is_run(path)})))  # noqa: T201 - a program that speaks to its terminal


if __name__ == "__main__":
    main()
