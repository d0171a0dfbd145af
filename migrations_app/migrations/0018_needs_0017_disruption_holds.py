"""Holds of Karpenter's own disruption: a new table, a column with a default in the database, and a wider constraint.

A rollout that belongs to a pause stands beside the one that is paused. Rollouts of the release before are never beside,
so the constraint binds them as before.
"""

import importlib

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


guard = importlib.import_module("migrations_app.migrations.0002_guards").guard


class Migration(migrations.Migration):

    dependencies = [
        ('migrations_app', '0017_pull_requests'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        # SQLite makes the table of rollouts anew on the way here and on the way back, and drops its triggers.
        migrations.RunPython(migrations.RunPython.noop, guard, elidable=False),
        migrations.CreateModel(
            name='JourneyHold',
            fields=[
                ('journey', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='hold', serialize=False, to='migrations_app.journey')),
                ('asked_for', models.CharField(choices=[('held', 'held'), ('released', 'released')], default='held', max_length=10)),
                ('resumes', models.BooleanField(default=False)),
                ('person', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('by_name', models.CharField(max_length=150)),
                ('by_token', models.BooleanField(default=False)),
                ('begun_at', models.DateTimeField()),
                ('wait_code', models.CharField(blank=True, default='', max_length=60)),
                ('cause', models.CharField(blank=True, default='', max_length=2000)),
                ('earlier', models.PositiveBigIntegerField(default=0)),
                ('asked_after', models.PositiveBigIntegerField(default=0)),
            ],
        ),
        migrations.AddField(
            model_name='rollout',
            name='beside',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.RemoveConstraint(
            model_name='rollout',
            name='one_rollout_holds_a_cluster',
        ),
        migrations.AddConstraint(
            model_name='rollout',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ['needs_attention', 'paused', 'running'])), fields=('cluster', 'beside'), name='one_rollout_holds_a_cluster'),
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name='journeyrollout',
                    name='purpose',
                    field=models.CharField(choices=[('preview', 'Preview'), ('work', 'Work'), ('back', 'Back'), ('hold', 'Hold'), ('release', 'Release')], max_length=10),
                ),
            ],
        ),
        migrations.RunPython(guard, migrations.RunPython.noop, elidable=False),
    ]
