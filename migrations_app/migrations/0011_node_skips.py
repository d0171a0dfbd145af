"""Nodes that people leave out of a rollout: a new table alone, so the previous release runs beside."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('migrations_app', '0010_aws_organizations'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='NodeSkip',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('step', models.CharField(max_length=8)),
                ('node', models.CharField(max_length=253)),
                ('by_name', models.CharField(max_length=150)),
                ('reason', models.CharField(max_length=2000)),
                ('at', models.DateTimeField()),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('rollout', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='skips', to='migrations_app.rollout')),
            ],
            options={
                'ordering': ['step'],
                'constraints': [models.UniqueConstraint(fields=('rollout', 'step'), name='one_skip_a_step')],
            },
        ),
    ]
