"""Parts of long lists kept for the next scan: one new table and one column, which the previous release does not know
(R27)."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('migrations_app', '0021_scim_and_services'),
    ]

    operations = [
        migrations.CreateModel(
            name='KeptList',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('part', models.CharField(max_length=40)),
                ('sealed', models.BinaryField()),
                ('changed_at', models.DateTimeField()),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='kept_lists', to='migrations_app.cluster')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('cluster', 'part'), name='one_kept_list_a_part')],
            },
        ),
        migrations.AddField(
            model_name='snapshot',
            name='unchanged',
            field=models.JSONField(null=True),
        ),
    ]
