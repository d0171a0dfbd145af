"""What may happen next: by itself, and as an interruption. An event is a name; `perform` makes it happen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import OperationalError, transaction

from migrations_app.clients.kubernetes.api import WriteResult
from migrations_app.errors import Conflict, PermissionDenied, TimedOut
from migrations_app.use_cases.rollouts import kill_switch, lifecycle
from tests.interleavings.actors import IDENTITY, READ, TRANSACTION, WAITING, HaltedWorker
from tests.interleavings.picture import RowsPicture
from tests.interleavings.stage import OrdersStage
from tests.interleavings.wire import BUSY, FAILED, FORBIDDEN, RequestLetter

MINUTE, LONG = 75, 660
"""A lease and the time for an answer are over after the first; after the second a cluster counts as unreachable."""
ANSWERS: dict[str, WriteResult] = {"fails": FAILED, "asks to wait": BUSY, "forbids": FORBIDDEN}


def next_by_itself(stage: OrdersStage, now: RowsPicture) -> str:
    """What comes if nothing comes between; empty at rest."""
    working = [one for one in (stage.current, *stage.workers) if one is not None and one.working]
    if working:
        return f"{working[0].name} goes on"
    if not stage.asked and _place(now, "approved") >= 0:
        return f"ada starts {_place(now, 'approved')}"
    place = _place(now, "running")
    if place < 0:
        late = next((number for number, letter in enumerate(stage.letters) if letter.answer is None), -1)
        return f"request {late} arrives" if late >= 0 else ""
    held = now.lease is not None and now.lease.holder and now.lease.expires_at and now.lease.expires_at > stage.time.now
    if held or (stage.current is not None and stage.current.slept):
        return "a minute passes"
    return f"w1 begins {place}"


def interruptions(stage: OrdersStage, now: RowsPicture) -> Iterator[str]:
    """Everything else that may happen now."""
    expected = next_by_itself(stage, now)
    everything = (*_of_workers(stage, now), *_of_letters(stage), *_of_others(stage), *_of_people(now))
    yield from (name for name in everything if name != expected)


def _of_workers(stage: OrdersStage, now: RowsPicture) -> Iterator[str]:
    for one in stage.workers:
        if not one.working:
            yield from (
                f"{one.name} begins {place}" for place, row in enumerate(now.rollouts) if row.state == "running"
            )
            continue
        yield f"{one.name} goes on"
        yield f"{one.name} is killed"
        yield f"{one.name} is asked to stop"
        if one.at == TRANSACTION:
            yield f"the database fails {one.name}"
        if one.at in (READ, IDENTITY, WAITING):
            yield f"no answer reaches {one.name}"


def _of_letters(stage: OrdersStage) -> Iterator[str]:
    for place, letter in enumerate(stage.letters):
        if letter.answer is not None:
            continue
        yield f"request {place} arrives"
        if letter.sender.letter is letter:
            yield from (f"the server {answer} request {place}" for answer in ANSWERS)
            yield f"the server does request {place} and fails"


def _of_others(stage: OrdersStage) -> Iterator[str]:
    yield "a minute passes"
    yield "eleven minutes pass"
    if not stage.meddled:
        yield "somebody touches the object"
        yield "somebody changes the object"


def _of_people(now: RowsPicture) -> Iterator[str]:
    for place, _ in enumerate(now.rollouts):
        yield from (f"{verb} {place}" for verb in PEOPLE)
    yield from ("eve stops everything", "gil and eve lift it") if now.stopped else ("eve stops everything",)
    yield "the way to the cluster changes"
    yield "the sweep expires plans"


def perform(stage: OrdersStage, name: str) -> None:
    """Makes it happen. A person who is refused changes nothing."""
    words = name.split()
    worker = next((one for one in stage.workers if one.name in words), None)
    if words[:2] == ["a", "minute"]:
        _pass_by(stage, MINUTE)
    elif words[0] == "eleven":
        _pass_by(stage, LONG)
    elif "request" in words:
        _letter(stage, name, stage.letters[int(words[words.index("request") + 1])])
    elif worker is not None:
        stage.current = worker
        _worker(stage, name, worker)
    elif words[0] == "somebody":
        _meddle(stage, harmless=words[1] == "touches")
    else:
        _person(stage, name)


def is_undone(name: str) -> bool:
    """Whether `undone` takes the event back: it changes rows and times, or ends a worker."""
    return name.endswith("is killed") or not any(word in name for word in ("w1", "w2", "request", "somebody"))


@contextmanager
def undone(stage: OrdersStage) -> Iterator[None]:
    """Takes back what happens inside."""
    kept = stage.time.now, stage.asked, stage.current, [one.kept() for one in stage.workers]
    try:
        with transaction.atomic():
            yield
            transaction.set_rollback(True)
    finally:
        stage.time.now, stage.asked, stage.current, workers = kept
        for one, was in zip(stage.workers, workers, strict=True):
            one.restore(was)


def _pass_by(stage: OrdersStage, seconds: int) -> None:
    stage.pass_by(seconds)
    for one in stage.workers:
        one.slept = False


def _worker(stage: OrdersStage, name: str, worker: HaltedWorker) -> None:
    words = name.split()
    if words[1] == "begins":
        worker.begin(stage.rows[int(words[2])].pk)
    elif words[-1] == "killed":
        worker.die()
    elif words[-1] == "stop":
        worker.resume(SystemExit(0))
    elif words[1] == "database":
        worker.resume(OperationalError("the database is locked"))
    elif words[0] == "no":
        worker.resume(TimedOut("no answer in time"))
    elif worker.at == WAITING:
        letter: RequestLetter = worker.letter
        if letter.answer is None:
            _arrive(stage, letter)
        worker.resume(letter.answer)
    else:
        worker.resume()


def _letter(stage: OrdersStage, name: str, letter: RequestLetter) -> None:
    if name.endswith("arrives"):
        _arrive(stage, letter)
    elif name.endswith("and fails"):
        _arrive(stage, letter)
        letter.answer = FAILED
    else:
        letter.answer = next(answer for words, answer in ANSWERS.items() if words in name)


def _arrive(stage: OrdersStage, letter: RequestLetter) -> None:
    letter.answer = stage.writer.deliver(letter)
    if letter.answer.done:
        stage.effects[letter.rollout, letter.step] += 1
        stage.arrived.append(letter)


def _meddle(stage: OrdersStage, *, harmless: bool) -> None:
    """Somebody else writes to the first object: a field that does not matter, or deletes and makes it anew."""
    stage.meddled = True
    read = stage.writer.now(stage.targets[0])
    if read is None:
        return
    path = stage.targets[0].path
    if harmless:
        stage.admin.patch(path, {"metadata": {"annotations": {"seen": "yes"}}})
        return
    stage.admin.delete(path)
    kept = {name: read["metadata"][name] for name in ("name", "namespace") if name in read["metadata"]}
    stage.admin.create(dict(read) | {"metadata": kept})
    stage.replaced = True


def _start(stage: OrdersStage, place: int) -> None:
    person, by = stage.who("ada")
    row = stage.rows[place]
    stage.asked = True
    lifecycle.start(row.pk, person, digest=row.digest, by=by)


def _pause(stage: OrdersStage, place: int) -> None:
    person, by = stage.who("eve")
    lifecycle.pause(stage.rows[place].pk, person, by=by)


def _abort(stage: OrdersStage, place: int) -> None:
    person, by = stage.who("eve")
    lifecycle.abort(stage.rows[place].pk, person, by=by)


def _resume(stage: OrdersStage, place: int) -> None:
    person, by = stage.who("ada")
    lifecycle.resume(stage.rows[place].pk, person, by=by)


def _resolved(then: str) -> Callable[[OrdersStage, int], None]:
    def resolve(stage: OrdersStage, place: int) -> None:
        person, by = stage.who("gil")
        lifecycle.resolve_by_person(stage.rows[place].pk, person, then=then, reason="seen", by=by)

    return resolve


PEOPLE: dict[str, Callable[[OrdersStage, int], None]] = {
    "ada starts": _start,
    "eve pauses": _pause,
    "eve aborts": _abort,
    "ada resumes": _resume,
    "gil settles as paused": _resolved("paused"),
    "gil settles as failed": _resolved("failed"),
    "gil settles as aborted": _resolved("aborted"),
}


def _person(stage: OrdersStage, name: str) -> None:
    verb, _, place = name.rpartition(" ")
    try:
        if verb in PEOPLE:
            PEOPLE[verb](stage, int(place))
        elif name == "eve stops everything":
            person, by = stage.who("eve")
            kill_switch.stop_everything(person, why="seen", by=by)
        elif name == "gil and eve lift it":
            for step, who in ((kill_switch.ask_to_lift, "gil"), (kill_switch.turn_off, "eve")):
                person, by = stage.who(who)
                step(person, by=by)
        elif name == "the sweep expires plans":
            lifecycle.expire_old_plans()
        elif name == "the way to the cluster changes":
            lifecycle.void_plans(stage.cluster.pk)
        else:
            raise LookupError(name)
    except (Conflict, PermissionDenied):
        return


def _place(now: RowsPicture, state: str) -> int:
    return next((place for place, row in enumerate(now.rollouts) if row.state == state), -1)
