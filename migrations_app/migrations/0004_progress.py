"""Both halves of the way by day. Every column may be null: the previous release runs beside."""

from django.db import migrations, models

COLUMNS = (
    "stored_versions", "claims", "objects_total", "nodes_total", "stored_versions_total", "claims_total",
)  # fmt: skip


class Migration(migrations.Migration):
    dependencies = [
        ("migrations_app", "0003_cluster_identity"),
    ]

    operations = [
        migrations.AddField(
            model_name="legacyday",
            name=name,
            field=models.PositiveIntegerField(null=True),
        )
        for name in COLUMNS
    ]
