"""What a printed plan shows of a runbook: a few lines a step, and the commands of the tool that keeps each object.

A command that is long stands in a file of its own: at the end of the text, or beside it. The plan as JSON holds
everything, with the commands of every tool.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from migrations_app.checks.base import How, Remedy
from migrations_app.conversion.chart_values.side_by_side import RowKind
from migrations_app.conversion.chart_values.table import lines as values_lines
from migrations_app.readiness.next_step import FindingGroup, in_order
from migrations_app.readiness.outputs.wording import forecast_number, ids, left_out, object_line
from migrations_app.readiness.plan.runbook import Runbook, RunbookHop
from migrations_app.readiness.plan.stages import Lost, Stage

EVIDENCE_SHOWN = 2
CHANGES: tuple[RowKind, ...] = ("lost", "renamed", "removed", "set")
COMMAND_LINES = 6
"""A longer command is a file."""
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
    """One stage. `back` is empty where the way back is that of the step before."""

    number: str
    stage: Stage
    items: tuple[ItemView, ...]
    commands: tuple[CommandView, ...]
    actions: tuple[str, ...]
    back: str
    no_return: tuple[Lost, ...]


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
    asked: dict[str, str] = {}
    hops = tuple(
        HopView(
            at=at,
            hop=hop,
            questions=tuple(_questions(at, hop, asked=asked, files=files, cluster=plan.cluster.name)),
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
        told = f"{about}: {changes} changed, {len(chart.kept)} kept, {defaults} defaults of the chart changed"
        if not chart.rows:
            yield ValuesView(f"{about}: {f'not known: {chart.unread}' if chart.unread else 'none given'}")
            continue
        same = named[chart.chart] = named.get(chart.chart, 0) + 1
        name = f"{at}-values-{chart.chart}{f'-{same}' if same > 1 else ''}.txt"
        head = f"{chart.where}, {chart.starts or 'the running release'} to {chart.lands}"
        lines = [one for one in (head, f"read from: {chart.origin}", chart.unread) if one]
        files.append(PlanFile(name, "\n".join((*lines, "", *values_lines(chart.rows)))))
        yield ValuesView(told, name)


def _questions(
    at: int, hop: RunbookHop, *, asked: dict[str, str], files: list[PlanFile], cluster: str
) -> Iterator[QuestionView]:
    """Each question with its commands once in the plan; `asked` holds the hop that told it."""
    for group in hop.untold(cluster):
        earlier = asked.setdefault(group.summary, hop.lands.hop)
        first = earlier == hop.lands.hop
        commands = _commands(group.remedies, step=f"{at}.0", files=files) if first else ()
        yield QuestionView(group.summary, ids(group), "" if first else earlier, commands)


def _forecast(hop: RunbookHop) -> str:
    """`nodes that drift with the hop: 4; 7 more: none`; empty where nothing is forecast."""
    told = [f"{line.what}: {forecast_number(line)}" for line in hop.forecast if line.count != 0]
    if none := len(hop.forecast) - len(told):
        told.append(f"none of {none} other kinds" if told else f"none of {none} kinds of trouble")
    return "; ".join(told)


def _steps(at: int, hop: RunbookHop, *, files: list[PlanFile], cluster: str) -> Iterator[StepView]:
    """The stages that hold work; those of which everything is settled are only counted."""
    number = 0
    for stage, back in zip(hop.stages, hop.ways_back(), strict=True):
        groups = [one for one in in_order(hop.open_in(stage), cluster=cluster) if one.status != "unknown"]
        if not groups and not stage.commands and not stage.no_return and stage.part != "verify":
            continue
        number += 1
        step = f"{at}.{number}"
        yield StepView(
            number=step,
            stage=stage,
            items=tuple(_item(group, step=step, files=files, told=bool(stage.commands)) for group in groups),
            commands=_commands(stage.commands, step=step, files=files),
            actions=_actions(stage.commands),
            back=back,
            no_return=stage.no_return,
        )


def _item(group: FindingGroup, *, step: str, files: list[PlanFile], told: bool) -> ItemView:
    """`told`: the commands are those of the step."""
    first = group.first
    evidence = [object_line(row) for row in first.evidence[:EVIDENCE_SHOWN]]
    if more := left_out(first, EVIDENCE_SHOWN):
        evidence.append(more)
    return ItemView(
        status=first.status,
        severity=first.severity,
        title=first.title,
        summary=group.summary,
        checks=ids(group),
        evidence=tuple(evidence),
        commands=() if told else _commands(group.remedies, step=step, files=files),
        actions=() if told else _actions(group.remedies),
    )


def _actions(remedies: Iterable[Remedy]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.action for one in remedies if one.how == "action"))


def _commands(remedies: Iterable[Remedy], *, step: str, files: list[PlanFile]) -> tuple[CommandView, ...]:
    """Those of the first tool, which is the one that keeps the object."""
    texts = [one for one in remedies if one.how != "action"]
    ours = dict.fromkeys(one for one in texts if one.how == texts[0].how)
    return tuple(_command(one, step=step, files=files) for one in ours)


def _command(remedy: Remedy, *, step: str, files: list[PlanFile]) -> CommandView:
    if len(remedy.text.splitlines()) <= COMMAND_LINES:
        return CommandView(remedy.how, remedy.text)
    same = sum(one.name.startswith(f"{step}-{remedy.how}") for one in files)
    ending = "json" if remedy.text.startswith("{") else _ENDINGS.get(remedy.how, "sh")
    name = f"{step}-{remedy.how}{f'-{same + 1}' if same else ''}.{ending}"
    files.append(PlanFile(name, remedy.text))
    return CommandView(remedy.how, remedy.text, name)
