"""What a directory tells over SCIM: three new tables; kinds of channels, which the database does not know."""

import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        ('migrations_app', '0020_campaigns_destroy'),
    ]

    operations = [
        migrations.CreateModel(
            name='ProvisionedAccount',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='provisioned', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('user_name', models.CharField(max_length=150, unique=True)),
                ('external_id', models.CharField(blank=True, db_index=True, default='', max_length=255)),
                ('display_name', models.CharField(blank=True, default='', max_length=200)),
                ('made_by_directory', models.BooleanField(default=False)),
                ('closed_by_directory', models.BooleanField(default=False)),
                ('removed_at', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('changed_at', models.DateTimeField(auto_now=True)),
            ],
        ),
        migrations.CreateModel(
            name='ProvisionedTeam',
            fields=[
                ('team', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='provisioned', serialize=False, to='auth.group')),
                ('external_id', models.CharField(blank=True, db_index=True, default='', max_length=255)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('changed_at', models.DateTimeField(auto_now=True)),
            ],
        ),
        migrations.CreateModel(
            name='ProvisioningToken',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=60)),
                ('prefix', models.CharField(max_length=12)),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.CharField(blank=True, default='', max_length=150)),
                ('expires_at', models.DateTimeField()),
                ('last_used_at', models.DateTimeField(null=True)),
                ('revoked_at', models.DateTimeField(null=True)),
            ],
            options={
                'ordering': ['-created_at'],
            },
        ),
        # The kinds of channels: choices are not kept in the database.
        migrations.SeparateDatabaseAndState(state_operations=[
            migrations.AlterField(
                model_name='channel',
                name='kind',
                field=models.CharField(choices=[('webhook', 'Webhook'), ('slack', 'Slack'), ('teams', 'Teams'), ('pagerduty', 'Pagerduty'), ('opsgenie', 'Opsgenie'), ('jira', 'Jira'), ('email', 'Email'), ('people', 'People')], max_length=10),
            ),
        ]),
    ]
