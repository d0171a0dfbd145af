"""The namespace in which an agent runs helm: one new column, which the previous release does not know (R27)."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('migrations_app', '0022_kept_lists'),
    ]

    operations = [
        migrations.AddField(
            model_name='clusteragent',
            name='helm_in',
            field=models.CharField(blank=True, db_default='', default='', max_length=63),
        ),
    ]
