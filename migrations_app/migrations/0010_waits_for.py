
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('migrations_app', '0009_rollout_pages'),
    ]

    operations = [
        migrations.AddField(
            model_name='rollout',
            name='waits_for',
            field=models.CharField(blank=True, default='', max_length=1000),
        ),
    ]
