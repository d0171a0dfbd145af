"""Two releases on one schema: a step only adds, or says in its name what a release must know; both are tried (R27)."""

import importlib
import re
import uuid

import pytest
from django.db import connection, migrations, models
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.operations.base import Operation
from django.db.migrations.recorder import MigrationRecorder

from karpdash.monitoring.schema import required_step
from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Scan
from migrations_app.tasks import scan_cluster
from migrations_app.use_cases.scans.queue import request_scan
from tests.house.measures import ROOT

FIRST = 3
"""Steps up to this one came before the rule, or with the first release that runs beside another."""


def only_adds(operation: Operation, new: set[str]) -> bool:
    """Whether code that does not know of the operation reads and writes as before; `new` are tables of the same step.

    A function that runs names the tables that it acts on as its `tables`.
    """
    if isinstance(operation, migrations.AddConstraint):
        return operation.model_name.lower() in new
    if isinstance(operation, migrations.RunPython):
        return len(named := getattr(operation.code, "tables", frozenset())) > 0 and named <= new
    if isinstance(operation, migrations.CreateModel | migrations.AddIndex):
        return True
    if isinstance(operation, migrations.AddField):
        field = operation.field
        return bool(field.null or field.has_db_default()) and not field.unique
    return isinstance(operation, migrations.SeparateDatabaseAndState) and not operation.database_operations


def loaded():
    for path in sorted((ROOT / "migrations_app" / "migrations").glob("[0-9]*.py")):
        yield path.stem, importlib.import_module(f"migrations_app.migrations.{path.stem}").Migration


def steps():
    for name, step in loaded():
        yield name, step.operations


def refused(name: str, operations: list[Operation]) -> list[str]:
    """What the step takes away without a name that says which step must be known."""
    new = {one.name.lower() for one in operations if isinstance(one, migrations.CreateModel)}
    return [] if required_step(name) else [type(one).__name__ for one in operations if not only_adds(one, new)]


def test_every_step_only_adds_or_says_what_must_be_known():
    named = dict(steps())
    assert {name: refused(name, operations) for name, operations in named.items() if int(name[:4]) >= FIRST} == {
        name: [] for name in named if int(name[:4]) >= FIRST
    }
    known = {name[:4] for name in named}
    assert all(required_step(name) <= known and required_step(name) < {name[:4], "9999"} | known for name in named)


def test_no_number_of_a_step_is_used_again_for_another_one():
    """A number says what a release must know: `0007_needs_0005_...`. A step that replaces others has theirs."""
    replaced = {name for _, step in loaded() for _, name in step.replaces}
    own = [name[:4] for name, step in loaded() if not step.replaces]
    assert len(set(own)) == len(own)
    assert set(own).isdisjoint(name[:4] for name in replaced)
    last = MigrationAutodetector.parse_number(max(name for name, _ in loaded()))
    assert last >= max(int(name[:4]) for name in replaced)


TEXT = models.CharField(max_length=9)
TAKES_AWAY = [
    migrations.RemoveField("cluster", "name"),
    migrations.RenameField("cluster", "name", "title"),
    migrations.AddField("cluster", "colour", TEXT),
    migrations.AddField("cluster", "colour", models.CharField(max_length=9, unique=True, db_default="")),
    migrations.AlterField("cluster", "name", models.CharField(max_length=9)),
    migrations.AddConstraint("cluster", models.UniqueConstraint(fields=["source"], name="one")),
    migrations.DeleteModel("cluster"),
    migrations.RunSQL("SELECT 1"),
]


@pytest.mark.parametrize("operation", TAKES_AWAY, ids=lambda one: type(one).__name__)
def test_what_does_not_only_add_is_found(operation):
    assert refused("0004_next", [operation]) == [type(operation).__name__]
    assert refused("0004_needs_0003_next", [operation]) == []


@pytest.mark.django_db
def test_no_later_step_drops_a_trigger_of_an_earlier_one():  # A15, A51
    """Django makes a table anew on SQLite for some steps, and the triggers of the old one are lost."""
    vendor, made = connection.vendor, set[str]()
    for name, _ in steps():
        module = importlib.import_module(f"migrations_app.migrations.{name}")
        for statement in getattr(module, "POSTGRES" if vendor == "postgresql" else "SQLITE", ()):
            made |= set(re.findall(r"CREATE TRIGGER (\w+)", statement))
    place = {"sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'"}
    with connection.cursor() as cursor:
        cursor.execute(place.get(vendor, "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal"))
        assert made - {name for (name,) in cursor.fetchall()} == set()
    assert "rollout_states" in made


@pytest.fixture
def _one_step_ahead(transactional_db):
    """The next release has run its step: a column with a default in the database, one that may be empty, a table."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE migrations_app_cluster ADD COLUMN colour varchar(9) DEFAULT 'none' NOT NULL")
        cursor.execute("ALTER TABLE migrations_app_scan ADD COLUMN lane varchar(9) NULL")
        cursor.execute("CREATE TABLE migrations_app_tomorrow (id integer PRIMARY KEY)")
    MigrationRecorder(connection).record_applied("migrations_app", "9999_tomorrow")
    yield
    MigrationRecorder(connection).record_unapplied("migrations_app", "9999_tomorrow")
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE migrations_app_tomorrow")
        cursor.execute("ALTER TABLE migrations_app_scan DROP COLUMN lane")
        cursor.execute("ALTER TABLE migrations_app_cluster DROP COLUMN colour")


@pytest.mark.usefixtures("_one_step_ahead")
def test_this_release_serves_a_database_one_step_ahead(admin_client):
    assert admin_client.get("/readyz?for=web").status_code == 200
    cluster = Cluster.objects.create(name="blue", source="sample", context="beta_037")
    scan_cluster(str(request_scan(cluster.pk, by="ada").scan_id))
    assert list(Scan.objects.values_list("state", flat=True)) == ["done"]
    assert admin_client.get(f"/clusters/{cluster.pk}/").status_code == 200
    Cluster.objects.filter(pk=cluster.pk).update(name=f"green-{uuid.uuid4().hex[:8]}")
    with connection.cursor() as cursor:
        cursor.execute("SELECT colour FROM migrations_app_cluster")
        assert cursor.fetchall() == [("none",)]
