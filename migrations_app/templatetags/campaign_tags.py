"""Texts and badges of campaigns, their waves and their clusters."""

from datetime import timedelta

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from migrations_app.actions.durations import duration_text
from migrations_app.readiness.outputs.badge_style import BadgeStyle
from migrations_app.templatetags import wording
from migrations_app.templatetags.journey_tags import CAUSES as JOURNEY_CAUSES
from migrations_app.templatetags.readiness_tags import NONE, icon
from migrations_app.texts import text as _

register = template.Library()
MEMBER_STYLES: dict[str, BadgeStyle] = {
    "waiting": BadgeStyle(_("Waiting"), "muted", "na"),
    "preparing": BadgeStyle(_("Preparing"), "accent", "going"),
    "asking": BadgeStyle(_("Needs approval"), "warning", "person"),
    "running": BadgeStyle(_("In progress"), "accent", "going"),
    "stopped": BadgeStyle(_("Stopped"), "blocker", "blocker"),
    "done": BadgeStyle(_("Done"), "pass", "pass"),
    "out": BadgeStyle(_("Left out"), "waived", "waived"),
}
MEMBER_CAUSES: dict[str, str] = {
    "read_only": _("it is only read: nothing of it can be changed from here"),
    "never_scanned": _("it was never scanned"),
    "scan_old": _("its newest scan is older than a day"),
    "scan_unreadable": _("its stored scan cannot be read"),
    "unreachable": _("it does not answer"),
    "other_cluster": _("another cluster answers in its place"),
    "registered_twice": _("it is registered twice, and the other registration joins"),
    "in_campaign": _("another campaign has it"),
    "journey_open": _("it has another upgrade that has not ended"),
    "release_unknown": _("the release that runs is not known"),
    "reached": _("it runs the target already"),
    "target_not_on_path": _("the target is not on its upgrade path"),
    "kubernetes_outside": _("its Kubernetes version is incompatible with the target"),
    "cluster_gone": _("its registration was removed"),
    "left_out": _("a person left it out"),
    "reverted": _("a later scan does not show the release any more"),
    "other_release": _("another release runs there than planned"),
    "other_target": _("its plan leads to another release than shown"),
    "action_added": _("its plan has an action that was not shown"),
    "more_nodes": _("its plan is about more nodes than shown"),
    "nodes_unknown": _("its nodes were not all counted when it was shown"),
    "approval_old": _("the campaign was started more than 30 days ago"),
    "approval_missing": _("approvals are missing, by the policy of now"),
    "member_stopped": _("a cluster is stopped"),
    "nothing_done": _("every cluster was left out: nothing was done"),
    "nothing_joins": _("no cluster can join"),
    "right_missing": _("an account lacks a permission over it"),
    "author_gone": _("the account that made the campaign is closed"),
    "journey_paused": _("its upgrade stopped"),
    "journey_aborted": _("its upgrade was ended by a person"),
    "journey_rejected": _("its upgrade was rejected"),
    "journey_expired": _("its upgrade was not started in time"),
    "rollout_paused": _("its rollout paused"),
    "rollout_needs_attention": _("its rollout needs attention"),
    "withdrawn": _("it was withdrawn"),
    "rejected": _("it was rejected"),
    "expired": _("nobody started it in time"),
}
GATE_WORDS: dict[str, str] = {
    "verified": _("every cluster of the waves before to be done"),
    "soak": _("the time to soak"),
    "person": _("a person who opens the next wave"),
    "stops": _("a person who opens the next wave: clusters stopped in the one before"),
    "window": _("the change window of the campaign"),
}
PERSON_WORDS: dict[str, str] = {
    "never": _("no wave needs a person"),
    "first": _("a person opens the second wave"),
    "every": _("a person opens every wave after the first"),
}


@register.simple_tag
def member_badge(state: str) -> SafeString:
    """Returns the state of a cluster of a campaign: icon and word."""
    look = MEMBER_STYLES.get(state, NONE)
    return format_html('<span class="badge is-{}">{}{}</span>', look.tone, icon(look.icon), look.word)


@register.filter
def member_cause(code: str) -> str:
    """Returns why a cluster stopped or does not join, or a campaign ended; the code in words if it has no sentence."""
    sentence = (
        MEMBER_CAUSES.get(code) or JOURNEY_CAUSES.get(code) or wording.CAUSES.get(code) or wording.code_text(code)
    )
    return sentence[:1].lower() + sentence[1:]


@register.filter
def gate_word(code: str) -> str:
    """Returns what the next wave waits for."""
    return GATE_WORDS.get(code, wording.code_text(code))


@register.filter
def person_gate_word(code: str) -> str:
    """Returns which waves a person opens."""
    return PERSON_WORDS.get(code, wording.code_text(code))


@register.filter
def minutes_span(minutes: int) -> str:
    """Returns a number of minutes in its two largest units; an estimate of none is `0 min`."""
    return duration_text(timedelta(minutes=minutes)) if minutes else "0 min"


@register.filter
def member_count(counts: dict[str, int], state: str) -> int:
    """Returns how many clusters of a wave are in that state."""
    return counts.get(state, 0)
