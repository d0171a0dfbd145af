"""Words and badges of campaigns, their waves and their clusters."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from migrations_app.readiness.look import Look
from migrations_app.templatetags import wording
from migrations_app.templatetags.journey_tags import CAUSES as JOURNEY_CAUSES
from migrations_app.templatetags.readiness_tags import NONE, icon

register = template.Library()
MEMBER_LOOKS: dict[str, Look] = {
    "waiting": Look("Waiting", "muted", "na"),
    "preparing": Look("Preparing", "accent", "going"),
    "asking": Look("Needs approval", "warning", "person"),
    "running": Look("In progress", "accent", "going"),
    "stopped": Look("Stopped", "blocker", "blocker"),
    "done": Look("Done", "pass", "pass"),
    "out": Look("Left out", "waived", "waived"),
}
MEMBER_CAUSES: dict[str, str] = {
    "read_only": "it is only read: nothing of it can be changed from here",
    "never_scanned": "it was never scanned",
    "scan_old": "its newest scan is older than a day",
    "scan_unreadable": "its stored scan cannot be read",
    "unreachable": "it does not answer",
    "other_cluster": "another cluster answers in its place",
    "registered_twice": "it is registered twice, and the other registration joins",
    "in_campaign": "another campaign has it",
    "journey_open": "it has an upgrade of its own that did not end",
    "release_unknown": "the release that runs is not known",
    "reached": "it runs the target already",
    "target_not_on_path": "the target is not on its upgrade path",
    "kubernetes_outside": "its Kubernetes version does not fit the target",
    "cluster_gone": "its registration was removed",
    "left_out": "a person left it out",
    "reverted": "a later scan does not show the release any more",
    "other_release": "its plan leads to another release than shown",
    "action_added": "its plan has an action that was not shown",
    "more_nodes": "its plan is about more nodes than shown",
    "nodes_unknown": "its nodes were not all counted when it was shown",
    "approval_old": "the campaign was started more than 30 days ago",
    "approval_missing": "approvals are missing, by the policy of now",
    "member_stopped": "a cluster is stopped",
    "nothing_done": "every cluster was left out: nothing was done",
    "nothing_joins": "no cluster can join",
    "right_missing": "an account lacks a permission over it",
    "author_gone": "the account that made the campaign is closed",
    "journey_paused": "its upgrade stopped",
    "journey_aborted": "its upgrade was ended by a person",
    "journey_rejected": "its upgrade was rejected",
    "journey_expired": "its upgrade was not started in time",
    "rollout_paused": "its rollout paused",
    "rollout_needs_attention": "its rollout needs attention",
    "withdrawn": "it was withdrawn",
    "rejected": "it was rejected",
    "expired": "nobody started it in time",
}
GATE_WORDS: dict[str, str] = {
    "verified": "every cluster of the waves before to be done",
    "soak": "the time to soak",
    "person": "a person who opens the next wave",
    "stops": "a person who opens the next wave: clusters stopped in the one before",
    "window": "the change window of the campaign",
}
PERSON_WORDS: dict[str, str] = {
    "never": "no wave needs a person",
    "first": "a person opens the second wave",
    "every": "a person opens every wave after the first",
}


@register.simple_tag
def member_badge(state: str) -> SafeString:
    """The state of a cluster of a campaign: icon and word."""
    look = MEMBER_LOOKS.get(state, NONE)
    return format_html('<span class="badge is-{}">{}{}</span>', look.tone, icon(look.icon), look.word)


@register.filter
def member_cause(code: str) -> str:
    """Why a cluster stopped or does not join, or a campaign ended; the code in words if it has no sentence."""
    found = MEMBER_CAUSES.get(code) or JOURNEY_CAUSES.get(code) or wording.CAUSES.get(code) or wording.spoken(code)
    return found[:1].lower() + found[1:]


@register.filter
def gate_word(code: str) -> str:
    """What the next wave waits for."""
    return GATE_WORDS.get(code, wording.spoken(code))


@register.filter
def person_gate_word(code: str) -> str:
    """Which waves a person opens."""
    return PERSON_WORDS.get(code, wording.spoken(code))


@register.filter
def hours_word(minutes: int) -> str:
    """Minutes as hours and minutes."""
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if hours else f"{rest} min"


@register.filter
def member_count(counts: dict[str, int], state: str) -> int:
    """How many clusters of a wave are in that state."""
    return counts.get(state, 0)
