"""The stage: an API server, approved rollouts, two workers, people, the requests on their way, and the time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import msgspec
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, transaction

from migrations_app.access import Person
from migrations_app.actions.changes import ObjectTarget
from migrations_app.actions.plan import Plan
from migrations_app.execution import steps
from migrations_app.models.rollout import Rollout
from migrations_app.twin.server import Twin
from migrations_app.use_cases.audit.log import Actor
from migrations_app.use_cases.rollouts import lease, worker
from tests.builders.rollouts import a_plan, a_rollout, an_approval
from tests.builders.rows import a_cluster
from tests.interleavings.actors import RELEASE, TRANSACTION, HaltedWorker, WorkerTime, halted
from tests.interleavings.moments import FrozenTime
from tests.interleavings.scenes import SCENES
from tests.interleavings.wire import LetterWriter, RequestLetter
from tests.twin.as_server import TwinAsServer
from tests.use_cases.people import ADMINISTER, APPROVE, OPERATE, actor, person, user
from tests.use_cases.rollouts.killing import step as step_of

QUICK: dict[str, Any] = {"cancel_seconds": 0, "encryption_keys": (("k", b"k" * 32),)}


class OrdersStage:
    """`effects` counts by rollout and step how often it took effect, `arrived` are the requests that did.

    `asked`: a start was asked for; `meddled`: somebody else wrote to the first object; `replaced`: they made it anew.
    """

    def __init__(self, scene: str) -> None:
        self.time = FrozenTime()
        self.time.install()
        self.twin = Twin(lambda: self.time.now, minor=28, collects=False)
        self.letters: list[RequestLetter] = []
        self.writer = LetterWriter(self.twin, self.letters)
        self.workers = (HaltedWorker("w1"), HaltedWorker("w2"))
        self.current: HaltedWorker | None = None
        self.effects: Counter[tuple[str, str]] = Counter()
        self.arrived: list[RequestLetter] = []
        self.asked = self.meddled = self.replaced = False
        self._install()
        server = TwinAsServer(self.twin)
        self.admin = server.admin
        self.cluster = a_cluster("shop")
        self.ada, self.eve = user("ada", OPERATE, APPROVE), user("eve", OPERATE, APPROVE, ADMINISTER)
        self.cleo, self.gil = user("cleo", APPROVE), user("gil", ADMINISTER)
        self.people: dict[str, Person] = {one.username: person(one) for one in self._users()}
        self.rows = [self._rollout(number, *verbs) for number, verbs in enumerate(SCENES[scene])]
        self.targets: list[ObjectTarget] = []
        for row in self.rows:
            plan = msgspec.json.decode(bytes(row.plan), type=Plan)
            self.targets += [step.change.target for step in plan.steps if step.change]

    def who(self, name: str) -> tuple[Person, Actor]:
        return self.people[name], actor(next(one for one in self._users() if one.username == name))

    def pass_by(self, seconds: float) -> None:
        """That much time passes, for everybody."""
        self.time.pass_by(seconds)
        for one in self.workers:
            one.seconds += seconds

    def _users(self) -> tuple[User, ...]:
        return self.ada, self.eve, self.cleo, self.gil

    def _rollout(self, number: int, *verbs: str) -> Rollout:
        server = TwinAsServer(self.twin)
        made = [step_of(server, verb, f"{verb}-{number}") for verb in verbs]
        with self._opened() as writer:
            plan = a_plan(self.cluster, *made, identity=writer.identity(), action="taint_and_drift")
        row = a_rollout(self.cluster, state="approved", author=self.ada, plan_value=plan)
        an_approval(row, self.cleo)
        an_approval(row, self.eve)
        return row

    @contextmanager
    def _opened(self, *_: object, **__: object) -> Iterator[LetterWriter]:
        yield self.writer

    def _install(self) -> None:
        """Everything of workers that would wait or go elsewhere; only for a process of its own."""
        settings.ENV = replace(settings.ENV, **QUICK)
        worker.connect_writer = self._opened  # the API server is the twin
        worker.renewed_lease = _not_renewed  # the thread that renews is an event here
        worker.time = steps.time = WorkerTime()  # nobody sleeps
        lease.release = _halting(lease.release, RELEASE)
        transaction.Atomic.__enter__ = _entered  # nothing comes between inside of one


@contextmanager
def _not_renewed(*_: object, **__: object) -> Iterator[None]:
    yield


def _halting(function: Callable[..., Any], at: str) -> Callable[..., Any]:
    def told(*arguments: Any, **more: Any) -> Any:
        halted(at)
        return function(*arguments, **more)

    return told


_enter = transaction.Atomic.__enter__


def _entered(self: transaction.Atomic) -> None:
    if not connection.in_atomic_block:
        halted(TRANSACTION)
    _enter(self)
