"""AWS organizations: a new table, and a column of clusters that the previous release leaves null (R27)."""

import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('migrations_app', '0009_sample_twins'),
    ]

    operations = [
        migrations.CreateModel(
            name='AwsOrganization',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=120, unique=True)),
                ('hub_role_arn', models.CharField(max_length=640)),
                ('member_role', models.CharField(max_length=64)),
                ('regions', models.JSONField(default=list)),
                ('external_id', models.CharField(max_length=100, unique=True)),
                ('principal', models.CharField(max_length=640)),
                ('version', models.PositiveIntegerField(default=1)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.CharField(blank=True, default='', max_length=150)),
                ('state', models.CharField(choices=[('idle', 'Idle'), ('queued', 'Queued'), ('running', 'Running')], default='idle', max_length=20)),
                ('requested_at', models.DateTimeField(null=True)),
                ('requested_by', models.CharField(blank=True, default='', max_length=150)),
                ('lease_until', models.DateTimeField(null=True)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('fence', models.PositiveIntegerField(default=0)),
                ('tried_at', models.DateTimeField(null=True)),
                ('error_code', models.CharField(blank=True, default='', max_length=60)),
                ('error', models.CharField(blank=True, default='', max_length=2000)),
                ('listing', models.JSONField(null=True)),
                ('listed_at', models.DateTimeField(null=True)),
            ],
            options={
                'verbose_name': 'AWS organization',
                'ordering': ('name',),
            },
        ),
        migrations.AddField(
            model_name='cluster',
            name='organization',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='clusters', to='migrations_app.awsorganization'),
        ),
    ]
