"""Lets two people start rollouts at the same moment, each in a process of their own; a round ends when both have an
answer.
"""

import json
import multiprocessing
import os
import uuid
from datetime import timedelta
from typing import Any

STARTERS = 2
FIRST = 9000
"""The key of the first starter's account."""


def pairs(count: int, *, same: bool) -> list[list[str]]:
    """Returns for each round the rollout that each starter starts: the same one, or two on one cluster. All are
    approved.
    """
    from django.contrib.auth.models import User

    from migrations_app.models.cluster import Cluster

    for number in range(STARTERS):
        name = f"starter-{number}"
        User.objects.get_or_create(username=name, defaults={"pk": FIRST + number, "is_superuser": True})
    found = []
    for _ in range(count):
        cluster = Cluster.objects.create(name=f"race-{uuid.uuid4().hex}", source="in_cluster")
        first = _approved(cluster)
        found.append([first, first if same else _approved(cluster)])
    return found


def race(rounds: list[list[str]]) -> list[list[str]]:
    """Returns the answer to each starter in each round: `won`, or the code and words of the refusal."""
    from django.db import connections

    connections.close_all()
    barrier = multiprocessing.get_context("fork").Barrier(STARTERS)
    ends = [_starter(number, rounds, barrier) for number in range(STARTERS)]
    told = []
    for pid, end in ends:
        with os.fdopen(end) as answers:
            told.append(json.load(answers))
        os.waitpid(pid, 0)
    return [list(one) for one in zip(*told, strict=True)]


def _approved(cluster: Any) -> str:
    from django.utils import timezone

    from migrations_app.models.rollout import Rollout

    now = timezone.now()
    row = Rollout.objects.create(
        cluster=cluster, cluster_name=cluster.name, action="test", title="Test", risk="low", digest="d" * 64,
        state="approved", author_name="ada", made_at=now, expires_at=now + timedelta(hours=4),
    )  # fmt: skip
    return str(row.pk)


def _starter(number: int, rounds: list[list[str]], barrier: Any) -> tuple[int, int]:
    """Returns (process id, file descriptor of its answers)."""
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        return pid, read
    try:
        answers = [_started(rows[number], number, barrier) for rows in rounds]
        with os.fdopen(write, "w") as out:
            json.dump(answers, out)
    finally:
        os._exit(0)


def _started(row: str, number: int, barrier: Any) -> str:
    from migrations_app.access import Person, Right
    from migrations_app.errors import Conflict
    from migrations_app.use_cases.audit.log import Actor
    from migrations_app.use_cases.rollouts import lifecycle

    name = f"starter-{number}"
    rights: list[Right] = ["operate"]
    person = Person(id=FIRST + number, name=name, rights=rights)
    barrier.wait(60)
    try:
        lifecycle.start(uuid.UUID(row), person, digest="d" * 64, by=Actor(name=name))
    except Conflict as lost:
        return f"{lost.code}: {lost.message}"
    return "won"
