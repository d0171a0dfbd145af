"""The check that a scan asks alone, and what it said: two columns, which the previous release does not know (R27)."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('migrations_app', '0025_packed_contents'),
    ]

    operations = [
        migrations.AddField(
            model_name='scan',
            name='check_answer',
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name='scan',
            name='only_check',
            field=models.CharField(blank=True, db_default='', default='', max_length=80),
        ),
    ]
