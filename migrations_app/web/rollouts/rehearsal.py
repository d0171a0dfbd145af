"""The rehearsals on the page of a plan: the result of each play, its timeline as lines, and who may request one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from migrations_app.access import Person, may_prepare
from migrations_app.actions.durations import duration_text
from migrations_app.actions.rehearsable import why_unplayed
from migrations_app.queries.rehearsals.rehearsals import REHEARSED, RehearsalRow, mark_of, newest_rehearsals
from migrations_app.queries.rollouts.detail import RolloutDetail
from migrations_app.readiness.outputs.badge_style import BadgeStyle
from migrations_app.rehearsals.document import RehearsalDocument, RehearsalPlay, read_document
from migrations_app.rehearsals.result import RehearsalMoment, RehearsalResult, Scenario
from migrations_app.rehearsals.text import SCENARIOS as SCENARIO_WORDS
from migrations_app.rehearsals.text import WHY, limit_words
from migrations_app.texts import text as _
from migrations_app.use_cases.rehearsal_runs.queue import SCENARIOS
from migrations_app.web.rollouts.run_board import WIDTH, step_path

STATE_STYLES: Mapping[str, BadgeStyle] = {
    "queued": BadgeStyle(_("Waiting for a worker"), "muted", "never"),
    "running": BadgeStyle(_("Being played"), "accent", "going"),
    "finished": BadgeStyle(_("Played"), "pass", "done"),
    "failed": BadgeStyle(_("Failed"), "blocker", "blocker"),
}
FAILURE_WORDS: Mapping[Scenario, str] = {
    "full_zone": _("One zone has no capacity"),
    "nodes_never_ready": _("New nodes never become Ready"),
    "webhook_down": _("Karpenter's webhooks do not answer"),
}
LINES = (
    ("nodes", _("Nodes"), "ready"),
    ("draining", _("Draining nodes"), "held"),
    ("waiting", _("Pods that wait"), "pending"),
)
MAX_ROWS = 40
"""Maximum number of moments in the table beside the lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineLine:
    """One count over the time of a play, as an SVG path in WIDTH by HEIGHT; `look` is its color class in the
    stylesheet.
    """

    word: str
    look: str
    path: str
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPlay:
    """One play for the page. `seconds` is its simulated length; None if it could not begin."""

    word: str
    play: RehearsalPlay
    result: RehearsalResult | None = None
    length: timedelta | None = None
    lines: tuple[TimelineLine, ...] = ()
    moments: tuple[tuple[timedelta, RehearsalMoment], ...] = ()
    no_place: tuple[tuple[str, int, str], ...] = ()
    limits: tuple[tuple[str, str], ...] = ()
    pods_held: int | None = None

    @property
    def ending(self) -> str:
        """How the play ends, as a text; empty if it could not begin."""
        if self.result is None or self.length is None:
            return ""
        after, stop = duration_text(self.length), self.result.stopped
        return (
            _("ends after {after}").format(after=after)
            if stop is None
            else _("stops at step {step} ({code}) after {after}").format(step=stop.step, code=stop.code, after=after)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRehearsal:
    """One rehearsal; `document` is None before its end, and if it failed."""

    row: RehearsalRow
    look: BadgeStyle
    document: RehearsalDocument | None
    plays: tuple[ShownPlay, ...]

    @property
    def is_successful(self) -> bool:
        """Whether it rehearsed the current plan, and the play without a failure runs to its end."""
        without_failure = self.document.without_failure if self.document else None
        return self.row.current and without_failure is not None and without_failure.finished


def rehearsal_context(detail: RolloutDetail, person: Person) -> dict[str, Any]:
    """Returns the template context: the newest useful rehearsal, older ones as lines, and who may request one."""
    rehearsals = newest_rehearsals(detail.row.id, digest=detail.row.digest)
    newest = next((rehearsal for rehearsal in rehearsals if rehearsal.state == "finished"), None)
    plan = detail.plan
    refusal = may_prepare(person)
    shown_newest = shown_rehearsal(newest) if newest else None
    return {
        "rehearsal_mark": mark_of(rehearsals[0].id, rehearsals[0].state) if rehearsals else "",
        "rehearsals": tuple((rehearsal, STATE_STYLES[rehearsal.state]) for rehearsal in rehearsals),
        "rehearsal": shown_newest,
        "rehearsal_tone": "pass" if shown_newest and shown_newest.is_successful else "warning",
        "rehearsing": any(rehearsal.state in ("queued", "running") for rehearsal in rehearsals),
        "may_rehearse": (refusal.why if refusal else "") if detail.row.state in REHEARSED else None,
        "unplayed": why_unplayed(plan) if plan else "",
        "failure_words": tuple((scenario, FAILURE_WORDS[scenario]) for scenario in SCENARIOS),
    }


def shown_rehearsal(row: RehearsalRow) -> ShownRehearsal:
    """Returns a rehearsal with its plays."""
    document = read_document(row.raw) if row.raw else None
    plays = tuple(_play(play) for play in document.plays) if document else ()
    return ShownRehearsal(row=row, look=STATE_STYLES[row.state], document=document, plays=plays)


def _play(play: RehearsalPlay) -> ShownPlay:
    result, word = play.result, SCENARIO_WORDS[play.scenario].format(zone=play.zone)
    if result is None:
        return ShownPlay(word=word, play=play)
    return ShownPlay(
        word=word,
        play=play,
        result=result,
        length=timedelta(seconds=result.seconds),
        lines=timeline_lines(result.timeline),
        moments=_moments(result.timeline),
        no_place=tuple((place.pod, place.count, WHY.get(place.why, place.why)) for place in result.no_place or ()),
        limits=tuple((pool.pool, words) for pool in result.pools or () if (words := limit_words(pool))),
        pods_held=None if result.held is None else sum(eviction.pods for eviction in result.held),
    )


def timeline_lines(moments: Sequence[RehearsalMoment]) -> tuple[TimelineLine, ...]:
    """Returns nodes, draining nodes and pending pods over time; empty before the second moment."""
    if len(moments) < 2:
        return ()
    span = max(1, moments[-1].seconds)
    places = [moment.seconds / span * WIDTH for moment in moments]
    lines = []
    for name, word, look in LINES:
        values = [int(getattr(moment, name)) for moment in moments]
        most = max(1, *values)
        lines.append(TimelineLine(word=word, look=look, path=step_path(places, values, most=most), most=max(values)))
    return tuple(lines)


def _moments(moments: Sequence[RehearsalMoment]) -> tuple[tuple[timedelta, RehearsalMoment], ...]:
    """Returns at most MAX_ROWS moments for the table, evenly chosen, with the first and the last."""
    step = max(1, -(-len(moments) // (MAX_ROWS - 1)))
    chosen = [*moments[::step]]
    if moments and chosen[-1] is not moments[-1]:
        chosen.append(moments[-1])
    return tuple((timedelta(seconds=moment.seconds), moment) for moment in chosen)
