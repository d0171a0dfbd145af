"""Runs the tests that touch the database once more, on PostgreSQL: `python -m tests.servers.on_postgres [pytest args]`.

SQLite takes one writer at a time and hides lost updates; PostgreSQL shows them. Tests of these folders that use no
database, or one of their own, are left out, because the first run covers them; so are those marked `one_database`.
Browsers stay out: the threads that serve them keep their connections, and a database in use cannot be dropped.
"""

import os
import sys
from pathlib import Path

import pytest

from tests.servers.postgres import Postgres

FOLDERS = ("models", "use_cases", "queries", "tasks", "api")
VARIABLE = "KARPDASH_TEST_DATABASE"
"""The engine that a run is meant for; not set in the first run."""
FIXTURES = frozenset({"db", "transactional_db"})
MARKS = ("django_db", "own_processes")
ROOT = Path(__file__).resolve().parents[2]


def folders() -> list[str]:
    """Those of FOLDERS that hold a test."""
    places = (ROOT / "tests" / name for name in FOLDERS)
    return [str(place.relative_to(ROOT)) for place in places if any(place.rglob("test_*.py"))]


def uses_database(item: pytest.Item) -> bool:
    """Whether the test uses the database of the run and is to be repeated on the other one.

    Without one of these marks or fixtures, pytest-django refuses every query.
    """
    if item.get_closest_marker("one_database"):
        return False
    if any(item.get_closest_marker(name) for name in MARKS):
        return True
    return not FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))


def main(arguments: list[str]) -> int:
    """Pytest's exit code; 0 when no folder holds a test, or when PostgreSQL is neither there nor required."""
    chosen = folders()
    if not chosen:
        return _told("no tests of the database yet", code=0)
    try:
        server = Postgres()
    except pytest.skip.Exception as reason:
        return _told(f"not run on PostgreSQL: {reason}", code=0)
    except pytest.fail.Exception as reason:
        return _told(str(reason), code=1)
    os.environ["KARPDASH_DATABASE_URL"] = server.url
    os.environ[VARIABLE] = "postgres"
    try:
        return int(pytest.main([*chosen, *arguments]))
    finally:
        server.stop()


def _told(message: str, *, code: int) -> int:
    sys.stderr.write(f"{message}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
