"""Guards that hold even where our code does not: the audit log only grows, and states follow the table (A08, A52, A53).

Dropped before they are created, so that a database which has them already is left with the same ones. SQLite makes a
table anew to add a column with a default and loses its triggers: a later step that does so to a guarded table calls
`guard` at its end; a test looks for them.
"""

from django.db import migrations

ROLLOUT_PAIRS = (
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
    ("approved", "needs_attention"),
    ("running", "paused"),
    ("running", "succeeded"),
    ("running", "failed"),
    ("running", "aborted"),
    ("running", "needs_attention"),
    ("paused", "running"),
    ("paused", "failed"),
    ("paused", "aborted"),
    ("paused", "rolling_back"),
    ("paused", "needs_attention"),
    ("failed", "rolling_back"),
    ("aborted", "rolling_back"),
    ("rolling_back", "rolled_back"),
    ("rolling_back", "needs_attention"),
    ("needs_attention", "paused"),
    ("needs_attention", "failed"),
    ("needs_attention", "aborted"),
)
JOURNEY_PAIRS = (
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
CAMPAIGN_PAIRS = (
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
"""The legal steps when this was written; a later change of a table brings a step of its own."""


def _legal(pairs):
    return ", ".join(f"'{now}>{then}'" for now, then in pairs)


ROLLOUT_LEGAL, JOURNEY_LEGAL, CAMPAIGN_LEGAL = map(_legal, (ROLLOUT_PAIRS, JOURNEY_PAIRS, CAMPAIGN_PAIRS))
SQLITE = (
    """CREATE TRIGGER audit_never_changes BEFORE UPDATE ON migrations_app_auditevent
       BEGIN SELECT RAISE(ABORT, 'the audit log only grows'); END""",
    """CREATE TRIGGER audit_never_shrinks BEFORE DELETE ON migrations_app_auditevent
       BEGIN SELECT RAISE(ABORT, 'the audit log only grows'); END""",
    """CREATE TRIGGER audit_head_stays BEFORE DELETE ON migrations_app_audithead
       BEGIN SELECT RAISE(ABORT, 'the audit log only grows'); END""",
    f"""CREATE TRIGGER rollout_states BEFORE UPDATE OF state ON migrations_app_rollout
       WHEN OLD.state <> NEW.state AND (OLD.state || '>' || NEW.state) NOT IN ({ROLLOUT_LEGAL})
       BEGIN SELECT RAISE(ABORT, 'this state does not follow that one'); END""",
    """CREATE TRIGGER rollout_plan_frozen BEFORE UPDATE OF plan, digest ON migrations_app_rollout
       WHEN OLD.state <> 'draft' AND (OLD.plan <> NEW.plan OR OLD.digest <> NEW.digest)
       BEGIN SELECT RAISE(ABORT, 'a plan is never changed'); END""",
    """CREATE TRIGGER checkpoint_never_changes BEFORE UPDATE ON migrations_app_checkpoint
       BEGIN SELECT RAISE(ABORT, 'the audit log only grows'); END""",
    """CREATE TRIGGER checkpoint_never_shrinks BEFORE DELETE ON migrations_app_checkpoint
       BEGIN SELECT RAISE(ABORT, 'the audit log only grows'); END""",
    """CREATE TRIGGER audit_head_steps BEFORE UPDATE ON migrations_app_audithead
       WHEN NEW.seq <> OLD.seq + 1
       BEGIN SELECT RAISE(ABORT, 'the audit log only grows'); END""",
    f"""CREATE TRIGGER journey_states BEFORE UPDATE OF state ON migrations_app_journey
       WHEN OLD.state <> NEW.state AND (OLD.state || '>' || NEW.state) NOT IN ({JOURNEY_LEGAL})
       BEGIN SELECT RAISE(ABORT, 'this state does not follow that one'); END""",
    """CREATE TRIGGER journey_plan_frozen BEFORE UPDATE OF plan, digest ON migrations_app_journey
       WHEN OLD.state <> 'draft' AND (OLD.plan <> NEW.plan OR OLD.digest <> NEW.digest)
       BEGIN SELECT RAISE(ABORT, 'a journey is never changed'); END""",
    f"""CREATE TRIGGER campaign_states BEFORE UPDATE OF state ON migrations_app_campaign
       WHEN OLD.state <> NEW.state AND (OLD.state || '>' || NEW.state) NOT IN ({CAMPAIGN_LEGAL})
       BEGIN SELECT RAISE(ABORT, 'this state does not follow that one'); END""",
    """CREATE TRIGGER campaign_plan_frozen BEFORE UPDATE OF plan, digest ON migrations_app_campaign
       WHEN OLD.state <> 'draft' AND (OLD.plan <> NEW.plan OR OLD.digest <> NEW.digest)
       BEGIN SELECT RAISE(ABORT, 'a campaign is never changed'); END""",
)
POSTGRES = (
    """CREATE FUNCTION karpdash_audit_only_grows() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN RAISE EXCEPTION 'the audit log only grows'; END $$""",
    """CREATE TRIGGER audit_never_changes BEFORE UPDATE OR DELETE ON migrations_app_auditevent
       FOR EACH ROW EXECUTE FUNCTION karpdash_audit_only_grows()""",
    """CREATE TRIGGER audit_never_emptied BEFORE TRUNCATE ON migrations_app_auditevent
       FOR EACH STATEMENT EXECUTE FUNCTION karpdash_audit_only_grows()""",
    """CREATE TRIGGER audit_head_stays BEFORE DELETE ON migrations_app_audithead
       FOR EACH ROW EXECUTE FUNCTION karpdash_audit_only_grows()""",
    f"""CREATE FUNCTION karpdash_rollout_states() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       IF OLD.state <> NEW.state AND (OLD.state || '>' || NEW.state) NOT IN ({ROLLOUT_LEGAL}) THEN
         RAISE EXCEPTION 'this state does not follow that one';
       END IF;
       IF OLD.state <> 'draft' AND (OLD.plan <> NEW.plan OR OLD.digest <> NEW.digest) THEN
         RAISE EXCEPTION 'a plan is never changed';
       END IF;
       RETURN NEW; END $$""",
    """CREATE TRIGGER rollout_states BEFORE UPDATE ON migrations_app_rollout
       FOR EACH ROW EXECUTE FUNCTION karpdash_rollout_states()""",
    """CREATE TRIGGER checkpoint_never_changes BEFORE UPDATE OR DELETE ON migrations_app_checkpoint
       FOR EACH ROW EXECUTE FUNCTION karpdash_audit_only_grows()""",
    """CREATE TRIGGER checkpoint_never_emptied BEFORE TRUNCATE ON migrations_app_checkpoint
       FOR EACH STATEMENT EXECUTE FUNCTION karpdash_audit_only_grows()""",
    """CREATE TRIGGER audit_head_never_emptied BEFORE TRUNCATE ON migrations_app_audithead
       FOR EACH STATEMENT EXECUTE FUNCTION karpdash_audit_only_grows()""",
    """CREATE TRIGGER audit_head_steps BEFORE UPDATE ON migrations_app_audithead
       FOR EACH ROW WHEN (NEW.seq <> OLD.seq + 1) EXECUTE FUNCTION karpdash_audit_only_grows()""",
    f"""CREATE FUNCTION karpdash_journey_states() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       IF OLD.state <> NEW.state AND (OLD.state || '>' || NEW.state) NOT IN ({JOURNEY_LEGAL}) THEN
         RAISE EXCEPTION 'this state does not follow that one';
       END IF;
       IF OLD.state <> 'draft' AND (OLD.plan <> NEW.plan OR OLD.digest <> NEW.digest) THEN
         RAISE EXCEPTION 'a journey is never changed';
       END IF;
       RETURN NEW; END $$""",
    """CREATE TRIGGER journey_states BEFORE UPDATE ON migrations_app_journey
       FOR EACH ROW EXECUTE FUNCTION karpdash_journey_states()""",
    f"""CREATE FUNCTION karpdash_campaign_states() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       IF OLD.state <> NEW.state AND (OLD.state || '>' || NEW.state) NOT IN ({CAMPAIGN_LEGAL}) THEN
         RAISE EXCEPTION 'this state does not follow that one';
       END IF;
       IF OLD.state <> 'draft' AND (OLD.plan <> NEW.plan OR OLD.digest <> NEW.digest) THEN
         RAISE EXCEPTION 'a campaign is never changed';
       END IF;
       RETURN NEW; END $$""",
    """CREATE TRIGGER campaign_states BEFORE UPDATE ON migrations_app_campaign
       FOR EACH ROW EXECUTE FUNCTION karpdash_campaign_states()""",
)
UNDO_SQLITE = tuple(
    f"DROP TRIGGER IF EXISTS {name}"
    for name in (
        "audit_never_changes",
        "audit_never_shrinks",
        "audit_head_stays",
        "rollout_states",
        "rollout_plan_frozen",
        "checkpoint_never_changes",
        "checkpoint_never_shrinks",
        "audit_head_steps",
        "journey_states",
        "journey_plan_frozen",
        "campaign_states",
        "campaign_plan_frozen",
    )
)
UNDO_POSTGRES = (
    "DROP FUNCTION IF EXISTS karpdash_audit_only_grows() CASCADE",
    "DROP FUNCTION IF EXISTS karpdash_rollout_states() CASCADE",
    "DROP FUNCTION IF EXISTS karpdash_journey_states() CASCADE",
    "DROP FUNCTION IF EXISTS karpdash_campaign_states() CASCADE",
)


def guard(apps, schema_editor):
    sqlite = schema_editor.connection.vendor == "sqlite"
    for statement in (*UNDO_SQLITE, *SQLITE) if sqlite else (*UNDO_POSTGRES, *POSTGRES):
        schema_editor.execute(statement)


def _unguard(apps, schema_editor):
    for statement in UNDO_SQLITE if schema_editor.connection.vendor == "sqlite" else UNDO_POSTGRES:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    replaces = [("migrations_app", "0002_guards")]
    dependencies = [("migrations_app", "0001_squashed_0026_tables")]

    operations = [migrations.RunPython(guard, _unguard, elidable=False)]
