"""Plain names for four models and three fields. Only Django's state changes: tables and columns keep their names, so
that the release before reads and writes them on the same database.
"""

import django.db.models.deletion
from django.db import migrations, models

RENAMED = (
    ("Exported", "RolloutBackup"),
    ("Announced", "PublishedEventMark"),
    ("Pulse", "ProcessHeartbeat"),
    ("JourneyWayBack", "JourneyRollback"),
)

FIELDS = (
    ("rollout", "wish", "stop_request", 10),
    ("journey", "lands", "target_release", 40),
    ("campaignmember", "lands", "target_release", 40),
)


class Migration(migrations.Migration):
    dependencies = [("migrations_app", "0002_squashed_0026_guards")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                *(migrations.AlterModelTable(old, f"migrations_app_{old.lower()}") for old, _ in RENAMED),
                *(migrations.RenameModel(old, new) for old, new in RENAMED),
                migrations.AlterField(
                    model_name="rolloutbackup",
                    name="rollout",
                    field=models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="backups",
                        to="migrations_app.rollout",
                    ),
                ),
                migrations.AlterField(
                    model_name="journeyrollback",
                    name="journey",
                    field=models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="rollback",
                        serialize=False,
                        to="migrations_app.journey",
                    ),
                ),
                *(migrations.RenameField(model, old, new) for model, old, new, _ in FIELDS),
                *(
                    migrations.AlterField(
                        model_name=model,
                        name=new,
                        field=models.CharField(
                            blank=True,
                            choices=[("", "None"), ("pause", "Pause"), ("abort", "Abort")] if old == "wish" else None,
                            db_column=old,
                            default="",
                            max_length=length,
                        ),
                    )
                    for model, old, new, length in FIELDS
                ),
            ]
        )
    ]
