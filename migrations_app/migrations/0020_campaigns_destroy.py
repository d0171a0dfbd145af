"""What the approval of a campaign may cover: a column with a default in the database, so the previous release runs beside."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('migrations_app', '0019_agents'),
    ]

    operations = [
        migrations.AddField(
            model_name='policy',
            name='campaigns_destroy',
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
