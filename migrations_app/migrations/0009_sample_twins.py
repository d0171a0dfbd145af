"""The state of sample clusters: a new table alone, so the previous release runs beside. Choices are no column."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('migrations_app', '0008_campaigns'),
    ]

    operations = [
        migrations.CreateModel(
            name='SampleTwin',
            fields=[
                ('cluster', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='sample_twin', serialize=False, to='migrations_app.cluster')),
                ('sample', models.CharField(max_length=60)),
                ('revision', models.PositiveBigIntegerField(default=1)),
                ('body', models.BinaryField()),
                ('begun_at', models.DateTimeField()),
                ('changed_at', models.DateTimeField()),
            ],
            options={
                'verbose_name': "sample cluster's state",
            },
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name='cluster',
                    name='source',
                    field=models.CharField(choices=[('kubeconfig', 'Kubeconfig'), ('bundle', 'Bundle'), ('sample', 'Sample'), ('twin', 'Twin'), ('in_cluster', 'In Cluster'), ('eks', 'Eks')], max_length=20),
                ),
            ],
        ),
    ]
