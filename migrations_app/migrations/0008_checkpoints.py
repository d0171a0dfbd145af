"""Checkpoints of the audit log and their sinks; guards: checkpoints only grow, and the head goes one event at a time."""

from django.db import migrations, models

SQLITE = (
    """CREATE TRIGGER checkpoint_never_changes BEFORE UPDATE ON migrations_app_checkpoint
       BEGIN SELECT RAISE(ABORT, 'the audit log only grows'); END""",
    """CREATE TRIGGER checkpoint_never_shrinks BEFORE DELETE ON migrations_app_checkpoint
       BEGIN SELECT RAISE(ABORT, 'the audit log only grows'); END""",
    """CREATE TRIGGER audit_head_steps BEFORE UPDATE ON migrations_app_audithead
       WHEN NEW.seq <> OLD.seq + 1
       BEGIN SELECT RAISE(ABORT, 'the audit log only grows'); END""",
)
POSTGRES = (
    """CREATE TRIGGER checkpoint_never_changes BEFORE UPDATE OR DELETE ON migrations_app_checkpoint
       FOR EACH ROW EXECUTE FUNCTION karpdash_audit_only_grows()""",
    """CREATE TRIGGER checkpoint_never_emptied BEFORE TRUNCATE ON migrations_app_checkpoint
       FOR EACH STATEMENT EXECUTE FUNCTION karpdash_audit_only_grows()""",
    """CREATE TRIGGER audit_head_never_emptied BEFORE TRUNCATE ON migrations_app_audithead
       FOR EACH STATEMENT EXECUTE FUNCTION karpdash_audit_only_grows()""",
    """CREATE TRIGGER audit_head_steps BEFORE UPDATE ON migrations_app_audithead
       FOR EACH ROW WHEN (NEW.seq <> OLD.seq + 1) EXECUTE FUNCTION karpdash_audit_only_grows()""",
)
UNDO_SQLITE = tuple(
    f"DROP TRIGGER IF EXISTS {name}"
    for name in ("checkpoint_never_changes", "checkpoint_never_shrinks", "audit_head_steps")
)
UNDO_POSTGRES = (
    "DROP TRIGGER IF EXISTS checkpoint_never_changes ON migrations_app_checkpoint",
    "DROP TRIGGER IF EXISTS checkpoint_never_emptied ON migrations_app_checkpoint",
    "DROP TRIGGER IF EXISTS audit_head_never_emptied ON migrations_app_audithead",
    "DROP TRIGGER IF EXISTS audit_head_steps ON migrations_app_audithead",
)


def _guard(apps, schema_editor):
    for statement in SQLITE if schema_editor.connection.vendor == "sqlite" else POSTGRES:
        schema_editor.execute(statement)


def _unguard(apps, schema_editor):
    for statement in UNDO_SQLITE if schema_editor.connection.vendor == "sqlite" else UNDO_POSTGRES:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("migrations_app", "0007_guards")]

    operations = [
        migrations.CreateModel(
            name="AuditSink",
            fields=[
                ("target", models.CharField(max_length=500, primary_key=True, serialize=False)),
                ("seq", models.PositiveBigIntegerField(default=0)),
                ("delivered_at", models.DateTimeField(null=True)),
                ("failing_since", models.DateTimeField(null=True)),
                ("error", models.CharField(blank=True, default="", max_length=60)),
                ("detail", models.CharField(blank=True, default="", max_length=300)),
                ("busy_until", models.DateTimeField(null=True)),
            ],
            options={"ordering": ["target"]},
        ),
        migrations.CreateModel(
            name="Checkpoint",
            fields=[
                ("seq", models.PositiveBigIntegerField(primary_key=True, serialize=False)),
                ("hash", models.CharField(max_length=64)),
                ("at", models.CharField(max_length=32)),
                (
                    "why",
                    models.CharField(
                        choices=[
                            ("count", "Count"), ("time", "Time"), ("start", "Start"), ("end", "End"), ("seal", "Seal"),
                        ],
                        max_length=10,
                    ),
                ),
                ("key", models.CharField(max_length=16)),
                ("previous", models.CharField(blank=True, default="", max_length=64)),
                ("signature", models.CharField(max_length=88)),
            ],
            options={"ordering": ["seq"]},
        ),
        migrations.AddIndex(model_name="auditevent", index=models.Index(fields=["at"], name="audit_at")),
        migrations.RunPython(_guard, _unguard, elidable=False),
    ]
