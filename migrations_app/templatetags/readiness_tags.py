"""Badges and texts of verdicts, statuses, stages and owners."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import Any
from urllib.parse import urlencode

from django import template
from django.contrib.messages.storage.base import Message
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from migrations_app.checks.base import Evidence, Finding, Reason, Remedy
from migrations_app.conversion.chart_values.side_by_side import ValueRow
from migrations_app.conversion.chart_values.table import WORDS as VALUE_WORDS
from migrations_app.karpenter.coverage.entry import EXTENTS
from migrations_app.manifests.natural_order import natural
from migrations_app.readiness.next_step import FindingGroup, cause_of
from migrations_app.readiness.outputs.badge_style import BadgeStyle
from migrations_app.readiness.outputs.wording import kind_word
from migrations_app.readiness.progress.done_percent import DonePercent
from migrations_app.templatetags import wording
from migrations_app.templatetags.formatting import shown
from migrations_app.texts import text as _

register = template.Library()
GEOMETRY = tuple(6 + 10 * index for index in range(5))
TABS = 8
NONE = BadgeStyle("?", "muted", "na")


@register.simple_tag
@cache
def icon(name: str, size: str = "") -> SafeString:
    """Returns a symbol of icons.svg; decorative, always beside a word."""
    extra = f" icon-{size}" if size else ""
    return format_html(
        '<svg class="icon{}" aria-hidden="true" focusable="false"><use href="{}#{}"/></svg>', extra, _icons(), name
    )


def _icons() -> str:
    return static("img/icons.svg")


def badge(look: BadgeStyle) -> SafeString:
    """Returns the badge of that look: icon and word."""
    return format_html('<span class="badge is-{}">{}{}</span>', look.tone, icon(look.icon), look.word)


@register.simple_tag
@cache
def verdict_badge(verdict: str) -> SafeString:
    """Returns the verdict of a hop: icon and word."""
    return badge(wording.VERDICTS.get(verdict, NONE))


@register.simple_tag
@cache
def bucket_badge(bucket: str) -> SafeString:
    """Returns the status of a cluster: icon and word."""
    return badge(wording.BUCKETS.get(bucket, NONE))


@register.simple_tag
def severity_badge(severity: str) -> SafeString:
    return badge(wording.SEVERITIES.get(severity, NONE))


@register.filter
def message_tone(level: str) -> str:
    """Returns the tone of a message by Django's level."""
    return {"success": "pass", "error": "blocker", "warning": "warning"}.get(level, "accent")


@register.filter
def grouped_by_stay(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Returns the messages that stay until they are closed, and those that disappear by themselves."""
    parts: dict[bool, list[Message]] = {False: [], True: []}
    for message in messages:
        parts[message.level_tag not in ("error", "warning")].append(message)
    return [{"passing": passing, "messages": group} for passing, group in parts.items() if group]


@register.filter
def toast_icon(tone: str) -> str:
    """Returns the icon of a message, so that errors differ from successes by more than colour."""
    return tone if tone in ("pass", "blocker", "warning") else "info"


@register.filter
def verdict_style(verdict: str) -> BadgeStyle:
    return wording.VERDICTS.get(verdict, NONE)


@register.filter
def bucket_style(bucket: str) -> BadgeStyle:
    return wording.BUCKETS.get(bucket, NONE)


@register.filter
def stage_style(stage: str) -> BadgeStyle:
    return wording.STAGES.get(stage, wording.STAGES["unknown"])


@register.filter
def stage_word(stage: str) -> str:
    return stage_style(stage).word


@register.filter
def fact_word(value: str | None, name: str) -> str:
    """Returns one side of a fact that changed between two snapshots: a stage by its word, a missing value as
    `unknown`.
    """
    return stage_word(value or "") if name == "stage" else shown(value or "unknown")


@register.filter
def finding_style(finding: Any) -> BadgeStyle:  # noqa: ANN401 - a Finding, or None for a check that was not asked
    """Returns the look of one finding; `Not asked` for None."""
    return style_of(finding.status, finding.severity) if finding else BadgeStyle(_("Not asked"), "muted", "never")


def style_of(status: str, severity: str) -> BadgeStyle:
    """Returns the look of a status: a failed check looks like its severity, any other like its status."""
    if status == "fail" and severity != "blocker":
        return wording.SEVERITIES.get(severity, NONE)._replace(word=_("Fails"))
    return wording.STATUSES.get(status, NONE)


VALUE_TONES = {"lost": "warning", "renamed": "accent", "set": "accent", "default_changed": "warning"}
"""The tone by what becomes of a Helm value; any other tone is muted."""


@register.filter
def value_word(row: ValueRow) -> str:
    """Returns what becomes of a Helm value, in a word."""
    return VALUE_WORDS[row.kind]


@register.filter
def value_tone(row: ValueRow) -> str:
    return VALUE_TONES.get(row.kind, "muted")


@register.filter
def phase_word(phase: str) -> str:
    return wording.PHASES.get(phase, phase)


@register.filter
def owner_word(owner: str) -> str:
    return wording.OWNERS.get(owner, owner)


@register.filter
def owner_counts(segments: Sequence[Any]) -> str:
    """Returns each owner with its number of nodes in one line: `Karpenter 12, managed node group 3`."""
    return ", ".join(f"{owner_word(segment.owner)} {segment.count}" for segment in segments)


@register.filter
def cell_classes(cell: Any) -> str:  # noqa: ANN401 - a cell of the IAM matrix, made by the view
    """Returns the CSS classes of a cell: its tone, and whether it is faint, empty or unknown."""
    marks = (("faint", cell.faint), ("none", cell.look.id == "not_needed"), ("hatched", cell.look.id == "unknown"))
    return " ".join([f"is-{cell.look.tone}", *(name for name, holds in marks if holds)])


@register.filter
def extent_word(extent: str) -> str:
    """Returns how far a known change is covered, in words."""
    return next((word for name, word in EXTENTS.items() if name == extent), extent)


@register.filter
def part_word(part: str) -> str:
    return wording.PARTS.get(part, part)


@register.filter
def group_words(group: FindingGroup) -> str:
    """Returns the text for all findings of the group; for a data source that was not read, its name on pages."""
    return _unread_words(group.first) or group.summary or group.first.title


@register.filter
def finding_words(finding: Finding) -> str:
    """Returns what the finding says; for a data source that was not read, its name on pages."""
    return _unread_words(finding) or finding.summary or finding.title


def _unread_words(finding: Finding) -> str:
    """Returns which data source keeps the finding unknown, and why; empty for any other cause."""
    cause, reason = cause_of(finding), finding.reason
    if not isinstance(reason, Reason) or reason.code != "part_unread" or cause.part not in wording.PARTS:
        return ""
    return _("{part} could not be read: {why}").format(part=wording.PARTS[cause.part], why=wording.code_text(cause.why))


@register.filter
def remedy_word(how: str) -> str:
    """Returns the name of the tool that a remedy is for."""
    return wording.REMEDIES.get(how, how)


@register.filter
def source_word(source: str) -> str:
    return wording.SOURCES.get(source, source)


@register.filter
def remedy_tabs(remedies: Sequence[Remedy]) -> tuple[tuple[str, Remedy], ...]:
    """Returns the remedies for one row of tabs, each with its word; karpdash's own actions are buttons elsewhere."""
    commands = [remedy for remedy in remedies if remedy.how != "action"][:TABS]
    several = Counter(remedy.how for remedy in commands)
    seen: Counter[str] = Counter()
    labelled = []
    for remedy in commands:
        word = wording.REMEDIES.get(remedy.how, remedy.how)
        if several[remedy.how] > 1:
            forms = wording.IAM_FORMS if remedy.how == "iam" and several["iam"] == len(wording.IAM_FORMS) else ()
            word = forms[seen[remedy.how]] if forms else f"{word} {seen[remedy.how] + 1}"
        seen[remedy.how] += 1
        labelled.append((word, remedy))
    return tuple(labelled)


@register.filter
def evidence_kind(row: Evidence) -> str:
    """Returns the kind of the object of the evidence as texts call it."""
    return kind_word(row)


@register.filter
def reason_word(code: str) -> str:
    """Returns why something could not be read, as a sentence."""
    return wording.REASONS.get(code, wording.code_text(code).capitalize())


@register.filter
def code_text(code: str) -> str:
    return wording.ANOMALIES.get(code, wording.code_text(code))


@register.simple_tag
@lru_cache(maxsize=512)
def environment_badge(name: str) -> SafeString | str:
    """Returns the environment in its colour; nothing if it is empty."""
    if not name:
        return ""
    return format_html('<span class="env is-{}">{}</span>', wording.environment_tone(name), name)


@register.simple_tag
@cache
def done_percent(done: DonePercent) -> SafeString:
    """Returns the percent of the conversions that is done; `not read` if nothing is known."""
    if done.percent is None:
        return format_html('<span class="badge is-unknown">{}{}</span>', icon("unknown"), _("not read"))
    bound = format_html('<span class="muted">{}</span> ', _("at most")) if done.bound == "at_most" else ""
    return format_html('{}<b class="num">{} %</b>', bound, done.percent)


@register.simple_tag
@cache
def stage_dots(stage: str) -> SafeString:
    """Returns the cluster's stage as five dots; decorative, beside the stage's word."""
    at = wording.ROAD.index(stage) if stage in wording.ROAD else -1
    places = ((x, _where(index, at)) for index, x in enumerate(GEOMETRY))
    dots = format_html_join("", '<circle cx="{}" cy="6" r="3.2" class="{}"/>', places)
    walked = format_html('<line x1="6" y1="6" x2="{}" y2="6" class="past"/>', GEOMETRY[at]) if at > 0 else ""
    return format_html(
        '<svg class="stage-dots" viewBox="0 0 52 12" aria-hidden="true"><line x1="6" y1="6" x2="46" y2="6"/>{}{}</svg>',
        walked,
        dots,
    )


def _where(index: int, at: int) -> str:
    if at < 0 or index > at:
        return "ahead"
    return "here" if index == at else "past"


@register.simple_tag
def seen_at(head: Any, mark: str = "?") -> str:  # noqa: ANN401 - the header of a cluster page, made by the view
    """Returns the query that keeps a link in the chosen snapshot: `?at=<id>`, or nothing for the newest one."""
    return "" if head.is_latest else f"{mark}at={head.snapshot.id}"


@register.simple_tag
def view_query(head: Any, kubernetes: str) -> str:  # noqa: ANN401 - as in `seen_at`
    """Returns the query that keeps a link in the chosen snapshot and the planned Kubernetes, to append to another
    parameter.
    """
    return seen_at(head, "&") + (f"&{urlencode({'kubernetes': kubernetes})}" if kubernetes else "")


@register.filter
def newest_first(releases: Iterable[str]) -> list[str]:
    """Returns releases with the newest first."""
    return sorted(releases, key=natural, reverse=True)


_PARAMETERS = """
actor after at back before bucket by cause channel check cluster code correlation defaults desc draft environment every
from group hop kubernetes label odd other outcome owner plan profile q release role severity since sort stage state tab
to until verb view way
"""
KEPT_PARAMETERS = frozenset(_PARAMETERS.split())
"""Query parameters that pages read, except the position in a list, a download, and the target of a form."""


@register.simple_tag(takes_context=True)
def query_string(context: dict[str, Any], **changes: object) -> str:
    """Returns this page's query string with some parameters changed (empty removes one), starting at page one.

    Parameters that no page reads are left out.
    """
    parameters = {name: value for name, value in context["request"].GET.items() if name in KEPT_PARAMETERS}
    parameters |= {name: "" if value is None else str(value) for name, value in changes.items()}
    return "?" + urlencode({name: value for name, value in parameters.items() if value})
