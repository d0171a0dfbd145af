"""What holds in every state, in words, and how each is told from the rows, the cluster and the requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from migrations_app.use_cases.rollouts import worker
from tests.interleavings.events import perform
from tests.interleavings.picture import UNKNOWN, RowsPicture, picture_of
from tests.interleavings.stage import OrdersStage

ENDED = ("succeeded", "failed", "aborted")
HOLDS = ("running", "paused", "needs_attention")
OWN_LINES = ("gate", "skip")
TWICE = "no step takes effect twice"
NO_INTENT = "nothing takes effect without an intent and its audit event"
STALE = "only the holder of the lease writes to the journal or moves the rollout"
OPEN = "no request is prepared while an earlier one of the step is open"
STOPPED = "no request is prepared after a stop, under the kill switch, or outside of running"
FINAL = "what has ended stays as it ended"
UNTOLD = "each change of state has one audit event"
TWO_HOLD = "at most one rollout holds the cluster"
STRANDED = "a running rollout without a worker is found by the sweep"
UNSCANNED = "a rollout that ends asks for a scan"
CRASH = "no worker ends with an unexpected error"
UNKNOWN_EFFECT = "of a rollout that succeeded the journal tells what took effect, and nothing else"
DENIED = "of a rollout that stopped no effect is denied by the journal"
RESTLESS = "it comes to rest"


class InvariantCheck:
    """Makes events happen and compares what was with what is. `picture` is what is."""

    def __init__(self, stage: OrdersStage) -> None:
        self._stage = stage
        self.picture = picture_of(stage)

    def after(self, event: str) -> str:
        """The first invariant that does not hold after the event; empty if all do."""
        broken, self.picture = self.tried(event)
        return broken

    def tried(self, event: str) -> tuple[str, RowsPicture]:
        """The same, with what is after the event; `picture` stays what was before it."""
        arrived = len(self._stage.arrived)
        perform(self._stage, event)
        now = picture_of(self._stage)
        scene = _Scene(self._stage, event, self.picture, now, arrived)
        return next((words for words, holds in INVARIANTS.items() if not holds(scene)), ""), now

    def at_rest(self) -> str:
        """The same when nothing comes by itself any more."""
        scene = _Scene(self._stage, "", self.picture, self.picture, len(self._stage.arrived))
        return next((words for words, holds in AT_REST.items() if not holds(scene)), "")


class _Scene:
    """One event: the rows before and after it."""

    def __init__(self, stage: OrdersStage, event: str, before: RowsPicture, now: RowsPicture, arrived: int) -> None:
        self.stage, self.before, self.now = stage, before, now
        self.worker = next((one for one in stage.workers if one.name in event.split()), None)
        self.fresh = stage.arrived[arrived:]
        self.added = now.attempts[len(before.attempts) :]
        self.judged = [
            one for old, one in zip(before.attempts, now.attempts, strict=False) if old.outcome != one.outcome
        ]
        self.moved = [
            (old, one)
            for old, one in zip(before.rollouts, now.rollouts, strict=True)
            if (old.state, old.version) != (one.state, one.version)
        ]
        self.intents = [one for one in self.added if one.verb not in OWN_LINES and one.outcome == ""]


def _once(scene: _Scene) -> bool:
    return all(count == 1 for count in scene.stage.effects.values())


def _intended(scene: _Scene) -> bool:
    lines = {(str(one.rollout_id), one.step, one.number) for one in scene.now.attempts}
    told = {words[1:] for words in scene.now.told if words[0] == "step.intent"}
    sent = [(one.rollout, one.step, one.number) for one in scene.fresh]
    return all(one in lines and one in told for one in sent)


def _fenced(scene: _Scene) -> bool:
    """Whoever wrote had the lease before it wrote, and nobody has a newer one."""
    if scene.worker is None or not (scene.added or scene.judged or scene.moved):
        return True
    held, now = scene.before.lease, scene.now.lease
    if held is None or now is None or held.holder != scene.worker.name or held.token != now.token:
        return False
    lasts = held.expires_at is not None and held.expires_at > scene.stage.time.now
    return lasts and all(one.fence == held.token for one in scene.added)


def _settled_first(scene: _Scene) -> bool:
    opened = Counter((one.rollout_id, one.step) for one in scene.now.attempts if one.outcome in UNKNOWN)
    return all(opened[one.rollout_id, one.step] == 1 for one in scene.intents)


def _stopped(scene: _Scene) -> bool:
    rows = {row.pk: row for row in scene.now.rollouts}
    wanted = [rows[one.rollout_id] for one in scene.intents]
    return not (scene.intents and scene.now.stopped) and all(
        row.state == "running" and row.stop_request == "" for row in wanted
    )


def _final(scene: _Scene) -> bool:
    return all(old.state not in ENDED for old, _ in scene.moved)


def _told(scene: _Scene) -> bool:
    told = Counter(row[1] for row in scene.now.told if row[0].startswith("rollout.") and not row[0].endswith("_asked"))
    grown = {row.pk: row.version for row in scene.now.rollouts}
    return all(told[str(pk)] == version - 1 for pk, version in grown.items())


def _one_holds(scene: _Scene) -> bool:
    return sum(row.state in HOLDS for row in scene.now.rollouts) <= 1


def _found(scene: _Scene) -> bool:
    held = scene.now.lease
    lasts = held is not None and held.holder and held.expires_at and held.expires_at > scene.stage.time.now
    running = {row.pk for row in scene.now.rollouts if row.state == "running"}
    return bool(lasts) or running <= {pk for pk, _ in worker.rollouts_to_enqueue()}


def _scanned(scene: _Scene) -> bool:
    ended = [one for _, one in scene.moved if one.state in ENDED and one.started_at]
    return not ended or scene.now.scans > 0


def _orderly(scene: _Scene) -> bool:
    return not any(one.wrong for one in scene.stage.workers)


def _known(scene: _Scene) -> bool:
    """Of what has succeeded: each step is told, what is told as applied took effect, and the other way round."""
    for _, row in scene.moved:
        if row.state != "succeeded":
            continue
        lines = [one for one in scene.now.attempts if one.rollout_id == row.pk]
        for step in {one.step for one in lines}:
            applied = any(one.outcome == "applied" for one in lines if one.step == step)
            if applied != bool(scene.stage.effects[str(row.pk), step]):
                return False
    return True


def _in_journal(scene: _Scene) -> bool:
    """Of what has ended otherwise: an effect is told as applied, or its request as given up while it may arrive."""
    for _, row in scene.moved:
        if row.state not in ("aborted", "failed", "paused"):
            continue
        for rollout, step in scene.stage.effects:
            lines = [one for one in scene.now.attempts if str(one.rollout_id) == rollout == str(row.pk)]
            own = [one.outcome for one in lines if one.step == step]
            if own and not {"applied", "not_applied", "changed_by_other", *UNKNOWN} & set(own):
                return False
    return True


INVARIANTS: dict[str, Callable[[_Scene], bool]] = {
    TWICE: _once,
    NO_INTENT: _intended,
    STALE: _fenced,
    OPEN: _settled_first,
    STOPPED: _stopped,
    FINAL: _final,
    UNTOLD: _told,
    TWO_HOLD: _one_holds,
    STRANDED: _found,
    UNSCANNED: _scanned,
    CRASH: _orderly,
    UNKNOWN_EFFECT: _known,
    DENIED: _in_journal,
}


def _nobody_works(scene: _Scene) -> bool:
    return all(row.state != "running" for row in scene.now.rollouts)


AT_REST: dict[str, Callable[[_Scene], bool]] = {RESTLESS: _nobody_works}
