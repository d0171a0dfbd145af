"""`karpdash up`: runs everything on one machine. Prepares the data folder, then runs broker, web, workers and beat."""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TextIO

from karpdash.files import data_folder
from karpdash.processes import datadir
from karpdash.processes.broker import broker_command, broker_program
from karpdash.processes.child_processes import CAN_FORK, fork, load, load_program, run_module
from karpdash.processes.queues import WORKERS, beat_command, serve, worker_command
from karpdash.processes.supervise import Child, Supervisor
from migrations_app.errors import InvalidSetting

PYTHON = sys.executable
DATABASE = "KARPDASH_DATABASE_URL"


def run(argv: Sequence[str]) -> int:
    """Serves until Ctrl-C or SIGTERM. Returns 0 after a clean stop, 2 after one line if it cannot start."""
    options = make_parser().parse_args(argv)
    try:
        with _prepare(options):
            return _serve(options, _children(options))
    except InvalidSetting as error:
        print(f"karpdash up: {error}", file=sys.stderr)
        return 2


def make_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(prog="karpdash up", description="Run karpdash on this machine.")
    parser.add_argument("--host", default="127.0.0.1", help="address to serve on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="port to serve on (default: %(default)s)")
    folder = Path(os.environ.get("KARPDASH_DATA_DIR") or data_folder(os.environ))
    parser.add_argument(
        "--data-dir", type=Path, default=folder, help="folder for the database, keys and logs (default: %(default)s)"
    )
    parser.add_argument(
        "--demo",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="load the sample fleet; --no-demo removes it",
    )
    return parser


def _prepare(options: argparse.Namespace) -> TextIO:
    """Returns the lock of the data folder, after all checks that need no child process."""
    datadir.check_port(options.host, options.port)
    data_dir = datadir.prepare(options.data_dir)
    os.environ["KARPDASH_DATA_DIR"] = str(data_dir)
    os.environ["DJANGO_SETTINGS_MODULE"] = "karpdash.settings"
    os.environ.setdefault("KARPDASH_ALLOWED_HOSTS", f"localhost,127.0.0.1,[::1],{options.host}")
    # Each process of a pool costs memory even when idle; rollouts of a small installation can take turns.
    os.environ.setdefault("KARPDASH_ACTION_SLOTS", "1")
    return datadir.lock(data_dir)


def _children(options: argparse.Namespace) -> list[Child]:
    from karpdash.configuration.env import current

    env = current()
    workers = {f"worker-{queue}": worker_command(queue, env, name=f"{queue}-{os.getpid()}") for queue in WORKERS}
    commands = {"web": _web(options), **workers, "beat": beat_command()}
    if env.broker_url.startswith("redis+socket://") and str(env.data_dir) in env.broker_url:
        commands = {"broker": broker_command(broker_program(), env.data_dir / "broker")} | commands
    forked = _forked(options) if CAN_FORK else {}
    if CAN_FORK:
        del commands["beat"]
    logs = env.data_dir / "logs"
    children = [
        Child(name, command, datadir.fresh_log(logs, name), run=forked.get(name)) for name, command in commands.items()
    ]
    for child in children:
        if child.name in workers:
            # SIGTERM waits for the end of a scan, possibly minutes; this signal waits ten seconds and returns the
            # scan.
            child.stop_by = signal.SIGQUIT
    return children


def _forked(options: argparse.Namespace) -> dict[str, Callable[[], int]]:
    """Returns the same children as forks of this process. Beat is a thread of the worker that waits most of its time
    for clusters.
    """
    workers = {
        f"worker-{queue}": partial(serve, queue, name=f"{queue}-{os.getpid()}", ticking=queue == "probe")
        for queue in WORKERS
    }
    return {"web": partial(run_module, _web(options)[2:]), **workers}


def _web(options: argparse.Namespace) -> list[str]:
    bind = f"[{options.host}]:{options.port}" if ":" in options.host else f"{options.host}:{options.port}"
    words = ["-m", "gunicorn", "karpdash.wsgi", "--bind", bind, "--worker-class", "gthread", "--threads", "8"]
    return [PYTHON, *words, "--no-control-socket", "--log-level", "warning", "--graceful-timeout", "10"]


def _serve(options: argparse.Namespace, children: list[Child]) -> int:
    data_dir = options.data_dir.absolute()
    supervisor = Supervisor(children)
    supervisor.catch_signals()
    try:
        supervisor.start_first([child for child in children if child.name == "broker"])
        _set_up()
        if code := _run_apart(partial(_first_steps, demo=options.demo)):
            return code
        if CAN_FORK and fork(_live_clusters, name="start").wait():
            load("kubernetes.client.rest")
        supervisor.start_rest()
        address = f"http://{_reachable(options.host)}:{options.port}"
        if supervisor.wait_until_serving(f"{address}/healthz"):
            print(f"karpdash is serving on {address}/  (Ctrl-C stops it; data and logs in {data_dir})", flush=True)
            _run_apart(_scan_what_is_due)
            _run_apart(_history)
        elif not supervisor.stopping:
            print(f"karpdash up: no page is served yet; see {data_dir / 'logs'}", file=sys.stderr, flush=True)
        return supervisor.watch()
    finally:
        supervisor.stop()


def _reachable(host: str) -> str:
    address = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)  # noqa: S104 # nosec B104 - compared, never bound
    return f"[{address}]" if ":" in address and not address.startswith("[") else address


def _set_up() -> None:
    """Loads settings and models; on Linux everything else that the children will use, too. Raises InvalidSetting."""
    import django

    django.setup()
    _refuse_unsafe()
    if CAN_FORK:
        load_program()


def _run_apart(run: Callable[[], None]) -> int:
    """Calls `run` in a forked process where forking is possible: otherwise every child would inherit its memory and its
    connections to database and broker. Returns 2 after one line if it failed.
    """
    if not CAN_FORK:
        return _run_reporting(run)
    return fork(partial(_run_reporting, run), name="start").wait()


def _run_reporting(run: Callable[[], None]) -> int:
    try:
        run()
    except InvalidSetting as error:
        print(f"karpdash up: {error}", file=sys.stderr)
        return 2
    return 0


def _first_steps(*, demo: bool) -> None:
    """Creates schema, first admin and sample fleet, before any process serves."""
    _bring_schema_up()
    from django.db import connection

    from migrations_app.use_cases.accounts import rights
    from migrations_app.use_cases.samples.load import load_samples
    from migrations_app.use_cases.samples.reset import remove_samples

    password = rights.first_admin()
    if password:
        print(f"first admin: name admin, one-time password {password}", flush=True)
    if demo:
        load_samples()
    else:
        remove_samples(person=None)
    connection.close()


def _live_clusters() -> int:
    """Returns the number of registered clusters that are read over the network, at most 255 as it is an exit code; for
    0 the children need no Kubernetes client.
    """
    from migrations_app.queries.fleet.all_clusters import live_clusters

    return min(live_clusters(), 255)


def _refuse_unsafe() -> None:
    """Raises InvalidSetting for errors that would stop the web server at every start."""
    from karpdash.configuration.system_checks import configuration

    for problem in configuration():
        raise InvalidSetting(str(problem.msg))


def _bring_schema_up() -> None:
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import call_command
    from django.db import DatabaseError, connection

    from karpdash.monitoring.schema import schema_fit, upgrade_obstacle

    try:
        if connection.introspection.table_names() and schema_fit() == "ahead":
            raise InvalidSetting("a newer release took away what this one needs; it cannot go back", where=DATABASE)
        if words := upgrade_obstacle():
            raise InvalidSetting(words, where=DATABASE)
        call_command("migrate", interactive=False, verbosity=0)
    except (DatabaseError, ImproperlyConfigured) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InvalidSetting(f"the database cannot be used: {reason}", where=DATABASE) from None


def _history() -> None:
    """Generates the history of new sample clusters while pages are served already."""
    from django.db import connection
    from django.utils import timezone

    from migrations_app.use_cases.samples.history import make_history

    make_history(now=timezone.now())
    connection.close()


def _scan_what_is_due() -> None:
    """Starts the first scans now instead of at beat's next tick; without a broker the tick starts them."""
    from kombu.exceptions import OperationalError

    from migrations_app.tasks import scan_fleet

    with suppress(OperationalError):
        scan_fleet.delay()
