"""The hop that a waiver is about: a column with a default, so the previous release runs beside."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('migrations_app', '0013_services_and_feed'),
    ]

    operations = [
        migrations.AddField(
            model_name='waiver',
            name='hop',
            field=models.CharField(blank=True, db_default='', default='', max_length=20),
        ),
    ]
