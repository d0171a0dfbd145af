"""Rehearsals of plans: new tables and one column that may be null, so the previous release runs beside."""

import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('migrations_app', '0006_journeys'),
    ]

    operations = [
        migrations.AddField(
            model_name='policy',
            name='rehearsals',
            field=models.JSONField(null=True),
        ),
        migrations.CreateModel(
            name='Rehearsal',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('digest', models.CharField(max_length=64)),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('finished', 'Finished'), ('failed', 'Failed')], default='queued', max_length=10)),
                ('seed', models.PositiveIntegerField(default=0)),
                ('failures', models.JSONField(default=list)),
                ('requested_by', models.CharField(max_length=150)),
                ('made_at', models.DateTimeField(auto_now_add=True)),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('lease_until', models.DateTimeField(null=True)),
                ('fence', models.PositiveIntegerField(default=0)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('result', models.BinaryField(default=bytes)),
                ('error_code', models.CharField(blank=True, default='', max_length=60)),
                ('error', models.CharField(blank=True, default='', max_length=2000)),
                ('rollout', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rehearsals', to='migrations_app.rollout')),
            ],
            options={
                'ordering': ['-made_at', '-pk'],
            },
        ),
        migrations.CreateModel(
            name='RunRecord',
            fields=[
                ('rollout', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='run_record', serialize=False, to='migrations_app.rollout')),
                ('seen', models.JSONField(default=dict)),
                ('difference', models.JSONField(null=True)),
                ('compared_at', models.DateTimeField(null=True)),
                ('rehearsal', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='migrations_app.rehearsal')),
            ],
        ),
        migrations.AddIndex(
            model_name='rehearsal',
            index=models.Index(fields=['state', 'lease_until'], name='migrations__state_68bf35_idx'),
        ),
        migrations.AddConstraint(
            model_name='rehearsal',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ('queued', 'running'))), fields=('rollout',), name='one_active_rehearsal_a_plan'),
        ),
    ]
