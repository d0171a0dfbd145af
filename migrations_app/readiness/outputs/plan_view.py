"""What a printed plan shows of a runbook: a few lines a step, and the commands of the tool that keeps each object.

A command that is long stands in a file of its own: at the end of the text, or beside it. The plan as JSON holds
everything, with the commands of every tool.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from msgspec.structs import replace

from migrations_app.checks.base import How, Remedy
from migrations_app.conversion.chart_values.side_by_side import RowKind
from migrations_app.conversion.chart_values.table import lines as values_lines
from migrations_app.readiness.next_step import FindingGroup, in_order
from migrations_app.readiness.outputs.wording import forecast_number, ids, left_out, object_line
from migrations_app.readiness.plan.runbook import Runbook, RunbookHop
from migrations_app.readiness.plan.stages import Lost, Stage

EVIDENCE_SHOWN = 2
CHANGES: tuple[RowKind, ...] = ("lost", "renamed", "removed", "set")
COMMAND_LINES = 4
"""A longer command of a step is a file."""
ITEM_LINES = 2
"""A longer command of one thing to do is a file; comments around a single line stand behind it."""
LONGEST_LINE = 400
"""Characters of a line of commands; with a longer one they are a file."""
STEP_LINES = 15
"""A stage with more work is several steps."""
_ENDINGS: dict[How, str] = {"terraform": "tf", "flux": "yaml", "argocd": "yaml"}


class PlanFile(NamedTuple):
    """A command that is too long for its step. `name` says the step and the tool, such as `2.11-helm.sh`."""

    name: str
    text: str


class CommandView(NamedTuple):
    """`file` names where the text stands, where it is too long for the step."""

    how: How
    text: str
    file: str = ""


class ItemView(NamedTuple):
    """One thing to do: what is wrong, the first of its evidence, the commands, and the actions of karpdash for it."""

    status: str
    severity: str
    title: str
    summary: str
    checks: str
    evidence: tuple[str, ...]
    commands: tuple[CommandView, ...]
    actions: tuple[str, ...]


class StepView(NamedTuple):
    """One stage, or a part of one: `part` and `parts` count them. `back` is empty where the way back is that of the
    step before."""

    number: str
    stage: Stage
    items: tuple[ItemView, ...]
    commands: tuple[CommandView, ...]
    actions: tuple[str, ...]
    back: str
    no_return: tuple[Lost, ...]
    part: int = 1
    parts: int = 1

    @property
    def of_parts(self) -> str:
        """` (2 of 3)`; empty where the stage is one step."""
        return f" ({self.part} of {self.parts})" if self.parts > 1 else ""


class QuestionView(NamedTuple):
    """What is not known. `earlier` is the hop that has told it already; then there are no commands."""

    summary: str
    checks: str
    earlier: str
    commands: tuple[CommandView, ...]


class ValuesView(NamedTuple):
    """What becomes of the values of one Helm release; `file` holds them side by side, empty where there are none."""

    about: str
    file: str = ""


class HopView(NamedTuple):
    """One hop of the plan."""

    at: int
    hop: RunbookHop
    questions: tuple[QuestionView, ...]
    forecast: str
    steps: tuple[StepView, ...]
    settled: int
    values: tuple[ValuesView, ...] = ()


class PrintedPlan(NamedTuple):
    """The hops, and the files that their long commands stand in."""

    hops: tuple[HopView, ...]
    files: tuple[PlanFile, ...]


def plan_view(plan: Runbook) -> PrintedPlan:
    """What is printed of the plan."""
    files: list[PlanFile] = []
    first_hops: dict[str, str] = {}
    hops = tuple(
        HopView(
            at=at,
            hop=hop,
            questions=tuple(_questions(at, hop, first_hops=first_hops, files=files, cluster=plan.cluster.name)),
            forecast=_forecast(hop),
            steps=tuple(_steps(at, hop, files=files, cluster=plan.cluster.name)),
            settled=sum(stage.settled for stage in hop.stages),
            values=tuple(_values(at, hop, files=files)),
        )
        for at, hop in enumerate(plan.hops, 1)
    )
    return PrintedPlan(hops, tuple(files))


def _values(at: int, hop: RunbookHop, *, files: list[PlanFile]) -> Iterator[ValuesView]:
    named: dict[str, int] = {}
    for chart in hop.charts:
        about = f"Values of {chart.where} ({chart.chart})" if chart.release else "Helm values"
        changes = sum(row.kind in CHANGES for row in chart.changed)
        defaults = sum(row.kind == "default_changed" for row in chart.changed)
        summary = f"{about}: {changes} changed, {len(chart.kept)} kept, {defaults} defaults of the chart changed"
        if not chart.rows:
            yield ValuesView(f"{about}: {f'not known: {chart.unread}' if chart.unread else 'none given'}")
            continue
        same = named[chart.chart] = named.get(chart.chart, 0) + 1
        name = f"{at}-values-{chart.chart}{f'-{same}' if same > 1 else ''}.txt"
        head = f"{chart.where}, {chart.starts or 'the running release'} to {chart.lands}"
        lines = [line for line in (head, f"read from: {chart.origin}", chart.unread) if line]
        files.append(PlanFile(name, "\n".join((*lines, "", *values_lines(chart.rows)))))
        yield ValuesView(summary, name)


def _questions(
    at: int, hop: RunbookHop, *, first_hops: dict[str, str], files: list[PlanFile], cluster: str
) -> Iterator[QuestionView]:
    """Each question with its commands once in the plan; `asked` holds the hop that told it."""
    for group in hop.unknown_by_reason(cluster):
        earlier = first_hops.setdefault(group.summary, hop.lands.hop)
        first = earlier == hop.lands.hop
        commands = _commands(group.remedies, step=f"{at}.0", files=files, most=ITEM_LINES) if first else ()
        yield QuestionView(group.summary, ids(group), "" if first else earlier, commands)


def _forecast(hop: RunbookHop) -> str:
    """`nodes that drift with the upgrade: 4; 7 more: none`; empty where nothing is forecast."""
    numbers = [f"{line.what}: {forecast_number(line)}" for line in hop.forecast if line.count != 0]
    if none := len(hop.forecast) - len(numbers):
        numbers.append(f"none of {none} other kinds" if numbers else f"none of {none} kinds of trouble")
    return "; ".join(numbers)


def _steps(at: int, hop: RunbookHop, *, files: list[PlanFile], cluster: str) -> Iterator[StepView]:
    """The stages that hold work; those of which everything is settled are only counted."""
    number = 0
    for stage, back in zip(hop.stages, hop.ways_back(), strict=True):
        groups = [group for group in in_order(hop.open_in(stage), cluster=cluster) if group.status != "unknown"]
        if not groups and not stage.commands and not stage.no_return and stage.part != "verify":
            continue
        items = [_item(group, without_commands=bool(stage.commands)) for group in groups]
        command_lines = sum(map(_whole_height, _of_first_tool(stage.commands))) + bool(stage.commands)
        rows = list(_rows(items, command_lines=command_lines + len(stage.no_return) + bool(back)))
        for at_part, row in enumerate(rows, 1):
            number += 1
            step, ends = f"{at}.{number}", at_part == len(rows)
            yield StepView(
                number=step,
                stage=stage,
                items=tuple(_filed(draft, step=step, files=files) for draft in row),
                commands=_commands(stage.commands, step=step, files=files) if ends else (),
                actions=_actions(stage.commands) if ends else (),
                back=back if at_part == 1 else "",
                no_return=stage.no_return if ends else (),
                part=at_part,
                parts=len(rows),
            )


class _Draft(NamedTuple):
    """An item whose commands have no names of files yet."""

    view: ItemView
    remedies: tuple[Remedy, ...]

    @property
    def lines(self) -> int:
        commands = sum(map(_height, _of_first_tool(self.remedies)))
        return 1 + len(self.view.evidence) + commands + bool(self.view.actions)


def _height(remedy: Remedy) -> int:
    """The lines that a command takes in Markdown, which takes more than text."""
    text = _on_one_line(remedy)
    lines = len(text.splitlines())
    return 1 if lines > ITEM_LINES or fits_a_line(text) else lines + 4


def _whole_height(remedy: Remedy) -> int:
    lines = len(remedy.text.splitlines())
    return 1 if lines > COMMAND_LINES or fits_a_line(remedy.text) else lines + 3


def fits_a_line(text: str) -> bool:
    """Whether Markdown shows the command within a line: it has one line, and no mark that would end or hide it."""
    return not set(text) & set("\n`<")


def _on_one_line(remedy: Remedy) -> str:
    """The text with its comments behind its only command, or as one comment; as it is where it has more commands, or
    is too long for one line."""
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


def _rows(items: list[_Draft], *, command_lines: int) -> Iterator[list[_Draft]]:
    """The items of each step, so that none is longer than STEP_LINES; `beside` is what stands in the last one."""
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
    """`told`: the commands are those of the step."""
    first = group.first
    evidence = [object_line(row) for row in first.evidence[:1]]
    if more := left_out(first, len(evidence)):
        evidence = [f"{evidence[0]}; {more}"] if evidence else [more]
    view = ItemView(
        status=first.status,
        severity=first.severity,
        title=first.title,
        summary=group.summary,
        checks=ids(group),
        evidence=tuple(evidence),
        commands=(),
        actions=() if without_commands else _actions(group.remedies),
    )
    return _Draft(view, () if without_commands else group.remedies)


def _filed(draft: _Draft, *, step: str, files: list[PlanFile]) -> ItemView:
    every = (replace(remedy, text=_on_one_line(remedy)) for remedy in draft.remedies)
    return draft.view._replace(commands=_commands(every, step=step, files=files, most=ITEM_LINES))


def command_groups(commands: Iterable[CommandView]) -> Iterator[tuple[CommandView, ...]]:
    """The commands as they are to be run, one by one; files of one tool that follow each other are one group."""
    for (_, in_file), group in groupby(commands, key=lambda command_view: (command_view.how, bool(command_view.file))):
        if in_file:
            yield tuple(group)
        else:
            yield from ((command_view,) for command_view in group)


def _actions(remedies: Iterable[Remedy]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(remedy.action for remedy in remedies if remedy.how == "action"))


def _commands(
    remedies: Iterable[Remedy], *, step: str, files: list[PlanFile], most: int = COMMAND_LINES
) -> tuple[CommandView, ...]:
    return tuple(_command(remedy, step=step, files=files, most=most) for remedy in _of_first_tool(remedies))


def _of_first_tool(remedies: Iterable[Remedy]) -> tuple[Remedy, ...]:
    """Those of the first tool, which is the one that keeps the object, each once."""
    texts = [remedy for remedy in remedies if remedy.how != "action"]
    return tuple(dict.fromkeys(text for text in texts if text.how == texts[0].how))


def _command(remedy: Remedy, *, step: str, files: list[PlanFile], most: int) -> CommandView:
    lines = remedy.text.splitlines()
    if len(lines) <= most and all(len(line) <= LONGEST_LINE for line in lines):
        return CommandView(remedy.how, remedy.text)
    same = sum(file.name.startswith(f"{step}-{remedy.how}") for file in files)
    ending = "json" if remedy.text.startswith("{") else _ENDINGS.get(remedy.how, "sh")
    name = f"{step}-{remedy.how}{f'-{same + 1}' if same else ''}.{ending}"
    files.append(PlanFile(name, remedy.text))
    return CommandView(remedy.how, remedy.text, name)
