"""Audit events as sentences: what somebody did, by the code of the event."""

from typing import Any

from django import template

from migrations_app.templatetags import wording

register = template.Library()
DEEDS: dict[str, str] = {
    "scan.requested": "requested a scan",
    "scan.fleet_requested": "requested a scan of every cluster",
    "cluster.registered": "registered the cluster",
    "cluster.changed": "changed the cluster",
    "cluster.labelled": "changed labels of the cluster",
    "cluster.removed": "removed the cluster",
    "group.made": "created a group",
    "group.changed": "changed a group",
    "group.removed": "deleted a group",
    "view.kept": "saved a view",
    "view.removed": "deleted a view",
    "waiver.made": "waived a check",
    "waiver.revoked": "revoked a waiver",
    "waiver.ended": "ended a waiver",
    "access.given": "granted a role",
    "access.removed": "removed a role",
    "access.replaced": "replaced a role",
    "access.taken_back": "revoked a role",
    "account.made": "created an account",
    "account.opened": "enabled an account",
    "account.joined": "joined a team",
    "account.left": "left a team",
    "account.teams": "changed the teams of an account",
    "account.password_changed": "changed a password",
    "token.made": "created an API token",
    "token.revoked": "revoked an API token",
    "sign_in.done": "signed in",
    "sign_in.again": "confirmed the password",
    "sign_in.refused": "failed to sign in",
    "channel.made": "created a notification channel",
    "channel.changed": "changed a notification channel",
    "channel.removed": "deleted a notification channel",
    "channel.secret_turned": "rotated the secret of a channel",
    "channel.tested": "tested a notification channel",
    "delivery.resent": "resent a notification",
    "policy.changed": "changed a policy",
    "audit.sealed": "signed a checkpoint of the log",
    "rollout.draft": "prepared a rollout",
    "rollout.previewed": "finished the preview of a rollout",
    "rollout.awaiting_approval": "submitted a rollout for approval",
    "rollout.yes": "approved a rollout",
    "rollout.approved": "completed the approval of a rollout",
    "rollout.break_glass": "approved a rollout alone (break glass)",
    "rollout.running": "started or resumed a rollout",
    "rollout.pause_asked": "requested a pause of a rollout",
    "rollout.abort_asked": "requested the abort of a rollout",
    "rollout.paused": "paused a rollout",
    "rollout.succeeded": "completed a rollout",
    "rollout.failed": "ended a rollout that failed",
    "rollout.aborted": "aborted a rollout",
    "rollout.rejected": "rejected a rollout",
    "rollout.expired": "expired a rollout",
    "rollout.rolling_back": "began to roll back a rollout",
    "rollout.rolled_back": "rolled back a rollout",
    "rollout.needs_attention": "stopped a rollout that needs attention",
    "rehearsal.requested": "requested a rehearsal of a plan",
    "rehearsal.finished": "finished a rehearsal of a plan",
    "rehearsal.failed": "ended a rehearsal that failed",
    "journey.draft": "prepared an upgrade",
    "journey.composed": "listed the steps of an upgrade",
    "journey.previewed": "finished the preview of an upgrade",
    "journey.awaiting_approval": "submitted an upgrade for approval",
    "journey.yes": "approved an upgrade",
    "journey.approved": "completed the approval of an upgrade",
    "journey.rejected": "rejected an upgrade",
    "journey.expired": "expired an upgrade",
    "journey.running": "started or resumed an upgrade",
    "journey.paused": "paused an upgrade",
    "journey.aborted": "aborted an upgrade",
    "journey.succeeded": "completed an upgrade",
    "journey.waiting": "noted what an upgrade waits for",
    "journey.person_needed": "noted that an upgrade needs a person",
    "journey.step_begun": "began a step of an upgrade",
    "journey.step_planned": "planned a step of an upgrade",
    "journey.step_covered": "gave a step the approval of its upgrade",
    "journey.step_asked": "submitted a step of an upgrade for approval",
    "journey.step_started": "started a step of an upgrade",
    "journey.step_done": "saw a step of an upgrade done",
    "journey.step_failed": "stopped an upgrade at a step that failed",
    "journey.step_ticked": "confirmed a step of an upgrade",
    "journey.step_skipped": "skipped a step of an upgrade",
    "journey.step_retried": "retried a step of an upgrade",
    "journey.plan_accepted": "accepted the changed plan of a step",
    "step.intent": "recorded the intent of a step",
    "step.outcome": "recorded the outcome of a step",
    "step.passed": "verified a step",
}
"""What the actor did, by the verb of the event."""
OUTCOMES: dict[str, str] = {
    "noop": "no change needed",
    "yes": "approved",
    "bad_parameter": "invalid choice",
    "awaiting_approval": "waiting for approval",
    "changed_by_other": "changed externally",
}


@register.filter
def deed(line: Any) -> str:  # noqa: ANN401 - a line of the audit log
    """What the actor did; for an event without a sentence its code in words."""
    return DEEDS.get(line.verb, wording.spoken(line.verb.replace(".", ": ")))


@register.filter
def outcome_word(outcome: str) -> str:
    return OUTCOMES.get(outcome, wording.spoken(outcome))
