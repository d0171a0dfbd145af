"""Packed contents of history: a new table, and columns that may be empty, so that the release before runs beside (R27)."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('migrations_app', '0024_tool_choice'),
    ]

    operations = [
        migrations.CreateModel(
            name='ContentPart',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('body', models.BinaryField()),
                ('unused_since', models.DateTimeField(null=True)),
            ],
        ),
        migrations.AddField(
            model_name='content',
            name='history_since',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='content',
            name='sheet',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='migrations_app.contentpart'),
        ),
        migrations.AddField(
            model_name='content',
            name='statuses',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='migrations_app.contentpart'),
        ),
        migrations.AddField(
            model_name='content',
            name='texts',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='migrations_app.contentpart'),
        ),
        migrations.AddIndex(
            model_name='content',
            index=models.Index(condition=models.Q(('texts', None)), fields=['history_since'], name='content_not_packed'),
        ),
    ]
