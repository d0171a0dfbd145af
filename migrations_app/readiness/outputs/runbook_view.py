"""Computes what a printed runbook shows: a few lines for each step, with the commands of the tool that keeps the
object.

A long command becomes a file of its own, which is printed at the end or saved beside the runbook. The runbook as JSON
holds everything, with the commands of every tool.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from msgspec.structs import replace

from migrations_app.checks.base import Remedy, RemedyTool
from migrations_app.conversion.chart_values.side_by_side import RowKind
from migrations_app.conversion.chart_values.table import lines as values_lines
from migrations_app.readiness.next_step import FindingGroup, group_in_order
from migrations_app.readiness.outputs.wording import check_ids, forecast_number, hidden_evidence_line, object_line
from migrations_app.readiness.runbook.rollback import IrreversibleEffect
from migrations_app.readiness.runbook.runbook import Runbook, RunbookHop
from migrations_app.readiness.runbook.stages import RunbookStage

CHANGES: tuple[RowKind, ...] = ("lost", "renamed", "removed", "set")
COMMAND_LINES = 4
"""A command of a step with more lines becomes a file."""
ITEM_LINES = 2
"""A command of an item with more lines becomes a file; the comments of a one-line command go behind it."""
LONGEST_LINE = 400
"""Characters of a line of commands; a command with a longer line becomes a file."""
STEP_LINES = 15
"""A stage with more lines is split into several steps."""
_ENDINGS: dict[RemedyTool, str] = {"terraform": "tf", "flux": "yaml", "argocd": "yaml"}


class RunbookFile(NamedTuple):
    """A command that is too long for its step. `name` has the number of the step and the tool, such as
    `2.11-helm.sh`."""

    name: str
    text: str


class CommandView(NamedTuple):
    """One command. `file` is the name of the file with its text if it is too long for the step."""

    how: RemedyTool
    text: str
    file: str = ""


class ItemView(NamedTuple):
    """One thing to do: the problem, the first of its evidence, the commands, and the actions of karpdash for it."""

    status: str
    severity: str
    title: str
    summary: str
    checks: str
    evidence: tuple[str, ...]
    commands: tuple[CommandView, ...]
    actions: tuple[str, ...]


class StepView(NamedTuple):
    """One stage, or one of several parts of it: `part` of `parts`. `back` is empty if the rollback is that of the
    step before."""

    number: str
    stage: RunbookStage
    items: tuple[ItemView, ...]
    commands: tuple[CommandView, ...]
    actions: tuple[str, ...]
    back: str
    no_return: tuple[IrreversibleEffect, ...]
    part: int = 1
    parts: int = 1

    @property
    def of_parts(self) -> str:
        """` (2 of 3)`; empty if the stage is one step."""
        return f" ({self.part} of {self.parts})" if self.parts > 1 else ""


class QuestionView(NamedTuple):
    """An unknown finding. `earlier` is the hop under which it is printed first; then it has no commands here."""

    summary: str
    checks: str
    earlier: str
    commands: tuple[CommandView, ...]


class ValuesView(NamedTuple):
    """What a hop changes in the values of one Helm release; `file` has the values side by side, empty if there are
    none."""

    about: str
    file: str = ""


class HopView(NamedTuple):
    """One hop of the printed runbook."""

    at: int
    hop: RunbookHop
    questions: tuple[QuestionView, ...]
    forecast: str
    steps: tuple[StepView, ...]
    settled: int
    values: tuple[ValuesView, ...] = ()


class PrintedRunbook(NamedTuple):
    """The hops, and the files of their long commands."""

    hops: tuple[HopView, ...]
    files: tuple[RunbookFile, ...]


def printed_runbook(plan: Runbook) -> PrintedRunbook:
    """Returns what is printed of the runbook."""
    files: list[RunbookFile] = []
    first_hops: dict[str, str] = {}
    hops = tuple(
        HopView(
            at=number,
            hop=hop,
            questions=tuple(_questions(number, hop, first_hops=first_hops, files=files, cluster=plan.cluster.name)),
            forecast=_forecast(hop),
            steps=tuple(_steps(number, hop, files=files, cluster=plan.cluster.name)),
            settled=sum(stage.settled for stage in hop.stages),
            values=tuple(_values(number, hop, files=files)),
        )
        for number, hop in enumerate(plan.hops, 1)
    )
    return PrintedRunbook(hops, tuple(files))


def _values(at: int, hop: RunbookHop, *, files: list[RunbookFile]) -> Iterator[ValuesView]:
    seen_charts: dict[str, int] = {}
    for chart in hop.charts:
        about = f"Values of {chart.where} ({chart.chart})" if chart.release else "Helm values"
        changes = sum(row.kind in CHANGES for row in chart.changed)
        defaults = sum(row.kind == "default_changed" for row in chart.changed)
        summary = f"{about}: {changes} changed, {len(chart.kept)} kept, {defaults} defaults of the chart changed"
        if not chart.rows:
            yield ValuesView(f"{about}: {f'not known: {chart.unread}' if chart.unread else 'none given'}")
            continue
        number = seen_charts[chart.chart] = seen_charts.get(chart.chart, 0) + 1
        name = f"{at}-values-{chart.chart}{f'-{number}' if number > 1 else ''}.txt"
        head = f"{chart.where}, {chart.starts or 'the running release'} to {chart.target_release}"
        lines = [line for line in (head, f"read from: {chart.origin}", chart.unread) if line]
        files.append(RunbookFile(name, "\n".join((*lines, "", *values_lines(chart.rows)))))
        yield ValuesView(summary, name)


def _questions(
    at: int, hop: RunbookHop, *, first_hops: dict[str, str], files: list[RunbookFile], cluster: str
) -> Iterator[QuestionView]:
    """Yields the unknown findings of a hop. `first_hops` records the hop of each, so that its commands are printed
    once."""
    for group in hop.unknown_by_reason(cluster):
        earlier = first_hops.setdefault(group.summary, hop.path_hop.name)
        first = earlier == hop.path_hop.name
        commands = _commands(group.remedies, step=f"{at}.0", files=files, most=ITEM_LINES) if first else ()
        yield QuestionView(group.summary, check_ids(group), "" if first else earlier, commands)


def _forecast(hop: RunbookHop) -> str:
    """Returns `nodes that drift with the upgrade: 4; 7 more: none`; empty without a forecast."""
    numbers = [f"{line.what}: {forecast_number(line)}" for line in hop.forecast if line.count != 0]
    if none := len(hop.forecast) - len(numbers):
        numbers.append(f"none of {none} other kinds" if numbers else f"none of {none} kinds of trouble")
    return "; ".join(numbers)


def _steps(at: int, hop: RunbookHop, *, files: list[RunbookFile], cluster: str) -> Iterator[StepView]:
    """Yields the stages with open work; settled checks are only counted."""
    number = 0
    for stage, back in zip(hop.stages, hop.ways_back(), strict=True):
        groups = [group for group in group_in_order(hop.open_in(stage), cluster=cluster) if group.status != "unknown"]
        if not groups and not stage.commands and not stage.no_return and stage.part != "verify":
            continue
        items = [_item(group, without_commands=bool(stage.commands)) for group in groups]
        command_lines = sum(map(_height_in_step, _first_tool_only(stage.commands))) + bool(stage.commands)
        rows = list(_items_by_step(items, command_lines=command_lines + len(stage.no_return) + bool(back)))
        for at_part, row in enumerate(rows, 1):
            number += 1
            step, ends = f"{at}.{number}", at_part == len(rows)
            yield StepView(
                number=step,
                stage=stage,
                items=tuple(_with_files(draft, step=step, files=files) for draft in row),
                commands=_commands(stage.commands, step=step, files=files) if ends else (),
                actions=_actions(stage.commands) if ends else (),
                back=back if at_part == 1 else "",
                no_return=stage.no_return if ends else (),
                part=at_part,
                parts=len(rows),
            )


class _Draft(NamedTuple):
    """An item whose commands are not yet assigned to files."""

    view: ItemView
    remedies: tuple[Remedy, ...]

    @property
    def lines(self) -> int:
        commands = sum(map(_height_in_item, _first_tool_only(self.remedies)))
        return 1 + len(self.view.evidence) + commands + bool(self.view.actions)


def _height_in_item(remedy: Remedy) -> int:
    """Returns the lines of a command in Markdown, which needs more lines than plain text."""
    text = _on_one_line(remedy)
    lines = len(text.splitlines())
    return 1 if lines > ITEM_LINES or fits_a_line(text) else lines + 4


def _height_in_step(remedy: Remedy) -> int:
    lines = len(remedy.text.splitlines())
    return 1 if lines > COMMAND_LINES or fits_a_line(remedy.text) else lines + 3


def fits_a_line(text: str) -> bool:
    """Returns whether Markdown can show the command inside a line: one line without a character that ends or hides
    it."""
    return not set(text) & set("\n`<")


def _on_one_line(remedy: Remedy) -> str:
    """Returns the text with its comments behind its only command, or as one comment. The text stays as it is with
    several commands, or if it would be too long for one line."""
    text = remedy.text
    lines = text.splitlines()
    notes = [line.removeprefix("#").strip() for line in lines if line.startswith("#")]
    commands = [line for line in lines if not line.startswith("#")]
    if len(lines) == 1 or len(commands) > 1:
        return text
    comment = "; ".join(notes)
    joined = f"{commands[0]}  # {comment}" if commands else f"# {comment}"
    several_lines = len(joined) > LONGEST_LINE or (bool(commands) and "  # " in commands[0])
    return text if several_lines else joined


def _items_by_step(items: list[_Draft], *, command_lines: int) -> Iterator[list[_Draft]]:
    """Yields the items of each step, so that no step is longer than STEP_LINES; the last one also holds
    `command_lines`."""
    row: list[_Draft] = []
    room = STEP_LINES - 2
    for draft in items:
        if row and sum(item.lines for item in (*row, draft)) > room:
            yield row
            row = []
        row.append(draft)
    if row and command_lines and sum(item.lines for item in row) + command_lines > room:
        yield row
        row = []
    yield row


def _item(group: FindingGroup, *, without_commands: bool) -> _Draft:
    """Returns the item of a group; `without_commands` if the stage has commands of its own."""
    first = group.first
    evidence = [object_line(row) for row in first.evidence[:1]]
    if more := hidden_evidence_line(first, len(evidence)):
        evidence = [f"{evidence[0]}; {more}"] if evidence else [more]
    view = ItemView(
        status=first.status,
        severity=first.severity,
        title=first.title,
        summary=group.summary,
        checks=check_ids(group),
        evidence=tuple(evidence),
        commands=(),
        actions=() if without_commands else _actions(group.remedies),
    )
    return _Draft(view, () if without_commands else group.remedies)


def _with_files(draft: _Draft, *, step: str, files: list[RunbookFile]) -> ItemView:
    every = (replace(remedy, text=_on_one_line(remedy)) for remedy in draft.remedies)
    return draft.view._replace(commands=_commands(every, step=step, files=files, most=ITEM_LINES))


def command_groups(commands: Iterable[CommandView]) -> Iterator[tuple[CommandView, ...]]:
    """Yields the commands in the order to run them; files of one tool that follow each other are one group."""
    for (_, in_file), group in groupby(commands, key=lambda command_view: (command_view.how, bool(command_view.file))):
        if in_file:
            yield tuple(group)
        else:
            yield from ((command_view,) for command_view in group)


def _actions(remedies: Iterable[Remedy]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(remedy.action for remedy in remedies if remedy.how == "action"))


def _commands(
    remedies: Iterable[Remedy], *, step: str, files: list[RunbookFile], most: int = COMMAND_LINES
) -> tuple[CommandView, ...]:
    return tuple(_command(remedy, step=step, files=files, max_lines=most) for remedy in _first_tool_only(remedies))


def _first_tool_only(remedies: Iterable[Remedy]) -> tuple[Remedy, ...]:
    """Returns the remedies of the first tool, which is the one that keeps the object, each once."""
    texts = [remedy for remedy in remedies if remedy.how != "action"]
    return tuple(dict.fromkeys(text for text in texts if text.how == texts[0].how))


def _command(remedy: Remedy, *, step: str, files: list[RunbookFile], max_lines: int) -> CommandView:
    lines = remedy.text.splitlines()
    if len(lines) <= max_lines and all(len(line) <= LONGEST_LINE for line in lines):
        return CommandView(remedy.how, remedy.text)
    earlier_files = sum(file.name.startswith(f"{step}-{remedy.how}") for file in files)
    ending = "json" if remedy.text.startswith("{") else _ENDINGS.get(remedy.how, "sh")
    name = f"{step}-{remedy.how}{f'-{earlier_files + 1}' if earlier_files else ''}.{ending}"
    files.append(RunbookFile(name, remedy.text))
    return CommandView(remedy.how, remedy.text, name)
