"""500 readers of 20 rollouts that real workers carry out meanwhile: how many answers of which status, and how fast.

`python -m tests.bench.bench_crowd [READERS [ROLLOUTS [SECONDS]]]`. Web server (gunicorn, two processes), action workers
and beat are those that are shipped, on PostgreSQL and Redis; every rollout writes into a real kube-apiserver. A reader
has a session, opens the page of a rollout and then asks for its live part as `static/js/rollout.js` does.
"""

import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from karpdash.processes import datadir
from tests.bench.bench_readers import AFTER_CHANGE, AFTER_NONE, asked, cookies_of, ended, served
from tests.bench.measure import ROOT, FailedError
from tests.installations.installation import kill_all
from tests.installations.running import bare_environment
from tests.servers.apiserver import ApiServer
from tests.servers.postgres import Postgres
from tests.servers.processes import Child, discard, folder
from tests.servers.redis_server import RedisServer
from tests.servers.waiting import eventually

READERS, ROLLOUTS, SECONDS = 500, 20, 120.0
STEPS = 600
"""Of each rollout: more than it takes in the time of the measurement, so that all of them run to its end."""
NO_ANSWER = "none"
GOOD = {"200", "304"}
MOVING = """
    SELECT count(DISTINCT rollout_id), count(*) FROM migrations_app_attempt
    WHERE outcome_at >= to_timestamp(%s) AND outcome_at < to_timestamp(%s)
"""
RUNNING = "SELECT count(*) FROM migrations_app_rollout WHERE state = 'running'"


@dataclass(frozen=True, slots=True)
class Crowd:
    """`running` is the lowest number of rollouts that ran at any look; `moved` are those with a line of the journal
    in the time of the measurement, `lines` all their lines.
    """

    readers: int
    rollouts: int
    answers: dict[str, int]
    answered: int
    seconds: tuple[float, ...]
    running: int
    moved: int
    lines: int


@dataclass(slots=True)
class Heard:
    """What the readers were answered: how often which status, how long each answer took, and who had one."""

    answers: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)


def verdicts(found: Crowd) -> Iterator[tuple[bool, str]]:
    """Each target: reached or not, and the sentence with the figure."""
    by_status = ", ".join(f"{count} of {status}" for status, count in sorted(found.answers.items()))
    wrong = sum(count for status, count in found.answers.items() if status not in GOOD)
    yield not wrong and bool(found.answers), f"{found.readers} readers, answers by status: {by_status or 'none'}"
    late = statistics.quantiles(found.seconds, n=20)[-1] if len(found.seconds) > 1 else float("inf")
    said = f"{found.answered} of {found.readers} readers were answered, within {late:.2f} s at 95 %"
    yield found.answered == found.readers, said
    said = f"{found.running} of {found.rollouts} rollouts ran all the time, {found.moved} moved on"
    yield found.running == found.moved == found.rollouts, f"{said}, with {found.lines} lines of their journals"


def measured(readers: int = READERS, rollouts: int = ROLLOUTS, seconds: float = SECONDS) -> Crowd:
    """The figures of a new installation."""
    place = folder("crowd")
    with ExitStack() as stack:
        stack.callback(discard, place)
        server, broker, database = ApiServer(audit=False, progress_seconds=1), RedisServer(), Postgres()
        for one in (server, broker, database):
            stack.callback(one.stop)
        env = _environment(place, database_url=database.url, broker_url=broker.url, rollouts=rollouts)
        (place / "kubeconfig").write_text(server.kubeconfig(server.admin_token))
        scene = _told(env, place, readers=readers, rollouts=rollouts)
        for lane in ("action", "beat"):
            command = [sys.executable, "-m", "karpdash.command", "worker", lane]
            stack.callback(kill_all, Child(command, log=place / f"{lane}.log", env=env))
        port, _pid = stack.enter_context(served(env))
        since = time.time()
        eventually(lambda: _moving(database.url, since)[0] == rollouts, what="every rollout to move", seconds=120)
        watching = _watched(database.url, port, scene, rollouts=rollouts, seconds=seconds)
        with ThreadPoolExecutor(1) as beside:  # a browser's test may have left its own loop in this thread
            return beside.submit(asyncio.run, watching).result()


def _environment(place: Path, *, database_url: str, broker_url: str, rollouts: int) -> dict[str, str]:
    given = {"data_dir": str(datadir.prepare(place / "d")), "broker_url": broker_url, "database_url": database_url}
    given |= {"allow_loopback": "1", "sweep_interval": "1", "scan_interval": "0", "cancel_seconds": "0"}
    given |= {"action_slots": str(rollouts), "log_level": "WARNING"}
    return bare_environment(**given) | {"PYTHONPATH": str(ROOT), "DJANGO_SETTINGS_MODULE": "karpdash.settings"}


def _told(env: dict[str, str], place: Path, *, readers: int, rollouts: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.bench.bench_crowd", "scene", str(place), str(readers), str(rollouts)]
    done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise FailedError(f"the scene ended with {done.returncode}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


async def _watched(url: str, port: int, scene: dict[str, Any], *, rollouts: int, seconds: float) -> Crowd:
    await _serving(port)
    heard, since = Heard(), time.time()
    paths, cookies = scene["paths"], scene["cookies"]
    readers = [
        asyncio.create_task(_read(port, paths[which % len(paths)], cookie=cookie, which=which, heard=heard))
        for which, cookie in enumerate(cookies)
    ]
    running = rollouts
    while time.time() < since + seconds:
        await asyncio.sleep(1)
        running = min(running, await asyncio.to_thread(_running, url))
    await ended(readers)
    moved, lines = await asyncio.to_thread(_moving, url, since)
    return Crowd(
        len(cookies), rollouts, dict(heard.answers), len(heard.seen), tuple(heard.seconds), running, moved, lines
    )


async def _serving(port: int) -> None:
    while True:
        try:
            if (await asked(port, "/healthz", cookie="", tag=""))[0] == 200:
                return
        except OSError:
            await asyncio.sleep(0.2)


async def _read(port: int, path: str, *, cookie: str, which: int, heard: Heard) -> None:
    chance, tag, status = random.Random(which), "", 0
    await asyncio.sleep(chance.uniform(0, AFTER_NONE))
    target = path
    while True:
        began, pause = time.monotonic(), 0.0
        try:
            status, tag, pause = await asked(port, target, cookie=cookie, tag=tag)
        except (OSError, IndexError):  # refused, or ended before an answer
            heard.answers[NO_ANSWER] += 1
        else:
            heard.answers[str(status)] += 1
            heard.seconds.append(time.monotonic() - began)
            heard.seen.add(which)
        # The tag of the page is not that of its part.
        tag, target = (tag if target != path else ""), f"{path}live"
        await asyncio.sleep(max(pause, AFTER_CHANGE if status == 200 else AFTER_NONE))


def _running(url: str) -> int:
    with psycopg.connect(url) as connection:
        return int(connection.execute(RUNNING).fetchall()[0][0])


def _moving(url: str, since: float) -> tuple[int, int]:
    """How many rollouts have a line of the journal that ended since then, and how many such lines there are."""
    with psycopg.connect(url) as connection:
        rollouts, lines = connection.execute(MOVING, (since, time.time())).fetchall()[0]
    return int(rollouts), int(lines)


def _scene(kubeconfig: bytes, *, readers: int, rollouts: int) -> dict[str, Any]:
    """Running rollouts, each of a cluster of its own, which is always the same API server; people with a session."""
    from django.core.management import call_command

    call_command("migrate", interactive=False, verbosity=0)
    cookies = cookies_of(readers)
    return {"paths": [_rollout(kubeconfig, number) for number in range(rollouts)], "cookies": cookies}


def _rollout(kubeconfig: bytes, number: int) -> str:
    from django.contrib.auth.models import User

    from migrations_app.models.cluster import Cluster
    from migrations_app.use_cases.clusters.registration import Details, register_kubeconfig
    from migrations_app.use_cases.runtime.connections import connect_writer
    from tests.builders.rollouts import a_picture, a_plan, a_rollout
    from tests.use_cases.rollouts.building import creating

    cluster = Cluster.objects.get(pk=register_kubeconfig(kubeconfig, Details(name=f"crowd-{number:02}")))
    with connect_writer(cluster) as writer:
        identity = writer.identity()
    plan = a_plan(cluster, *(creating(f"made-{number}-{step}") for step in range(STEPS)), identity=identity)
    # A person whose right the worker finds again before each request.
    person = User.objects.earliest("pk")
    row = a_rollout(cluster, plan_value=plan, state="running", picture=a_picture(), author=person)
    return f"/rollouts/{row.pk}/"


def main(words: list[str]) -> int:
    """0 when every target is reached."""
    given = [int(word) for word in words]
    found = measured(*given)
    judged = list(verdicts(found))
    sys.stdout.write(f"load of one minute on {os.cpu_count()} cores at the end: {os.getloadavg()[0]:.0f}\n")
    for reached, said in judged:
        sys.stdout.write(f"- {'reached' if reached else 'MISSED'}: {said}\n")
    return int(not all(reached for reached, _ in judged))


if __name__ == "__main__":
    if sys.argv[1:2] == ["scene"]:
        import django

        django.setup()
        place, readers, rollouts = Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
        made = _scene((place / "kubeconfig").read_bytes(), readers=readers, rollouts=rollouts)
        sys.stdout.write(json.dumps(made) + "\n")
    else:
        sys.exit(main(sys.argv[1:]))
