"""SQLite makes a table anew to add a column with a default, and its triggers are lost with the old one: 0010 took those
of the rollouts away. Each later step that does so to a guarded table has to end like this one; a test looks for them.
"""

import importlib

from django.db import migrations

STEPS = ("0007_guards", "0008_checkpoints")


def _guard_again(apps, schema_editor):
    if schema_editor.connection.vendor != "sqlite":
        return
    for name in STEPS:
        step = importlib.import_module(f"migrations_app.migrations.{name}")
        for statement in (*step.UNDO_SQLITE, *step.SQLITE):
            schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("migrations_app", "0011_fleet_scans")]

    operations = [migrations.RunPython(_guard_again, migrations.RunPython.noop, elidable=False)]
