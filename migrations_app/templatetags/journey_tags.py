"""Texts and badges of journeys and their steps."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from migrations_app.checks.registry import all_checks
from migrations_app.readiness.outputs.badge_style import BadgeStyle
from migrations_app.templatetags import wording
from migrations_app.templatetags.readiness_tags import NONE, icon
from migrations_app.texts import text as _

register = template.Library()
STEP_STYLES: dict[str, BadgeStyle] = {
    "waiting": BadgeStyle(_("Waiting"), "muted", "na"),
    "ready": BadgeStyle(_("Next"), "accent", "going"),
    "running": BadgeStyle(_("In progress"), "accent", "going"),
    "done": BadgeStyle(_("Done"), "pass", "pass"),
    "failed": BadgeStyle(_("Failed"), "blocker", "blocker"),
    "skipped": BadgeStyle(_("Skipped"), "waived", "waived"),
    "undoing": BadgeStyle(_("Being rolled back"), "accent", "going"),
}
WAYS: dict[str, str] = {
    "rollback": _("a rollback rollout with its own preview and approval"),
    "person": _("a person undoes it, and confirms that"),
    "outside": _("undo it with your own tool; a scan has to show the release before"),
    "nothing": _("nothing has to be undone"),
    "no_return": _("it cannot be undone: the rollback ends before it"),
}
KINDS: dict[str, str] = {
    "rollout": _("by karpdash"),
    "outside": _("with your own tool; a scan sees it"),
    "person": _("by a person"),
    "wait": "time",
}
WAITS: dict[str, str] = {
    "planning": _("the plan of this step, which is being prepared"),
    "rollout": _("its rollout, which is in progress"),
    "scan": _("a scan that shows it"),
    "time": _("the time to pass"),
    "closed": _("the policy to allow changes: a freeze or a change window"),
    "busy": _("another rollout of this cluster to end"),
    "rehearsal_missing": _("a rehearsal of its plan, which the policy requires"),
    "tick_needed": _("a person who confirms this step"),
    "confirmation_needed": _("a person who confirms this step: no scan can tell"),
    "approval_needed": _("the approval of this step itself"),
    "rollout_paused": _("its rollout, which is paused: open it"),
    "rollout_needs_attention": _("its rollout, which needs attention: open it"),
    "back_needed": _("a person who undoes this step manually and confirms it"),
    "back_outside": _("the release before the upgrade: bring it back with your own tool; a scan has to show it"),
    "work_outside": _("the work to be done with your own tool, and a scan that shows it"),
}
CAUSES: dict[str, str] = {
    "asked": _("Requested by a person"),
    "plan_differs": _("The plan of the step is not the one that was approved"),
    "plan_not_shown": _("The plan of the step was not part of the preview"),
    "taken_back": _("Rolled back; resume repeats the next step"),
    "no_return": _("This step cannot be undone; resume continues from here"),
    "no_way_back": _("The rollout of this step cannot be rolled back; resume continues from here"),
    "nodes_skipped": _("Nodes were skipped, and scans still show the step open"),
    "not_seen": _("The rollout ended, and scans still show the step open"),
    "other_release": _("Another release runs than planned"),
    "approval_missing": _("Earlier approvals no longer count"),
    "right_missing": _("The person who started it lacks a permission"),
    "starter_gone": _("The account that started it is closed"),
    "worker_lost": _("Several workers died at it in a row"),
    "kill_switch": _("The kill switch is on"),
    "audit": _("The audit log cannot be delivered"),
    "audit_blocked": _("The audit log cannot be delivered"),
    "cluster_changed": _("The access to the cluster was changed"),
    "helm_missing": _("The worker has no helm: set KARPDASH_HELM, then retry the step"),
    "helm_version": _("The worker's helm is of a version that is not known to work: replace it, then retry the step"),
    "chart_not_pulled": _("The chart cannot be pulled: check the registry and its credentials, then retry the step"),
    "no_chart": _("The chart is not there: put it into the folder of charts, then retry the step"),
    "release_pending": _("Helm's release is in the middle of a run: see who runs helm, or roll the controller back"),
    "release_failed": _("Helm's last run failed: roll the controller back, then retry the step"),
    "rollout_failed": _("Its rollout failed"),
    "rollout_aborted": _("Its rollout was aborted"),
    "rollout_rejected": _("Its rollout was rejected"),
    "rollout_rolled_back": _("Its rollout was rolled back"),
    "nothing_to_do": _("There is nothing to do"),
    "no_hop": _("There is no next upgrade"),
    "seen": _("A scan shows it"),
    "time_passed": _("The time has passed"),
}
HOLDS: dict[str, str] = {
    "": _("it is begun next"),
    "planning": _("its plan is being worked out"),
    "approval_needed": _("its plan waits for approval"),
    "rollout": _("its rollout is in progress"),
    "busy": _("it begins once the request under way has ended"),
    "held": _("every NodePool of its plan has a budget of no nodes"),
    "rollout_paused": _("its rollout is paused: open it"),
    "rollout_needs_attention": _("its rollout needs attention: open it"),
    "rollout_failed": _("its rollout failed, and some NodePools may be held"),
    "rollout_aborted": _("its rollout was aborted, and some NodePools may be held"),
    "right_missing": _("the account that asked for it lacks a permission"),
}
"""The states of a hold of Karpenter's own disruption."""
DIFFERENCES: dict[str, str] = {
    "action": _("another action"),
    "parameters": _("other choices"),
    "cluster": _("another cluster"),
    "limits": _("other limits of the policy"),
    "risk": _("a higher risk"),
    "request_added": _("not shown before"),
    "request_missing": _("shown, and missing now"),
    "order": _("another order of the same requests"),
    "nodes": _("more nodes than shown"),
    "doubts": _("not proven by a dry run"),
}
TITLES = {check.id: check.title for check in all_checks()}


@register.simple_tag
def step_badge(state: str) -> SafeString:
    """Returns the state of a step: icon and word."""
    look = STEP_STYLES.get(state, NONE)
    return format_html('<span class="badge is-{}">{}{}</span>', look.tone, icon(look.icon), look.word)


@register.filter
def step_tone(state: str) -> str:
    """Returns the CSS class of a step's number: the current step is emphasized."""
    return "is-accent" if state in ("ready", "running", "undoing") else "is-muted"


@register.filter
def kind_word(kind: str) -> str:
    """Returns who does a step of that kind."""
    return KINDS.get(kind, kind)


@register.filter
def undo_word(how: str) -> str:
    """Returns how a step is undone."""
    return WAYS.get(how, how)


@register.filter
def wait_word(code: str) -> str:
    """Returns what a journey waits for; the code in words if it has no sentence."""
    return WAITS.get(code, wording.code_text(code))


@register.filter
def hold_word(code: str) -> str:
    """Returns the progress of a hold, or of restoring its budgets."""
    return HOLDS.get(code) or journey_cause(code)


@register.filter
def journey_cause(code: str) -> str:
    """Returns why a journey stopped or a step ended, without a full stop; the code in words if it has no sentence."""
    return (CAUSES.get(code) or wording.CAUSES.get(code) or wording.code_text(code)).rstrip(".")


@register.filter
def difference_word(code: str) -> str:
    """Returns how a plan differs."""
    return DIFFERENCES.get(code, wording.code_text(code))


@register.filter
def check_title(check_id: str) -> str:
    """Returns the title of a check; its id if this release does not know it."""
    return TITLES.get(check_id, check_id)
