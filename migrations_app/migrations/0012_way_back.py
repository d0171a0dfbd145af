"""The way back of a journey: a new table alone, so the previous release runs beside. Choices are no column."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('migrations_app', '0011_node_skips'),
    ]

    operations = [
        migrations.CreateModel(
            name='JourneyWayBack',
            fields=[
                ('journey', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='way_back', serialize=False, to='migrations_app.journey')),
                ('to', models.CharField(max_length=8)),
                ('before', models.CharField(max_length=10)),
                ('by_name', models.CharField(max_length=150)),
                ('reason', models.CharField(max_length=2000)),
                ('begun_at', models.DateTimeField()),
            ],
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name='journeyrollout',
                    name='purpose',
                    field=models.CharField(choices=[('preview', 'Preview'), ('work', 'Work'), ('back', 'Back')], max_length=10),
                ),
                migrations.AlterField(
                    model_name='journeysteprow',
                    name='state',
                    field=models.CharField(choices=[('waiting', 'waiting'), ('ready', 'ready'), ('running', 'running'), ('done', 'done'), ('failed', 'failed'), ('skipped', 'skipped'), ('undoing', 'undoing')], default='waiting', max_length=10),
                ),
            ],
        ),
    ]
