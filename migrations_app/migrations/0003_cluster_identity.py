"""Which cluster a registration leads to. Every column has a default in the database: the previous release runs beside."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('migrations_app', '0002_guards'),
    ]

    operations = [
        migrations.AddField(
            model_name='cluster',
            name='ca_digest',
            field=models.CharField(blank=True, db_default='', default='', max_length=64),
        ),
        migrations.AddField(
            model_name='cluster',
            name='identity_error',
            field=models.CharField(blank=True, db_default='', default='', max_length=60),
        ),
        migrations.AddField(
            model_name='cluster',
            name='identity_since',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='cluster',
            name='kube_system_uid',
            field=models.CharField(blank=True, db_default='', db_index=True, default='', max_length=64),
        ),
        migrations.AddField(
            model_name='cluster',
            name='other_ca_digest',
            field=models.CharField(blank=True, db_default='', default='', max_length=64),
        ),
        migrations.AddField(
            model_name='cluster',
            name='other_uid',
            field=models.CharField(blank=True, db_default='', default='', max_length=64),
        ),
        migrations.AddField(
            model_name='snapshot',
            name='replaced',
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
