"""Makes other releases for tests: copies of this tree with additional schema steps, and trees of older commits."""

import importlib
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.deploy.image import copied
from tests.house.measures import ROOT

PARTS = tuple(sorted(copied()))
"""What the image holds: nothing else of the checkout is beside a release."""
MIGRATIONS = "migrations_app/migrations"


@dataclass(frozen=True, slots=True)
class Release:
    """Code in a folder of its own; its processes import it before any other."""

    name: str
    tree: Path

    @property
    def path(self) -> str:
        """PYTHONPATH: the tree, then the tests of this tree."""
        return f"{self.tree}:{ROOT}"


STEP = """
from django.db import migrations, models

COLUMN = models.CharField(max_length=20, db_default="", default="")

class Migration(migrations.Migration):
    dependencies = [("migrations_app", "{after}")]
    operations = [
        {operations}
    ]
"""
TABLES = ("scan", "attempt")
ADDS = 'migrations.AddField("{table}", "{column}", COLUMN),'
FORGETS = 'migrations.SeparateDatabaseAndState(state_operations=[migrations.RemoveField("{table}", "{column}")]),'
DROPS = (
    'migrations.SeparateDatabaseAndState(state_operations=[migrations.AddField("{table}", "{column}", COLUMN)]), '
    'migrations.RemoveField("{table}", "{column}"),'
)
"""The column went from the models a release before; here it goes from the tables."""
FIELD = (
    '\n{model}.add_to_class("{column}", models.CharField(max_length=20, db_default="", default="{value}"))  # tests\n'
)
MODELS = {"scan": ("scan.py", "Scan"), "attempt": ("rollout.py", "Attempt")}


def series(folder: Path) -> tuple[Release, Release, Release]:
    """Returns three consecutive releases: `first` writes a column `old`; `second` adds `new`, writes it, and no longer
    uses `old` (expand); `third` removes `old` (contract).
    """
    last = sorted((ROOT / MIGRATIONS).glob("[0-9]*.py"))[-1].stem
    one, two, three = "9001_old", "9002_new", "9003_needs_9002_drop_old"
    steps = [(one, _step(last, ADDS, column="old"))]
    first = _copy(folder / "first", steps=steps, column="old", value="first")
    expand = _step(one, ADDS, column="new").replace("    ]\n", f"        {_lines(FORGETS, column='old')}\n    ]\n")
    steps = [*steps, (two, expand)]
    second = _copy(folder / "second", steps=steps, column="new", value="second")
    steps = [*steps, (three, _step(two, DROPS, column="old"))]
    return first, second, _copy(folder / "third", steps=steps, column="new", value="third")


def older_release(folder: Path) -> Release:
    """Returns the newest commit before a schema step of this tree was added, whose own steps this tree still has or
    replaces.

    Raises LookupError if the history holds none.
    """
    known = {f"{name}.py" for name in _known_steps()}
    for commit in _parents():
        steps = {Path(name).name for name in _git("ls-tree", "--name-only", commit, f"{MIGRATIONS}/").splitlines()}
        if {name for name in steps if name[0].isdigit()} < known:
            tree = folder / commit[:12]
            tree.mkdir()
            archive = subprocess.run(["git", "archive", commit, *PARTS], cwd=ROOT, capture_output=True, check=True)
            subprocess.run(["tar", "x", "-C", tree], input=archive.stdout, check=True)
            return Release(commit[:12], tree)
    raise LookupError("the history holds no release of fewer steps")


def _known_steps() -> Iterator[str]:
    """Returns the steps of this tree and those that they replace: a database with all replaced steps is upgraded."""
    for path in (ROOT / MIGRATIONS).glob("[0-9]*.py"):
        yield path.stem
        step = importlib.import_module(f"{MIGRATIONS.replace('/', '.')}.{path.stem}").Migration
        yield from (name for _, name in step.replaces)


def _parents() -> Iterator[str]:
    """Returns the commits before those that added a step, newest first."""
    which = ("--first-parent", "-m", "--no-renames", "--diff-filter=A")
    added = _git("log", *which, "--format=%H %P", "--", MIGRATIONS)
    yield from (line.split()[1] for line in added.splitlines() if len(line.split()) > 1)


def _git(*words: str) -> str:
    told = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if told.returncode:
        raise LookupError(f"git {words[0]}: {told.stderr.strip()}")
    return told.stdout


def _copy(tree: Path, *, steps: Sequence[tuple[str, str]], column: str, value: str) -> Release:
    tree.mkdir()
    for part in PARTS:
        (tree / part).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, tree / part, ignore=shutil.ignore_patterns("*.pyc.*"))
        else:
            shutil.copy(ROOT / part, tree / part)
    for name, text in steps:
        (tree / MIGRATIONS / f"{name}.py").write_text(text)
    for file, model in MODELS.values():
        with (tree / "migrations_app" / "models" / file).open("a") as module:
            module.write(FIELD.format(model=model, column=column, value=value))
    return Release(tree.name, tree)


def _step(after: str, operation: str, *, column: str) -> str:
    return STEP.format(after=after, operations=_lines(operation, column=column))


def _lines(operation: str, *, column: str) -> str:
    return "\n        ".join(operation.format(table=table, column=column) for table in TABLES)
