"""Agents of clusters: one new table, which the previous release does not know (R27)."""

import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('migrations_app', '0018_needs_0017_disruption_holds'),
    ]

    operations = [
        migrations.CreateModel(
            name='ClusterAgent',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('prefix', models.CharField(max_length=12)),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('made_at', models.DateTimeField()),
                ('made_by_name', models.CharField(blank=True, default='', max_length=150)),
                ('revoked_at', models.DateTimeField(null=True)),
                ('session', models.CharField(blank=True, default='', max_length=64)),
                ('acts', models.BooleanField(default=False)),
                ('release', models.CharField(blank=True, default='', max_length=40)),
                ('server', models.CharField(blank=True, default='', max_length=500)),
                ('ca_digest', models.CharField(blank=True, default='', max_length=64)),
                ('address', models.CharField(blank=True, default='', max_length=45)),
                ('connected_at', models.DateTimeField(null=True)),
                ('heard_at', models.DateTimeField(null=True)),
                ('refused_at', models.DateTimeField(null=True)),
                ('refused_code', models.CharField(blank=True, default='', max_length=40)),
                ('cluster', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='agent', to='migrations_app.cluster')),
            ],
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name='cluster',
                    name='source',
                    field=models.CharField(choices=[('kubeconfig', 'Kubeconfig'), ('bundle', 'Bundle'), ('sample', 'Sample'), ('twin', 'Twin'), ('in_cluster', 'In Cluster'), ('eks', 'Eks'), ('agent', 'Agent')], max_length=20),
                ),
            ],
        ),
    ]
