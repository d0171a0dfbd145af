"""Steps -> the same steps tied to what they rest on, and what the server itself says of each (A02, A26, A27)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from migrations_app.actions.changes import Change, Need, Target
from migrations_app.actions.conditions import Tree, all_hold, projected, value_at
from migrations_app.actions.plan import Plan, Step
from migrations_app.actions.sending import Tie, marks
from migrations_app.clients.writer import Sent, Writer
from migrations_app.errors import BadInput

LATER = "rests on what an earlier step brings, so no dry run can prove it now"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proven:
    """`read` are the objects by target; `doubts` what the dry run said of each step that it did not prove; `diffs` the
    object before and as the server would store it."""

    steps: tuple[Step, ...]
    read: dict[Target, Tree]
    doubts: dict[str, str]
    diffs: dict[str, tuple[Tree | None, Tree | None]]


def refuse_missing_rights(writer: Writer, asked: Iterable[tuple[Need, str]]) -> None:
    """Raises BadInput (code `missing_rights`) with the rules to add, when the server says no to any of them.

    `asked` are rights with the name of the object; a rule may hold for named objects only.
    """
    names: dict[Need, list[str]] = {}
    for need, name in asked:
        names.setdefault(need, []).append(name)
    missing = [need.rule for need in sorted(names) if not _allowed(writer, need, names=names[need])]
    if missing:
        raise BadInput("missing rules: " + " ".join(f"- {rule}" for rule in missing), code="missing_rights")


def _allowed(writer: Writer, need: Need, *, names: list[str]) -> bool:
    if writer.may(need):
        return True
    return need.verb != "create" and all(writer.may(need, name=name) for name in names)


def to_read(targets: Iterable[Target]) -> Iterator[tuple[Need, str]]:
    """The rights to read those objects."""
    return ((Need(verb="get", group=one.group, plural=one.plural), one.name) for one in targets)


def to_carry_out(plan: Plan) -> Iterator[tuple[Need, str]]:
    """The rights that the plan's requests, their undoing and the readings before them ask for."""
    changes = [change for step in plan.steps for change in (step.change, step.undo) if change]
    yield from to_read(change.target for change in changes)
    yield from ((change.need, change.target.name) for change in changes)


def prove(writer: Writer, steps: tuple[Step, ...]) -> Proven:
    """Reads every target, ties every step to it, and sends every request as a dry run.

    Raises BadInput (code `refused`) when the server would refuse a step that rests on nothing before it.
    """
    read: dict[Target, Tree] = {}
    tied, doubts, diffs = [], {}, {}
    touched: set[str] = set()
    for step in steps:
        change = step.change
        if change is None:
            tied.append(step)
            continue
        found = writer.read(change.target)
        if found is not None:
            read[change.target] = found
        again = change.target.path in touched
        tied.append(_tied(step, found, again=again))
        if again or _waits(change, touched):
            doubts[step.id] = LATER
        else:
            diffs[step.id] = (found, _dry(writer, step, found=found, doubts=doubts))
        touched.add(change.target.path)
    return Proven(steps=tuple(tied), read=read, doubts=doubts, diffs=diffs)


def _tied(step: Step, found: Tree | None, *, again: bool) -> Step:
    """The step with the digest of what it rests on. One that was worked out from an older reading is refused: what
    somebody wrote in between would be lost. A step after another on the same object keeps what it was planned from."""
    change = step.change
    if change is None:
        return step
    uid = str(value_at(found, ("metadata", "uid")) or "")
    if change.target.uid and change.target.uid != uid:
        raise BadInput(f"{change.target.said} was made anew meanwhile", code="changed")
    now = projected(found, step.rests_on)
    if not step.digest:
        return msgspec.structs.replace(step, digest=now)
    if step.digest != now and not again:
        raise BadInput(f"{change.target.said} was changed while the plan was made; try again", code="changed")
    return step


def _waits(change: Change, touched: set[str]) -> bool:
    """Whether an earlier step brings what the server needs for this one: the CRD of its kind."""
    crd = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{change.target.plural}.{change.target.group}"
    return crd in touched


def _dry(writer: Writer, step: Step, *, found: Tree | None, doubts: dict[str, str]) -> Tree | None:
    change = step.change
    if change is None or all_hold(step.brings, found, uid=change.target.uid):
        return found
    told = writer.dry_run(change, Tie.to(found), own=marks("preview", "preview"))
    if told.done:
        return told.object
    if _unsupported(told):
        doubts[step.id] = f"not provable: {told.message}"
        return None
    if told.conflicts:
        raise BadInput(f"{step.title}: fields are kept by {', '.join(told.conflicts)}", code="field_conflict")
    raise BadInput(f"{step.title}: {told.message or told.reason} (HTTP {told.status})", code="refused")


def _unsupported(told: Sent) -> bool:
    """A webhook that has side effects cannot be asked in a dry run; the server says so itself."""
    return told.status == 400 and "dry run" in told.message.lower().replace("dryrun", "dry run").replace("-", " ")
