"""Journeys: new tables alone, so the previous release runs beside. States follow their table in the database too (A08)."""

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
    f"""CREATE TRIGGER journey_states BEFORE UPDATE OF state ON migrations_app_journey
       WHEN OLD.state <> NEW.state AND (OLD.state || '>' || NEW.state) NOT IN ({LEGAL})
       BEGIN SELECT RAISE(ABORT, 'this state does not follow that one'); END""",
    """CREATE TRIGGER journey_plan_frozen BEFORE UPDATE OF plan, digest ON migrations_app_journey
       WHEN OLD.state <> 'draft' AND (OLD.plan <> NEW.plan OR OLD.digest <> NEW.digest)
       BEGIN SELECT RAISE(ABORT, 'a journey is never changed'); END""",
)
POSTGRES = (
    f"""CREATE FUNCTION karpdash_journey_states() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       IF OLD.state <> NEW.state AND (OLD.state || '>' || NEW.state) NOT IN ({LEGAL}) THEN
         RAISE EXCEPTION 'this state does not follow that one';
       END IF;
       IF OLD.state <> 'draft' AND (OLD.plan <> NEW.plan OR OLD.digest <> NEW.digest) THEN
         RAISE EXCEPTION 'a journey is never changed';
       END IF;
       RETURN NEW; END $$""",
    """CREATE TRIGGER journey_states BEFORE UPDATE ON migrations_app_journey
       FOR EACH ROW EXECUTE FUNCTION karpdash_journey_states()""",
)
UNDO_SQLITE = ("DROP TRIGGER IF EXISTS journey_states", "DROP TRIGGER IF EXISTS journey_plan_frozen")
UNDO_POSTGRES = ("DROP FUNCTION IF EXISTS karpdash_journey_states() CASCADE",)


def guard(apps, schema_editor):
    sqlite = schema_editor.connection.vendor == "sqlite"
    for statement in (*UNDO_SQLITE, *SQLITE) if sqlite else (*UNDO_POSTGRES, *POSTGRES):
        schema_editor.execute(statement)


guard.tables = frozenset({"journey"})  # what it acts on: a table of this step


def _unguard(apps, schema_editor):
    for statement in UNDO_SQLITE if schema_editor.connection.vendor == "sqlite" else UNDO_POSTGRES:
        schema_editor.execute(statement)


class Migration(migrations.Migration):

    dependencies = [
        ('migrations_app', '0005_rollout_samples'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Journey',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('cluster_name', models.CharField(max_length=120)),
                ('hop', models.CharField(blank=True, default='', max_length=10)),
                ('starts', models.CharField(blank=True, default='', max_length=40)),
                ('lands', models.CharField(blank=True, default='', max_length=40)),
                ('covers', models.CharField(max_length=12)),
                ('choices', models.JSONField(default=dict)),
                ('digest', models.CharField(blank=True, default='', max_length=64)),
                ('plan', models.BinaryField(default=bytes)),
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
                ('asked_at', models.DateTimeField(null=True)),
                ('made_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField()),
                ('changed_at', models.DateTimeField()),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('worker_attempts', models.PositiveIntegerField(default=0)),
                ('author', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='journeys', to='migrations_app.cluster')),
                ('snapshot', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='migrations_app.snapshot')),
                ('starter', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-made_at'],
            },
        ),
        migrations.CreateModel(
            name='JourneyApproval',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('approver_name', models.CharField(max_length=150)),
                ('digest', models.CharField(max_length=64)),
                ('nonce', models.CharField(max_length=64)),
                ('step_up', models.BooleanField(default=False)),
                ('reason', models.CharField(blank=True, default='', max_length=2000)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('approver', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('journey', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='approvals', to='migrations_app.journey')),
            ],
            options={
                'ordering': ['at'],
            },
        ),
        migrations.CreateModel(
            name='JourneyStepRow',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('place', models.PositiveIntegerField()),
                ('step', models.CharField(max_length=8)),
                ('kind', models.CharField(choices=[('rollout', 'rollout'), ('outside', 'outside'), ('person', 'person'), ('wait', 'wait')], max_length=10)),
                ('definition', models.JSONField(default=dict)),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('ready', 'ready'), ('running', 'running'), ('done', 'done'), ('failed', 'failed'), ('skipped', 'skipped')], default='waiting', max_length=10)),
                ('cause_code', models.CharField(blank=True, default='', max_length=60)),
                ('cause', models.CharField(blank=True, default='', max_length=2000)),
                ('since', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('by_name', models.CharField(blank=True, default='', max_length=150)),
                ('note', models.CharField(blank=True, default='', max_length=2000)),
                ('evidence', models.JSONField(default=dict)),
                ('differences', models.JSONField(default=list)),
                ('accepted', models.BooleanField(default=False)),
                ('journey', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='steps', to='migrations_app.journey')),
            ],
            options={
                'ordering': ['journey', 'place'],
            },
        ),
        migrations.CreateModel(
            name='JourneyRollout',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('purpose', models.CharField(choices=[('preview', 'Preview'), ('work', 'Work')], max_length=10)),
                ('made_at', models.DateTimeField(auto_now_add=True)),
                ('rollout', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='journey_part', to='migrations_app.rollout')),
                ('step', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='made', to='migrations_app.journeysteprow')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.AddIndex(
            model_name='journey',
            index=models.Index(fields=['state', 'changed_at'], name='migrations__state_fa9e35_idx'),
        ),
        migrations.AddConstraint(
            model_name='journey',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ['paused', 'running'])), fields=('cluster',), name='one_journey_holds_a_cluster'),
        ),
        migrations.AddConstraint(
            model_name='journeyapproval',
            constraint=models.UniqueConstraint(fields=('journey', 'approver'), name='one_journey_yes_a_person'),
        ),
        migrations.AddConstraint(
            model_name='journeysteprow',
            constraint=models.UniqueConstraint(fields=('journey', 'place'), name='one_step_a_place'),
        ),
        migrations.RunPython(guard, _unguard, elidable=False),
    ]
