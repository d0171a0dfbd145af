"""Counters of running rollouts over time, for the lines of their pages."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('migrations_app', '0004_progress'),
    ]

    operations = [
        migrations.CreateModel(
            name='RolloutSample',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('taken_at', models.DateTimeField()),
                ('ready_nodes', models.PositiveIntegerField(null=True)),
                ('pending_pods', models.PositiveIntegerField(null=True)),
                ('held_pods', models.PositiveIntegerField(null=True)),
                ('pending_limit', models.PositiveIntegerField(null=True)),
                (
                    'rollout',
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name='samples',
                        to='migrations_app.rollout',
                    ),
                ),
            ],
            options={'ordering': ['pk']},
        ),
    ]
