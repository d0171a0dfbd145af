"""Runs the tests with one more Karpenter minor than there is: `python -m tests.tools.next_minor [arguments of
pytest]`.

It copies the project, adds the rows of an imaginary next minor to the copy as docs/adding-a-release.md says, writes the
generated pages and runs pytest there. A test that fails there assumes that the newest release never changes.
"""

import ast
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.builders.newest import NEWEST, NEWEST_MINOR, NEWEST_ROW, NEXT_MINOR
from tests.house.measures import ROOT

LEFT_BEHIND = shutil.ignore_patterns(
    ".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "*.egg-info", "build", "data"
)
WINDOW = NEWEST_ROW.kubernetes[-1].value
NEXT_KUBERNETES = "{}.{}".format(*(part + place for place, part in enumerate(map(int, WINDOW.max.split(".")))))
NEXT = f"{NEXT_MINOR}.1"
PAGES = ("-m", "karpdash.docs")
"""Words for Python that write the generated pages."""
LEFT_OUT = (
    "--ignore=tests/karpenter/tables/test_against_upstream.py",
    "--deselect=tests/iam/requirements/test_probes.py::test_the_rows_say_what_upstream_asks",
    "--deselect=tests/iam/requirements/test_probes.py::test_the_rows_hold_in_the_same_releases",
    "--deselect=tests/karpenter/coverage/test_entries.py::test_every_known_change_is_in_the_table_and_nothing_else",
)
"""Tests that compare every release with facts of upstream, which a minor that nobody has made has not."""
Rows = Mapping[tuple[str, str], str]
"""What is written at the end of a table, by the file below migrations_app and the name of the table."""

ROWS: Rows = {
    ("karpenter/tables/release_rows_v1.py", "V1_ROWS"): f"""
    NextMinor(
        minor="{NEXT_MINOR}",
        patches=(Patch("{NEXT_MINOR}.0", "2027-01-01"), Patch("{NEXT}", "2027-02-01")),
        kubernetes=(Since("{NEXT_MINOR}.0", SupportedKubernetes("{WINDOW.min}", "{NEXT_KUBERNETES}")),),
        rollback_to=(RollbackTarget("{NEWEST_MINOR}", "{NEWEST}"),),
    ),
""",
    ("karpenter/tables/helm_rows.py", "SETTINGS_ROWS"): f"""
    HelmKey(key="settings.batchIdle", first="{NEXT_MINOR}", replacement="settings.batchIdleDuration"),
""",
    ("karpenter/tables/env_rows.py", "ENV_NAMES"): f"""
    EnvName("BATCH_IDLE", "{NEXT_MINOR}"),
""",
    ("karpenter/tables/metric_rows.py", "METRIC_ROWS"): f"""
    MetricRow("karpenter_nodes_created_total", "karpenter_nodes_made_total", "{NEXT_MINOR}", _GUIDE),
""",
    ("iam/requirements/describe_actions.py", "DESCRIBE_ACTIONS"): f"""
    DescribeAction(
        "describe-weather",
        "DescribeWeather",
        "Nothing is launched when it rains.",
        Span({tuple(map(int, NEXT_MINOR.split(".")))}),
        capability="weather",
    ),
""",
    ("karpenter/coverage/changes_v1.py", "V1_CHANGES"): f"""
    covered("batch-idle", "A value is renamed", checks="removed_helm_keys_unused", release="{NEXT_MINOR}"),
""",
}
ENDED = {
    ("karpenter/tables/helm_rows.py", 'HelmKey(key="settings.batchIdleDuration")'): (
        f'HelmKey(key="settings.batchIdleDuration", last="{NEWEST_MINOR}", replacement="settings.batchIdle")'
    ),
    ("karpenter/tables/env_rows.py", 'EnvName("BATCH_IDLE_DURATION", "0.32")'): (
        f'EnvName("BATCH_IDLE_DURATION", "0.32", "{NEWEST_MINOR}", "BATCH_IDLE", "renamed at {NEXT_MINOR}")'
    ),
}
"""Rows that the next minor ends, as they are and as they become."""


def copy_into(folder: Path, *, more: Rows | None = None) -> None:
    """Copies the project into that empty folder and adds the rows of the next minor, and `more`, to its tables."""
    shutil.copytree(ROOT, folder, ignore=LEFT_BEHIND, dirs_exist_ok=True)
    tables = folder / "migrations_app"
    for (name, before), after in ENDED.items():
        text = (tables / name).read_text()
        if text.count(before) != 1:
            raise LookupError(f"{name} holds {text.count(before)} times {before}")
        (tables / name).write_text(text.replace(before, after))
    for (name, table), rows in (*ROWS.items(), *(more or {}).items()):
        text = (tables / name).read_text()
        (tables / name).write_text(_with_rows(text, table, rows=rows))


def _with_rows(text: str, table: str, *, rows: str) -> str:
    """Returns the text of a module with the rows before the last line of that table. Raises LookupError without such a
    table.
    """
    for statement in ast.parse(text).body:
        targets = [statement.target] if isinstance(statement, ast.AnnAssign) else getattr(statement, "targets", [])
        if any(isinstance(target, ast.Name) and target.id == table for target in targets):
            lines = text.splitlines(keepends=True)
            last = (statement.end_lineno or 0) - 1
            return "".join((*lines[:last], rows.lstrip("\n"), *lines[last:]))
    raise LookupError(f"no table {table}")


def run_in(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs Python in the copy with these arguments and returns its output."""
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=folder, env=_environment(folder), capture_output=True, text=True, check=False)


def _environment(folder: Path) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return inherited | {"PYTHONPATH": str(folder)}


def main(arguments: Sequence[str]) -> int:
    """Returns the exit code of pytest in the copy."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "project"
        copy_into(folder)
        written = run_in(folder, *PAGES)
        if written.returncode:
            sys.stderr.write(written.stderr)
            return written.returncode
        words = [sys.executable, "-m", "pytest", *LEFT_OUT, *arguments]
        return subprocess.run(words, cwd=folder, env=_environment(folder), check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
