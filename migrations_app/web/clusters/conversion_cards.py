"""Presents a conversion: a card for each object, with a side-by-side diff and each finding at its line."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import NamedTuple

from migrations_app.conversion.convert import Item
from migrations_app.conversion.findings import ConversionFinding, worst
from migrations_app.conversion.metadata import name_of
from migrations_app.conversion.reports.side_by_side import SideBySideRow, rows
from migrations_app.readiness.outputs.badge_style import BadgeStyle
from migrations_app.texts import text as _

MAX_LINES = 6000
"""Maximum number of lines on a page; the downloads contain all objects."""
MAX_FINDINGS_PER_LINE = 3
"""Findings shown beside a line; a link leads to the others."""
MIN_SIMILARITY = 0.4
"""Minimum share of equal text at both ends for which only the middle counts as changed."""
OUTCOMES: tuple[BadgeStyle, ...] = (
    BadgeStyle(_("Not converted"), "blocker", "blocker", id="refused"),
    BadgeStyle(_("Decide first"), "warning", "manual", id="decide"),
    BadgeStyle(_("Converted"), "pass", "pass", id="converted"),
    BadgeStyle(_("Nothing to do"), "muted", "na", id="same"),
    BadgeStyle(_("Left alone"), "muted", "na", id="other"),
)
SEVERITIES = {
    "error": BadgeStyle(_("Error"), "blocker", "blocker", id="error"),
    "action": BadgeStyle(_("Decide"), "warning", "manual", id="action"),
    "warn": BadgeStyle(_("May change"), "warning", "warning", id="warn"),
    "info": BadgeStyle(_("Note"), "accent", "info", id="info"),
}
UNTOUCHED = {"already-v1", "already-v1beta1"}
_WORDS = re.compile(r"\s+|\w+|.")
_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9-]+")


class ShownFinding(NamedTuple):
    """A finding on the page. `url` links to its line; empty if no line is shown."""

    id: str
    loss: ConversionFinding
    look: BadgeStyle
    url: str = ""
    line: int | None = None


class ChangedText(NamedTuple):
    """A line in three pieces of which only the middle one changed."""

    start: str
    changed: str
    end: str


@dataclass(frozen=True, slots=True)
class DiffRow:
    row: SideBySideRow
    old: ChangedText
    new: ChangedText
    findings: tuple[ShownFinding, ...]

    @property
    def more_findings(self) -> int:
        """The number of findings that are not shown beside the line."""
        return max(0, len(self.findings) - MAX_FINDINGS_PER_LINE)


@dataclass(frozen=True, slots=True)
class ConversionCard:
    """One object of the input. `lines` is empty and `cut` True if the page already shows enough lines."""

    id: str
    item: Item
    look: BadgeStyle
    results: tuple[str, ...]
    lines: tuple[DiffRow, ...]
    findings: tuple[ShownFinding, ...]
    cut: bool = False

    @property
    def grave(self) -> tuple[ShownFinding, ...]:
        return tuple(finding for finding in self.findings if finding.look.id != "info")

    @property
    def notes(self) -> tuple[ShownFinding, ...]:
        return tuple(finding for finding in self.findings if finding.look.id == "info")

    @property
    def folded(self) -> bool:
        return self.look.id in ("same", "other")


def outcome(item: Item) -> BadgeStyle:
    """The outcome of an object's conversion."""
    looks = {look.id: look for look in OUTCOMES}
    codes = {loss.code for loss in item.losses}
    gravest = worst(item.losses)
    if gravest == "error":
        return looks["refused"]
    if not item.objects:
        return looks["other"]
    if UNTOUCHED & codes:
        return looks["same"]
    return looks["decide" if gravest == "action" else "converted"]


def changed(items: Iterable[Item]) -> list[Item]:
    """The objects whose results are new and may be applied or committed."""
    return [item for item in items if not item.view_only and outcome(item).id in ("decide", "converted")]


def cards(items: Sequence[Item]) -> tuple[ConversionCard, ...]:
    """A card for each object, most urgent first. Ids are unique on the page."""
    order = [look.id for look in OUTCOMES]
    ids: dict[str, int] = {}
    converted_cards = []
    lines_left = MAX_LINES
    for item in sorted(items, key=lambda entry: order.index(outcome(entry).id)):
        card = _card(item, _free_id(item, ids), with_lines=lines_left > 0)
        lines_left -= len(card.lines)
        converted_cards.append(card)
    return tuple(converted_cards)


def tally(converted_cards: Iterable[ConversionCard]) -> tuple[tuple[BadgeStyle, int], ...]:
    """The number of objects by outcome, without empty outcomes."""
    counts = Counter(card.look.id for card in converted_cards)
    return tuple((look, counts[look.id]) for look in OUTCOMES if counts[look.id])


def _card(item: Item, card_id: str, *, with_lines: bool) -> ConversionCard:
    look = outcome(item)
    has_lines = look.id != "other"
    sides = rows(item.source, item.objects, losses=item.losses) if has_lines and with_lines else []
    if not item.objects:  # nothing was produced, which is not a removal
        sides = [replace(row, mark="same") for row in sides]
    at = {index: row.old_number for row in sides for index in row.losses}
    findings = tuple(
        _shown_finding(loss, f"{card_id}-f{index}", at=at.get(index)) for index, loss in enumerate(item.losses)
    )
    lines = tuple(_line(row, findings) for row in sides)
    results = tuple(f"{body['kind']} {name_of(body)}" for body in item.objects)
    return ConversionCard(card_id, item, look, results, lines, findings, cut=has_lines and not with_lines)


def _shown_finding(loss: ConversionFinding, finding_id: str, *, at: int | None) -> ShownFinding:
    url = f"#{finding_id.rpartition('-')[0]}-l{at}" if at else ""
    return ShownFinding(finding_id, loss, SEVERITIES[loss.severity], url, at)


def _line(row: SideBySideRow, findings: Sequence[ShownFinding]) -> DiffRow:
    old, new = row.old or "", row.new or ""
    sides = _compared(old, new) if row.mark == "changed" else (_plain(old), _plain(new))
    gravest_first = sorted(
        (findings[index] for index in row.losses), key=lambda finding: list(SEVERITIES).index(finding.look.id)
    )
    return DiffRow(row, *sides, tuple(gravest_first))


def _plain(text: str) -> ChangedText:
    return ChangedText(text, "", "")


def _compared(old: str, new: str) -> tuple[ChangedText, ChangedText]:
    """Splits both lines into common start, changed middle and common end; lines with little in common are not split."""
    old_words, new_words = _WORDS.findall(old), _WORDS.findall(new)
    start = _common_words(old_words, new_words)
    end = _common_words(old_words[start:][::-1], new_words[start:][::-1])
    shared = len("".join([*old_words[:start], *old_words[len(old_words) - end :]]).strip())
    if shared < MIN_SIMILARITY * max(len(old.strip()), len(new.strip())):
        return _plain(old), _plain(new)
    return _cut(old_words, start, end=end), _cut(new_words, start, end=end)


def _common_words(old: Sequence[str], new: Sequence[str]) -> int:
    """Returns with how many equal words both lines start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def _cut(words: Sequence[str], start: int, *, end: int) -> ChangedText:
    stop = len(words) - end
    return ChangedText("".join(words[:start]), "".join(words[start:stop]), "".join(words[stop:]))


def _free_id(item: Item, ids: dict[str, int]) -> str:
    """Returns an id such as `provisioner-default`, with a number behind it if that id is already taken. `ids` has the
    ids that are taken, each with the last number behind it."""
    slug = _NOT_IN_IDS.sub("-", f"{item.kind}-{item.name}").strip("-").lower()[:80] or "object"
    name, number = slug, ids.get(slug, 1)
    while name in ids:
        number += 1
        name = f"{slug}-{number}"
    ids[name] = 1
    ids[slug] = number
    return name
