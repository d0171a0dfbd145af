"""Repositories and pull requests: two new tables, which the previous release does not know (R27)."""

import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('migrations_app', '0016_feed_links'),
    ]

    operations = [
        migrations.CreateModel(
            name='CodeRepository',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('github', 'Github'), ('gitlab', 'Gitlab')], max_length=10)),
                ('address', models.CharField(max_length=300, unique=True)),
                ('sealed', models.BinaryField()),
                ('app', models.CharField(blank=True, default='', max_length=40)),
                ('installation', models.CharField(blank=True, default='', max_length=40)),
                ('made_by_name', models.CharField(max_length=150)),
                ('made_at', models.DateTimeField()),
            ],
            options={
                'ordering': ('address',),
            },
        ),
        migrations.CreateModel(
            name='PullRequest',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('github', 'Github'), ('gitlab', 'Gitlab')], max_length=10)),
                ('address', models.CharField(max_length=300)),
                ('check_id', models.CharField(max_length=80)),
                ('hop', models.CharField(blank=True, default='', max_length=20)),
                ('state', models.CharField(choices=[('previewed', 'Previewed'), ('opening', 'Opening'), ('open', 'Open'), ('merged', 'Merged'), ('closed', 'Closed'), ('failed', 'Failed')], default='previewed', max_length=10)),
                ('base', models.CharField(max_length=255)),
                ('commit', models.CharField(max_length=64)),
                ('branch', models.CharField(max_length=255)),
                ('digest', models.CharField(max_length=64)),
                ('sealed', models.BinaryField()),
                ('number', models.PositiveBigIntegerField(null=True)),
                ('error_code', models.CharField(blank=True, default='', max_length=60)),
                ('error', models.CharField(blank=True, default='', max_length=2000)),
                ('branch_left', models.BooleanField(default=False)),
                ('made_by_name', models.CharField(max_length=150)),
                ('made_at', models.DateTimeField()),
                ('approved_by_name', models.CharField(blank=True, default='', max_length=150)),
                ('approved_at', models.DateTimeField(null=True)),
                ('looked_at', models.DateTimeField(null=True)),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='pull_requests', to='migrations_app.cluster')),
                ('repository', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='requests', to='migrations_app.coderepository')),
            ],
            options={
                'ordering': ('-made_at', '-pk'),
                'indexes': [models.Index(fields=['cluster', 'check_id', '-made_at'], name='requests_of_a_check')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ('opening', 'open'))), fields=('cluster', 'check_id', 'hop'), name='one_open_request_of_a_change')],
            },
        ),
    ]
