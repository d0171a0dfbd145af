"""Text for kubectl: complete shell lines for changes of objects, in the order of the changes."""

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import groupby, takewhile
from typing import Final

from msgspec.structs import replace

from migrations_app.checks.changes import (
    Change,
    ChangeGroup,
    ChangeTarget,
    NodeTaint,
    ObjectAnnotations,
    ObjectApply,
    ObjectDelete,
    ObjectLabels,
    ObjectPatch,
    Observation,
    PersonTask,
    QueryRename,
    leaves,
)
from migrations_app.checks.render.lines import comments, observed, piped, printed, task_lines
from migrations_app.checks.render.sources import OF_OBJECTS
from migrations_app.checks.shell import json_word, no_option, note, quoted, word, words
from migrations_app.manifests.patches import json_patch_of
from migrations_app.manifests.writer import text_of

MAX_NAMES_SHOWN: Final = 20
"""The most commands and names of one kind in a text; a comment gives the number of the others."""
NEUTRAL: Final = (Observation, PersonTask)
"""Steps that may stand between the commands of any program."""
_METRIC: Final = re.compile(r"[A-Za-z_:][\w:]*", re.ASCII)
"""The name of a Prometheus metric."""


def text(change: Change) -> str:
    """The lines; empty if a part of the change is not for kubectl."""
    steps = [leave for leave in leaves(change) if isinstance(leave, (*OF_OBJECTS, *NEUTRAL))]
    if len(steps) < sum(1 for _ in leaves(change)) or any(_of_aws(step) for step in steps if isinstance(step, NEUTRAL)):
        return ""
    return "\n".join(_lines(change))


def _of_aws(change: Observation | PersonTask) -> bool:
    if isinstance(change, PersonTask):
        return change.aws
    return any(stage[0] == "aws" for stage in change.pipe)


def _lines(change: Change) -> Iterator[str]:
    if isinstance(change, ChangeGroup):
        yield from comments(change.notes)
        for key, steps in _runs(change.steps):
            if key is None:
                for step in steps:
                    yield from _lines(step)
            else:
                yield from _group_lines(steps)
    else:
        yield from comments(change.notes)
        yield from _command([change])


def _runs(steps: Sequence[Change]) -> Iterator[tuple[Hashable | None, list[Change]]]:
    """The steps in their order, with those that follow each other and are alike together; tasks with a pipe only read,
    so that all of one kind stand together, at the place of the first."""
    reading: dict[Hashable, list[Change]] = {}
    for step in steps:
        if isinstance(step, PersonTask) and step.pipe and (key := _group_key(step)):
            reading.setdefault(key, []).append(step)
    for key, run in groupby(steps, key=_group_key):
        if key not in reading:
            yield key, list(run)
        elif together := reading[key]:
            reading[key] = []
            yield key, together


def _group_lines(steps: Sequence[Change]) -> Iterator[str]:
    """The lines for equal changes of several objects: comments once, and one command if kubectl accepts several
    names."""
    yield from comments(steps[0].notes)
    distinct_steps = list(dict.fromkeys(steps))
    first = steps[0]
    alone = isinstance(first, ObjectDelete) and first.alone
    piped_task = isinstance(first, PersonTask) and bool(first.pipe)
    if piped_task or (isinstance(first, ObjectDelete | ObjectLabels | ObjectAnnotations) and not alone):
        yield from _command(distinct_steps[:MAX_NAMES_SHOWN])
    else:
        yield from dict.fromkeys(line for step in distinct_steps[:MAX_NAMES_SHOWN] for line in _command([step]))
    if len(distinct_steps) > MAX_NAMES_SHOWN:
        yield note(f"and {len(distinct_steps) - MAX_NAMES_SHOWN} more, in the same way")


def _group_key(step: Change) -> Hashable | None:
    """A key that is equal for changes that can share a command; None for changes that cannot."""
    match step:
        case ObjectDelete():
            return "delete", _without_name(step.target), step.propagation, step.alone, step.guard, step.notes
        case ObjectLabels() | ObjectAnnotations():
            guard = step.guard if isinstance(step, ObjectAnnotations) else ()
            marks = tuple(sorted(step.given.items())), step.removed
            return type(step), _without_name(step.target), marks, guard, step.notes
        case ObjectPatch():
            return "patch", _without_name(step.target), step.subresource, step.notes
        case NodeTaint():
            return "taint", step.notes
        case QueryRename():
            return "rename", step.notes
        case PersonTask() if step.target is not None:
            return "task", _without_name(step.target), step.notes, _pipe_of(step, names=())
    return None


def _without_name(target: ChangeTarget) -> ChangeTarget:
    return replace(target, name="")


def _command(steps: Sequence[Change]) -> Iterator[str]:
    """The command of one change, or of several that differ only in the object's name."""
    first = steps[0]
    match first:
        case ObjectPatch():
            sub = f" --subresource={word(first.subresource)}" if first.subresource else ""
            command = f"{_command_head('patch', first.target)}{sub} {_patch_words(first)}"
            yield _guarded(command, first.guard, not_done=f"not patched: {_objects(steps)}")
        case ObjectApply():
            yield from printed(text_of(first.manifest))
            yield "  | kubectl apply -f -"
        case ObjectDelete():
            cascade = f" --cascade={first.propagation}" if first.propagation != "background" else ""
            command = f"{_command_head('delete', first.target, names=_names(steps))}{cascade}"
            yield _guarded(command, first.guard, not_done=f"not deleted: {_objects(steps)}")
        case ObjectLabels() | ObjectAnnotations():
            verb = "label" if isinstance(first, ObjectLabels) else "annotate"
            guard = first.guard if isinstance(first, ObjectAnnotations) else ()
            more = " --overwrite" if first.given else ""
            head = _command_head(verb, first.target, names=_names(steps))
            command = f"{head} {_marks(first.given, first.removed)}{more}"
            yield _guarded(command, guard, not_done=f"not annotated: {_objects(steps)}")
        case NodeTaint():
            yield f"kubectl taint node {word(first.target.name)} {_taint(first)}"
        case QueryRename():
            yield from _rename_command(first)
        case _:
            yield from _without_change(first, steps)


def _patch_words(change: ObjectPatch) -> str:
    """The type and the body. A merge patch whose fields were seen becomes a JSON patch that tests them: it would
    replace what somebody wrote there since."""
    if not isinstance(change.body, dict):
        return f"--type=json -p {json_word(change.body)}"
    if change.seen is None:
        return f"--type=merge -p {json_word(change.body)}"
    return f"--type=json -p {json_word(json_patch_of(change.body, change.seen))}"


def _guarded(command: str, guard: Sequence[tuple[str, ...]], *, not_done: str) -> str:
    """A line that runs the command only if the last of these programs succeeds, and else says on stderr what was not
    done and what to look at, and fails. The command alone without any.

    Not `guard && command`: under `set -e` a script goes on behind it when the guard fails. Not `exit`: it closes the
    shell that the line was pasted into.
    """
    if not guard:
        return command
    look = " ".join(takewhile(lambda each: not each.startswith("-"), guard[0]))
    said = quoted(f"{not_done}; look first at: {look}")
    return f"if {piped(guard)}; then {command}; else echo {said} >&2; false; fi"


def _objects(steps: Sequence[Change]) -> str:
    targets = [step.target for step in steps if step.target is not None]
    return " ".join((targets[0].resource or targets[0].kind.lower(), *(target.name for target in targets)))


def _pipe_of(task: PersonTask, *, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The pipe of the task with these names in place of that of its object; unchanged if another of its words, or
    none, is that name."""
    own, given = no_option(task.target.name) if task.target is not None else "", tuple(map(no_option, names))
    if sum(stage.count(own) for stage in task.pipe) != 1:
        return task.pipe
    return tuple(tuple(each for one in stage for each in (given if one == own else (one,))) for stage in task.pipe)


def _without_change(first: Change, steps: Sequence[Change]) -> Iterator[str]:
    match first:
        case Observation():
            yield observed(first)
        case PersonTask() if first.pipe:
            yield piped(_pipe_of(first, names=[step.target.name for step in steps if step.target is not None]))
        case PersonTask() if first.target is not None and first.target.resource:
            yield f"{_command_head('edit', first.target)}  {note(' '.join(first.what.split()))}"
        case PersonTask():
            yield from task_lines(first)


def _rename_command(change: QueryRename) -> Iterator[str]:
    """Commands that read the object, rename the metrics and write it back; nothing if no pair consists of two valid
    metric names."""
    pairs = [pair for pair in change.names.items() if all(map(_METRIC.fullmatch, pair))]
    script = "; ".join(f"s/\\b{old}\\b/{new}/g" for old, new in pairs)
    if script:
        yield f"{_command_head('get', change.target)} -o yaml | sed -E {word(script)} | kubectl replace -f -"


def _names(steps: Sequence[Change]) -> str:
    return words(step.target.name for step in steps if step.target is not None)


def _command_head(verb: str, target: ChangeTarget, *, names: str = "") -> str:
    """The command up to and including the names of the objects."""
    home = f" -n {word(target.namespace)}" if target.namespace else ""
    return f"kubectl{home} {verb} {word(target.resource or target.kind.lower())} {names or word(target.name)}"


def _marks(values: Mapping[str, str], removed: Sequence[str]) -> str:
    return words((*(f"{key}={value}" for key, value in values.items()), *(f"{key}-" for key in removed)))


def _taint(change: NodeTaint) -> str:
    effect = f":{change.effect}" if change.effect else ""
    if change.removed:
        return word(f"{change.key}{effect}-")
    return f"{word(f'{change.key}={change.value}{effect}')} --overwrite"
