"""Writes a runbook as plain text for a terminal."""

from collections.abc import Iterable, Iterator

from migrations_app.readiness.outputs.plain import plain, plain_lines
from migrations_app.readiness.outputs.runbook_view import (
    CommandView,
    HopView,
    ItemView,
    RunbookFile,
    StepView,
    command_groups,
    printed_runbook,
)
from migrations_app.readiness.outputs.wording import (
    STAGES,
    VERDICTS,
    done_earlier_lines,
    nothing_left,
    path_line,
    settled_line,
    stage_title,
    upgrade_lines,
    waived_lines,
)
from migrations_app.readiness.runbook.runbook import Runbook

RULE = "-" * 20


def render(plan: Runbook) -> str:
    """Returns text with a line break at the end; long commands are at the end, each under the name of its file."""
    view = printed_runbook(plan)
    lines = [*_head(plan), *(line for hop in view.hops for line in _hop(hop)), *_files(view.files)]
    return "\n".join(lines) + "\n"


def _head(plan: Runbook) -> Iterator[str]:
    facts = plan.cluster
    yield f"Cluster  {plain(facts.name)}"
    yield f"From     {plain(facts.karpenter_version or 'unknown release')}, objects: {STAGES[facts.stage]}"
    yield f"To       {plain(plan.target or 'none')}"
    yield f"By       {path_line(hop.path_hop for hop in plan.hops) or nothing_left(plan)}"
    if plan.known_up_to:
        yield f"Known    releases up to {plan.known_up_to}"
    yield f"Read     {plain(plan.scanned_at)}{'' if plan.complete else ', only in part'}"
    yield from (f"Note     {plain(note)}" for note in plan.notes)


def _hop(view: HopView) -> Iterator[str]:
    yield ""
    hop, target = view.hop, view.hop.path_hop
    verdict = VERDICTS[hop.verdict].upper()
    checks = f"{hop.done_percent} % of checks passed or waived"
    yield f"{view.at}. Hop {target.name} -> {plain(target.release)}  {verdict}  {checks}"
    yield f"   {plain(hop.next.safe)}. Next: {plain(hop.next.do)}"
    yield from (f"   {plain(line)}" for line in (*upgrade_lines(target), *done_earlier_lines(hop), *waived_lines(hop)))
    for question in view.questions:
        yield f"   Not known{f', as at hop {question.earlier}' if question.earlier else ''}: {plain(question.summary)}"
        yield f"     keeps open: {question.checks}"
        yield from _commands(question.commands)
    if view.forecast:
        yield f"   Forecast: {plain(view.forecast)}"
    for values_view in view.values:
        yield f"   {plain(values_view.about)}{f': {values_view.file}, below' if values_view.file else ''}"
    for step in view.steps:
        yield from _step(step)
    if view.settled:
        yield f"   {settled_line(view.settled)}"


def _step(step: StepView) -> Iterator[str]:
    yield f"   {step.number} {plain(stage_title(step.stage))}{step.of_parts}"
    for item in step.items:
        yield from _item(item)
    yield from _commands(step.commands)
    yield from _actions(step.actions)
    if step.back:
        commands = f" ({'; '.join(step.stage.back_commands)})" if step.stage.back_commands else ""
        yield f"       rollback from here: {plain(step.back)}{commands}"
    yield from (f"   {RULE} point of no return: {plain(point.what)}. {plain(point.back)}" for point in step.no_return)


def _item(item: ItemView) -> Iterator[str]:
    yield f"     - {item.status}, {item.severity}: {plain(item.summary)} [{item.checks}]"
    yield from (f"       - {line}" for line in item.evidence)
    yield from _commands(item.commands)
    yield from _actions(item.actions)


def _commands(commands: Iterable[CommandView]) -> Iterator[str]:
    for command, *more in command_groups(commands):
        lines = plain_lines(command.text).splitlines()
        if command.file:
            yield f"       {command.how}: {', '.join(command_view.file for command_view in (command, *more))}, below"
        elif len(lines) == 1:
            yield f"       {command.how}: {lines[0]}"
        else:
            yield f"       {command.how}:"
            yield from (f"           {line}" for line in lines)


def _actions(actions: Iterable[str]) -> Iterator[str]:
    if named := ", ".join(actions):
        yield f"       or by karpdash: {named}"


def _files(files: Iterable[RunbookFile]) -> Iterator[str]:
    for file in files:
        yield ""
        yield f"File {file.name}"
        yield from (f"    {line}" for line in plain_lines(file.text).splitlines())
