"""Badges of rollouts, the kill switch banner, and lines of diffs."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata, version
from typing import Any

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from migrations_app.actions.durations import duration_text
from migrations_app.queries.rollouts.active import RolloutsNow, current_work
from migrations_app.queries.rollouts.policies import KillSwitchState, kill_switch_state
from migrations_app.queries.visibility import has_scope
from migrations_app.readiness.outputs.badge_style import BadgeStyle
from migrations_app.templatetags import wording as words
from migrations_app.templatetags.formatting import shown_block
from migrations_app.templatetags.readiness_tags import NONE, badge

register = template.Library()
HALTED = ("paused", "needs_attention")
CHANGING = ("operate_rollout", "approve_rollout", "administer_policy")
DIFF_CLASSES = {"+": " is-added", "-": " is-removed", "@": " is-gap"}


@register.filter
def state_style(state: str) -> BadgeStyle:
    return words.STATES.get(state, NONE)


@register.filter
def risk_style(risk: str) -> BadgeStyle:
    return words.RISKS.get(risk, NONE)


@register.filter
def standing_style(standing: str) -> BadgeStyle:
    return words.STANDINGS.get(standing, NONE)


@register.filter
def line_tone(line: Any) -> str:  # noqa: ANN401 - a line of the journal
    """Returns the tone of a journal line: a passed gate, or a request's outcome."""
    return "pass" if line.verb == "gate" else words.OUTCOME_TONES.get(line.outcome, "muted")


@register.filter
def line_word(line: Any) -> str:  # noqa: ANN401 - as above
    """Returns the text of a journal line: a passed gate, or the outcome of a request."""
    key = "gate" if line.verb == "gate" else line.outcome
    return words.LINE_WORDS.get(key) or key.capitalize()


@register.filter
def changes_clusters(perms: Any) -> bool:  # noqa: ANN401 - what Django's context processor puts into each page
    """Whether the user may plan, approve or stop changes to clusters."""
    return any(f"migrations_app.{right}" in perms for right in CHANGING)


@register.filter
def cause_word(code: str) -> str:
    """Returns the meaning of a cause's code; empty for an unknown code."""
    return words.CAUSES.get(code, "")


@register.filter
def after_halt(row: Any) -> str:  # noqa: ANN401 - the row of a rollout
    """Returns the one next thing to do with a rollout that stopped by itself or was paused; empty for others."""
    if row.state not in HALTED:
        return ""
    code = row.cause_code
    if row.state == "needs_attention" and code in words.AFTER_DOUBT:
        return words.AFTER_DOUBT[code]
    return words.AFTER_HALT.get(code) or (words.AFTER_HALT["refused"] if code.startswith("refused_") else "")


@register.filter
def seconds_span(seconds: int) -> str:
    """Returns a number of seconds in its two largest units."""
    return duration_text(timedelta(seconds=seconds))


@register.simple_tag
def state_badge(state: str) -> SafeString:
    """Returns the state of a rollout: icon and word."""
    return badge(words.STATES.get(state, NONE))


@register.simple_tag
def rollout_badge(row: Any) -> SafeString:  # noqa: ANN401 - a row of a list of rollouts
    """Returns the state of a rollout. One that could not be planned is shown as not possible, and one that showed the
    plan of a step of a journey as such: neither has expired for a person.
    """
    if row.impossible:
        return badge(words.IMPOSSIBLE)
    return badge(words.STEP_PREVIEW if row.step_preview else words.STATES.get(row.state, NONE))


@register.simple_tag
def step_preview_style() -> BadgeStyle:
    """Returns the state of a rollout that showed the plan of a step of a journey."""
    return words.STEP_PREVIEW


@register.simple_tag
def risk_badge(risk: str) -> SafeString | str:
    """Returns the risk of a plan; nothing for a draft without one."""
    return badge(words.RISKS[risk]) if risk in words.RISKS else ""


@register.simple_tag
def diff_lines(diff: Iterable[tuple[str, str]]) -> SafeString:
    """Returns the lines of the diff, each with its sign; `@` stands for omitted lines."""
    lines = ((DIFF_CLASSES.get(sign, ""), "…" if sign == "@" else f"{sign} {shown_block(text)}") for sign, text in diff)
    return format_html_join("", '<span class="diff-line{}">{}\n</span>', lines)


@dataclass(frozen=True, slots=True)
class FrameState:
    """Values for the frame of every page: the kill switch, and the rollouts and journeys in progress."""

    switch: KillSwitchState = field(default_factory=KillSwitchState)
    rollouts: RolloutsNow = field(default_factory=RolloutsNow)
    journeys: RolloutsNow = field(default_factory=RolloutsNow)


@register.simple_tag(takes_context=True)
def frame_state(context: dict[str, Any]) -> FrameState:
    """Returns the values for this user; empty without a sign-in and on error pages. The kill switch is shown to users
    who may change clusters.
    """
    user = getattr(context.get("request"), "user", None)
    if user is None or not user.is_authenticated or not has_scope():
        return FrameState()
    concerned = any(user.has_perm(f"migrations_app.{right}") for right in CHANGING)
    may_approve = user.has_perm("migrations_app.approve_rollout")
    now = current_work(int(user.pk or 0), may_approve=may_approve)
    return FrameState(kill_switch_state() if concerned else KillSwitchState(), now.rollouts, now.journeys)


@register.simple_tag
@cache
def product_version() -> str:
    """Returns the release of karpdash; empty if it is not installed as a package."""
    try:
        return version("karpdash")
    except PackageNotFoundError:
        return ""


@register.simple_tag
@cache
def documentation() -> str:
    """Returns the URL of the documentation; empty if karpdash is not installed as a package."""
    try:
        named = metadata("karpdash").get_all("Project-URL") or ()
    except PackageNotFoundError:
        return ""
    return next((url.partition(", ")[2] for url in named if url.startswith("Documentation, ")), "")
