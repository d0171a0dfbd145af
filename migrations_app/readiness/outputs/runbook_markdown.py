"""Writes a runbook as Markdown with boxes to tick."""

from collections.abc import Iterable, Iterator, Sequence

from migrations_app.readiness.outputs.markdown import fence, text
from migrations_app.readiness.outputs.plain import plain_lines
from migrations_app.readiness.outputs.runbook_view import (
    CommandView,
    HopView,
    ItemView,
    PrintedRunbook,
    RunbookFile,
    StepView,
    command_groups,
    fits_a_line,
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


def render(plan: Runbook) -> str:
    """Returns Markdown with a line break at the end; long commands are at the end, each under the name of its file."""
    view = printed_runbook(plan)
    return _joined((*_body(plan, view), *_files(view.files)))


def render_files(plan: Runbook) -> tuple[RunbookFile, ...]:
    """Returns the Markdown as `plan.md`, and one more file for each long command."""
    view = printed_runbook(plan)
    return (RunbookFile("plan.md", _joined(_body(plan, view))), *view.files)


def _joined(lines: Iterable[str]) -> str:
    return "\n".join(lines).rstrip("\n") + "\n"


def _body(plan: Runbook, view: PrintedRunbook) -> Iterator[str]:
    yield from _head(plan)
    for hop in view.hops:
        yield from _hop(hop)


def _head(plan: Runbook) -> Iterator[str]:
    yield f"# Karpenter runbook of {text(plan.cluster.name)}"
    yield ""
    running = text(plan.cluster.karpenter_version or "unknown release")
    yield f"- From: {running}, objects: {STAGES[plan.cluster.stage]}"
    yield f"- To: {text(plan.target or 'none')}"
    yield f"- By: {text(path_line(hop.path_hop for hop in plan.hops) or nothing_left(plan))}"
    if plan.known_up_to:
        yield f"- Known: releases up to {text(str(plan.known_up_to))}"
    yield f"- Read: {text(plan.scanned_at)}{'' if plan.complete else ', only in part'}"
    yield from (f"- Note: {text(note)}" for note in plan.notes)
    yield ""


def _hop(view: HopView) -> Iterator[str]:
    hop, target = view.hop, view.hop.path_hop
    yield f"## {view.at}. Hop {target.name}: upgrade to {text(target.release)}"
    yield ""
    yield f"**{text(hop.next.safe)}.** Next: {text(hop.next.do)}"
    yield ""
    checks = f"; {settled_line(view.settled)}" if view.settled else ""
    yield f"- Now: {VERDICTS[hop.verdict]}, {hop.done_percent} % of checks passed or waived{checks}"
    yield from (f"- {text(line)}" for line in (*upgrade_lines(target), *done_earlier_lines(hop), *waived_lines(hop)))
    if view.forecast:
        yield f"- Forecast: {text(view.forecast)}"
    for values_view in view.values:
        yield f"- {text(values_view.about)}{f': the file `{values_view.file}`' if values_view.file else ''}"
    for question in view.questions:
        earlier = f", as at hop {question.earlier}" if question.earlier else ""
        yield f"- Not known{earlier}: {text(question.summary)} (`{question.checks}`)"
        yield from _commands(question.commands)
    yield ""
    for step in view.steps:
        yield from _step(step)
    yield ""


def _step(step: StepView) -> Iterator[str]:
    yield f"### {step.number} {text(stage_title(step.stage))}{step.of_parts}"
    for item in step.items:
        yield from _item(item)
    if step.commands or step.stage.part == "verify":
        yield f"- [ ] {text(step.stage.does)}"
        yield from _command_lines(step.commands, step.actions)
    if step.back:
        commands = " then ".join(f"`{line}`" for line in step.stage.back_commands)
        yield f"- Rollback from here: {text(step.back)}.{f' {commands}' if commands else ''}"
    for point in step.no_return:
        yield f"- **Point of no return.** {text(point.what)}. {text(point.back)}."


def _item(item: ItemView) -> Iterator[str]:
    yield f"- [ ] {item.status}, {item.severity}: **{text(item.summary)}** (`{item.checks}`)"
    yield from (f"  - {text(line)}" for line in item.evidence)
    yield from _command_lines(item.commands, item.actions)


def _command_lines(commands: Sequence[CommandView], actions: Iterable[str]) -> Iterator[str]:
    """Yields the commands in order; the actions of karpdash follow the last command that fits on one line."""
    blocks = [_command_block(group) for group in command_groups(commands)]
    own = ", ".join(f"`{action}`" for action in actions)
    if own:
        one_line_places = [place for place, lines in enumerate(blocks) if len(lines) == 1]
        if one_line_places:
            blocks[one_line_places[-1]] = (f"{blocks[one_line_places[-1]][0]}; or by karpdash: {own}",)
        else:
            blocks.insert(0, (f"  - by karpdash: {own}",))
    for lines in blocks:
        yield from lines


def _command_block(group: Sequence[CommandView]) -> tuple[str, ...]:
    """Returns one line, or a code block for a command of several lines."""
    first = group[0]
    if first.file:
        names = ", ".join(f"`{command_view.file}`" for command_view in group)
        return (f"  - by {first.how}: the file{'s' if len(group) > 1 else ''} {names}",)
    command = plain_lines(first.text)
    return (
        (f"  - by {first.how}: `{command}`",) if fits_a_line(command) else (f"  - by {first.how}:", *fence(first.text))
    )


def _commands(commands: Iterable[CommandView]) -> Iterator[str]:
    yield from _command_lines(tuple(commands), ())


def _files(files: Iterable[RunbookFile]) -> Iterator[str]:
    if files:
        yield "## Files"
        yield ""
    for file in files:
        yield f"### {file.name}"
        yield ""
        yield from fence(file.text)
        yield ""
