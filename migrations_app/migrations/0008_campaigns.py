"""Campaigns: new tables alone, so the previous release runs beside. States follow their table in the database too (A08)."""

import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models

PAIRS = (
    ("draft", "previewed"),
    ("draft", "expired"),
    ("previewed", "awaiting_approval"),
    ("previewed", "expired"),
    ("awaiting_approval", "approved"),
    ("awaiting_approval", "rejected"),
    ("awaiting_approval", "expired"),
    ("approved", "awaiting_approval"),
    ("approved", "running"),
    ("approved", "rejected"),
    ("approved", "expired"),
    ("running", "paused"),
    ("running", "succeeded"),
    ("running", "aborted"),
    ("paused", "running"),
    ("paused", "aborted"),
)
"""The legal steps when this was written; a later change of the table brings a step of its own."""

LEGAL = ", ".join(f"'{now}>{then}'" for now, then in PAIRS)
SQLITE = (
    f"""CREATE TRIGGER campaign_states BEFORE UPDATE OF state ON migrations_app_campaign
       WHEN OLD.state <> NEW.state AND (OLD.state || '>' || NEW.state) NOT IN ({LEGAL})
       BEGIN SELECT RAISE(ABORT, 'this state does not follow that one'); END""",
    """CREATE TRIGGER campaign_plan_frozen BEFORE UPDATE OF plan, digest ON migrations_app_campaign
       WHEN OLD.state <> 'draft' AND (OLD.plan <> NEW.plan OR OLD.digest <> NEW.digest)
       BEGIN SELECT RAISE(ABORT, 'a campaign is never changed'); END""",
)
POSTGRES = (
    f"""CREATE FUNCTION karpdash_campaign_states() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       IF OLD.state <> NEW.state AND (OLD.state || '>' || NEW.state) NOT IN ({LEGAL}) THEN
         RAISE EXCEPTION 'this state does not follow that one';
       END IF;
       IF OLD.state <> 'draft' AND (OLD.plan <> NEW.plan OR OLD.digest <> NEW.digest) THEN
         RAISE EXCEPTION 'a campaign is never changed';
       END IF;
       RETURN NEW; END $$""",
    """CREATE TRIGGER campaign_states BEFORE UPDATE ON migrations_app_campaign
       FOR EACH ROW EXECUTE FUNCTION karpdash_campaign_states()""",
)
UNDO_SQLITE = ("DROP TRIGGER IF EXISTS campaign_states", "DROP TRIGGER IF EXISTS campaign_plan_frozen")
UNDO_POSTGRES = ("DROP FUNCTION IF EXISTS karpdash_campaign_states() CASCADE",)


def guard(apps, schema_editor):
    sqlite = schema_editor.connection.vendor == "sqlite"
    for statement in (*UNDO_SQLITE, *SQLITE) if sqlite else (*UNDO_POSTGRES, *POSTGRES):
        schema_editor.execute(statement)


guard.tables = frozenset({"campaign"})  # what it acts on: a table of this step


def _unguard(apps, schema_editor):
    for statement in UNDO_SQLITE if schema_editor.connection.vendor == "sqlite" else UNDO_POSTGRES:
        schema_editor.execute(statement)


class Migration(migrations.Migration):

    dependencies = [
        ('migrations_app', '0007_rehearsals'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Campaign',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=120)),
                ('recipe', models.JSONField(default=dict)),
                ('digest', models.CharField(blank=True, default='', max_length=64)),
                ('plan', models.BinaryField(default=bytes)),
                ('forecast', models.JSONField(default=dict)),
                ('risk', models.CharField(blank=True, default='', max_length=12)),
                ('state', models.CharField(choices=[('draft', 'draft'), ('previewed', 'previewed'), ('awaiting_approval', 'awaiting_approval'), ('approved', 'approved'), ('running', 'running'), ('paused', 'paused'), ('succeeded', 'succeeded'), ('aborted', 'aborted'), ('rejected', 'rejected'), ('expired', 'expired')], default='draft', max_length=20)),
                ('version', models.PositiveIntegerField(default=1)),
                ('cause_code', models.CharField(blank=True, default='', max_length=60)),
                ('cause', models.CharField(blank=True, default='', max_length=2000)),
                ('wait_code', models.CharField(blank=True, default='', max_length=60)),
                ('needs_person', models.BooleanField(default=False)),
                ('author_name', models.CharField(max_length=150)),
                ('started_by_name', models.CharField(blank=True, default='', max_length=150)),
                ('started_by_token', models.BooleanField(default=False)),
                ('nonce', models.CharField(blank=True, default='', max_length=64)),
                ('ticket', models.CharField(blank=True, default='', max_length=200)),
                ('note', models.CharField(blank=True, default='', max_length=2000)),
                ('made_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField()),
                ('changed_at', models.DateTimeField()),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('author', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('starter', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-made_at'],
            },
        ),
        migrations.CreateModel(
            name='CampaignApproval',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('approver_name', models.CharField(max_length=150)),
                ('digest', models.CharField(max_length=64)),
                ('nonce', models.CharField(max_length=64)),
                ('step_up', models.BooleanField(default=False)),
                ('reason', models.CharField(blank=True, default='', max_length=2000)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('taken_back_at', models.DateTimeField(null=True)),
                ('approver', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='approvals', to='migrations_app.campaign')),
            ],
            options={
                'ordering': ['at'],
            },
        ),
        migrations.CreateModel(
            name='CampaignMember',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('cluster_name', models.CharField(max_length=120)),
                ('environment', models.CharField(blank=True, default='', max_length=40)),
                ('region', models.CharField(blank=True, default='', max_length=120)),
                ('wave', models.PositiveIntegerField(default=0)),
                ('place', models.PositiveIntegerField(default=0)),
                ('shown', models.JSONField(null=True)),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('preparing', 'preparing'), ('asking', 'asking'), ('running', 'running'), ('stopped', 'stopped'), ('done', 'done'), ('out', 'out')], default='waiting', max_length=10)),
                ('version', models.PositiveIntegerField(default=1)),
                ('cause_code', models.CharField(blank=True, default='', max_length=60)),
                ('cause', models.CharField(blank=True, default='', max_length=2000)),
                ('hops_left', models.PositiveIntegerField(default=0)),
                ('lands', models.CharField(blank=True, default='', max_length=40)),
                ('claims', models.BooleanField(default=False)),
                ('covered', models.BooleanField(default=False)),
                ('paused_with', models.BooleanField(default=False)),
                ('changed_at', models.DateTimeField(auto_now=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='members', to='migrations_app.campaign')),
                ('cluster', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='campaign_parts', to='migrations_app.cluster')),
                ('journey', models.OneToOneField(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='campaign_part', to='migrations_app.journey')),
            ],
            options={
                'ordering': ['campaign', 'wave', 'place'],
            },
        ),
        migrations.CreateModel(
            name='CampaignWave',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('opened_at', models.DateTimeField(null=True)),
                ('agreed_by', models.CharField(blank=True, default='', max_length=150)),
                ('agreed_at', models.DateTimeField(null=True)),
                ('note', models.CharField(blank=True, default='', max_length=2000)),
                ('stops', models.PositiveIntegerField(default=0)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='waves', to='migrations_app.campaign')),
            ],
            options={
                'ordering': ['campaign', 'number'],
            },
        ),
        migrations.CreateModel(
            name='CampaignJourney',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('journey', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='made_for_campaign', to='migrations_app.journey')),
                ('member', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='journeys', to='migrations_app.campaignmember')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.AddIndex(
            model_name='campaign',
            index=models.Index(fields=['state', 'changed_at'], name='campaigns_by_state'),
        ),
        migrations.AddConstraint(
            model_name='campaignapproval',
            constraint=models.UniqueConstraint(condition=models.Q(('taken_back_at__isnull', True)), fields=('campaign', 'approver'), name='one_campaign_yes_a_person'),
        ),
        migrations.AddIndex(
            model_name='campaignmember',
            index=models.Index(fields=['campaign', 'state'], name='members_by_state'),
        ),
        migrations.AddConstraint(
            model_name='campaignmember',
            constraint=models.UniqueConstraint(fields=('campaign', 'cluster'), name='one_part_of_a_cluster'),
        ),
        migrations.AddConstraint(
            model_name='campaignmember',
            constraint=models.UniqueConstraint(condition=models.Q(('claims', True)), fields=('cluster',), name='one_campaign_has_a_cluster'),
        ),
        migrations.AddConstraint(
            model_name='campaignwave',
            constraint=models.UniqueConstraint(fields=('campaign', 'number'), name='one_wave_of_a_number'),
        ),
        migrations.RunPython(guard, _unguard, elidable=False),
    ]
