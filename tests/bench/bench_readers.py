"""What 200 readers of one run cost the web server: CPU of its processes while nothing changes, and while much does.

`python -m tests.bench.bench_readers`. The server is the one that is shipped (gunicorn, two processes); each reader has
a session and asks as `static/js/rollout.js` does: two seconds after a change, four seconds after none,
and later where the answer says so.
"""

import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from karpdash.processes import datadir
from tests.bench.measure import ROOT, FailedError
from tests.installations.running import bare_environment
from tests.servers.processes import free_port

READERS = 200
WANTED_PERCENT = 20.0
SECONDS = 30.0
CHANGE_EVERY = 2.0
AFTER_CHANGE, AFTER_NONE = 2.0, 4.0
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Scene:
    """A run that people watch, and the cookie of each of them."""

    path: str
    cookies: list[str]


@dataclass(slots=True)
class Tally:
    """What the readers were answered."""

    changed: int = 0
    unchanged: int = 0
    others: int = 0
    seen: set[int] = field(default_factory=set)
    """The readers who had an answer."""


def main() -> int:
    """0 when the readers cost less than is wanted in both cases."""
    missed = 0
    for every, what in ((0.0, "nothing changes"), (CHANGE_EVERY, f"something changes every {CHANGE_EVERY:.0f} s")):
        percent, tally = asyncio.run(_measured(every))
        answers = f"{tally.changed} answers with the part, {tally.unchanged} without"
        said = f"{READERS} readers while {what}: {percent:.1f} % of a core (below {WANTED_PERCENT:.0f}), {answers}"
        missed += percent >= WANTED_PERCENT
        sys.stdout.write(f"- {'MISSED' if percent >= WANTED_PERCENT else 'reached'}: {said}\n")
    return int(missed > 0)


async def _measured(every: float) -> tuple[float, Tally]:
    with tempfile.TemporaryDirectory(prefix="kp-") as name:
        settings = {"data_dir": str(datadir.prepare(Path(name) / "d")), "log_level": "INFO"}
        env = bare_environment(**settings) | {"PYTHONPATH": str(ROOT), "DJANGO_SETTINGS_MODULE": "karpdash.settings"}
        made = await asyncio.to_thread(_told, env, "scene")
        scene = Scene(**json.loads(made.splitlines()[-1]))
        with served(env) as (port, pid):
            tally = Tally()
            readers = [asyncio.create_task(_read(port, scene, which=which, tally=tally)) for which in range(READERS)]
            mover = None
            if every:
                command = [sys.executable, "-m", "tests.bench.bench_readers", "move", scene.path, str(every)]
                mover = subprocess.Popen(command, cwd=ROOT, env=env)
            while len(tally.seen) < READERS:
                await asyncio.sleep(1)
            tally.changed = tally.unchanged = 0
            before = _cpu_of(pid)
            await asyncio.sleep(SECONDS)
            percent = 100 * (_cpu_of(pid) - before) / SECONDS
            found = Tally(tally.changed, tally.unchanged, tally.others)
            await ended(readers)
            if mover:
                mover.terminate()
                mover.wait()
    if found.others:
        raise FailedError(f"{found.others} answers were neither 200 nor 304")
    return percent, found


def _told(env: dict[str, str], *words: str) -> str:
    command = [sys.executable, "-m", "tests.bench.bench_readers", *words]
    quiet = env | {"KARPDASH_LOG_LEVEL": "ERROR"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise FailedError(f"{words[0]} ended with {done.returncode}")
    return done.stdout


@contextmanager
def served(env: dict[str, str]) -> Iterator[tuple[int, int]]:
    """The port and the process id of a web server as it is shipped."""
    port = free_port()
    words = ["--bind", f"127.0.0.1:{port}", "--worker-class", "gthread", "--workers", "2", "--threads", "8"]
    command = [sys.executable, "-m", "gunicorn", "karpdash.wsgi", *words, "--no-control-socket"]
    server = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield port, server.pid
    finally:
        server.terminate()
        server.wait()


async def ended(readers: list[asyncio.Task[None]]) -> None:
    """Cancels the readers, and returns when each has closed its connection."""
    for task in readers:
        task.cancel()
    await asyncio.gather(*readers, return_exceptions=True)
    await asyncio.sleep(0)  # the loop closes the sockets in its next round


async def _read(port: int, scene: Scene, *, which: int, tally: Tally) -> None:
    tag, chance = "", random.Random(which)
    await asyncio.sleep(chance.uniform(0, AFTER_NONE))
    while True:
        try:
            status, tag_now, pause = await asked(port, scene.path, cookie=scene.cookies[which], tag=tag)
        except OSError:  # the server is starting
            await asyncio.sleep(AFTER_NONE)
            continue
        tag = tag_now or tag
        tally.seen.add(which)
        tally.changed += status == 200
        tally.unchanged += status == 304
        tally.others += status not in (200, 304)
        await asyncio.sleep(max(pause, AFTER_CHANGE if status == 200 else AFTER_NONE))


async def asked(port: int, path: str, *, cookie: str, tag: str) -> tuple[int, str, float]:
    """The status of the answer, its ETag, and the seconds after which the server wants to be asked again."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    known = f"If-None-Match: {tag}\r\n" if tag else ""
    head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\nAccept-Encoding: gzip\r\n"
    try:
        writer.write(f"{head}HX-Request: true\r\nConnection: close\r\n{known}\r\n".encode())
        answer = (await reader.read()).partition(b"\r\n\r\n")[0].decode("latin-1")
    finally:
        writer.close()
    line, *headers = answer.split("\r\n")
    told = {name.lower(): value.strip() for name, _colon, value in (one.partition(":") for one in headers)}
    return int(line.split()[1]), told.get("etag", ""), float(told.get("x-rollout-pause", 0))


def _cpu_of(pid: int) -> float:
    """Seconds of CPU of the process and of its children."""
    total = 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if pid in (int(fields[1]), int(stat.parent.name)):
            total += (int(fields[11]) + int(fields[12])) / TICKS
    return total


def _scene() -> Scene:
    """A running rollout with 60 steps done, and people with a session each."""
    from django.core.management import call_command

    from migrations_app.models.cluster import Cluster
    from tests.builders.rollouts import a_line, a_picture, a_rollout

    call_command("migrate", interactive=False, verbosity=0)
    row = a_rollout(Cluster.objects.create(name="shop", source="kubeconfig"), state="running", picture=a_picture())
    for _ in range(60):
        a_line(row)
    return Scene(f"/rollouts/{row.pk}/live", cookies_of(READERS))


def cookies_of(readers: int) -> list[str]:
    """The cookie of a session of each of that many new people who see everything."""
    from django.conf import settings
    from django.contrib.auth import get_user_model
    from django.test import Client

    found = []
    for number in range(readers):
        person = get_user_model().objects.create_superuser(f"reader-{number}")
        client = Client()
        client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
        found.append(f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}")
    return found


def _move(path: str, every: float) -> None:
    """Writes a line of the journal again and again."""
    import time

    from migrations_app.models.rollout import Rollout
    from tests.builders.rollouts import a_line

    row = Rollout.objects.get(pk=path.split("/")[2])
    while True:
        a_line(row)
        time.sleep(every)


if __name__ == "__main__":
    if sys.argv[1:2] in (["scene"], ["move"]):
        import django

        django.setup()
    if sys.argv[1:2] == ["scene"]:
        made = _scene()
        sys.stdout.write(json.dumps({"path": made.path, "cookies": made.cookies}) + "\n")
    elif sys.argv[1:2] == ["move"]:
        _move(sys.argv[2], float(sys.argv[3]))
    else:
        sys.exit(main())
