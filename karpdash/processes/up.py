"""`karpdash up`: everything on one machine. Prepares the data folder, then runs broker, web, workers and beat."""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from karpdash.files import data_folder
from karpdash.processes import datadir
from karpdash.processes.broker import broker_command, broker_program
from karpdash.processes.lanes import WORKERS, beat_command, worker_command
from karpdash.processes.supervise import Child, Supervisor
from migrations_app.errors import InvalidSetting

PYTHON = sys.executable
DATABASE = "KARPDASH_DATABASE_URL"


def run(argv: Sequence[str]) -> int:
    """Serves until Ctrl-C or SIGTERM. 0 after a clean stop, 2 with one line if it cannot start."""
    options = _options(argv)
    try:
        with _prepare(options):
            return _serve(options, _children(options))
    except InvalidSetting as wrong:
        print(f"karpdash up: {wrong}", file=sys.stderr)
        return 2


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="karpdash up", description="Run karpdash on this machine.")
    parser.add_argument("--host", default="127.0.0.1", help="address to serve on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="port to serve on (default: %(default)s)")
    kept = Path(os.environ.get("KARPDASH_DATA_DIR") or data_folder(os.environ))
    parser.add_argument(
        "--data-dir", type=Path, default=kept, help="folder for the database, keys and logs (default: %(default)s)"
    )
    parser.add_argument("--demo", action=argparse.BooleanOptionalAction, default=True, help="load the sample fleet")
    return parser.parse_args(argv)


def _prepare(options: argparse.Namespace) -> TextIO:
    """The lock of the data folder, after all checks that need no child process."""
    datadir.check_port(options.host, options.port)
    data_dir = datadir.prepare(options.data_dir)
    os.environ["KARPDASH_DATA_DIR"] = str(data_dir)
    os.environ["DJANGO_SETTINGS_MODULE"] = "karpdash.settings"
    os.environ.setdefault("KARPDASH_ALLOWED_HOSTS", f"localhost,127.0.0.1,[::1],{options.host}")
    return datadir.hold(data_dir)


def _children(options: argparse.Namespace) -> list[Child]:
    from karpdash.configuration.env import current

    env = current()
    workers = {f"worker-{lane}": worker_command(lane, env, name=f"{lane}-{os.getpid()}") for lane in WORKERS}
    commands = {"web": _web(options), **workers, "beat": beat_command()}
    if env.broker_url.startswith("redis+socket://") and str(env.data_dir) in env.broker_url:
        commands = {"broker": broker_command(broker_program(), env.data_dir / "broker")} | commands
    logs = env.data_dir / "logs"
    children = [Child(name, command, datadir.fresh_log(logs, name)) for name, command in commands.items()]
    for child in children:
        if child.name in workers:
            # SIGTERM waits for the end of a scan, possibly minutes; this signal waits ten seconds and returns the
            # scan.
            child.stop_by = signal.SIGQUIT
    return children


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
        _first_steps(demo=options.demo)
        supervisor.start_rest()
        address = f"http://{_reachable(options.host)}:{options.port}"
        if supervisor.wait_until_serving(f"{address}/healthz"):
            print(f"karpdash is serving on {address}/  (Ctrl-C stops it; data and logs in {data_dir})", flush=True)
            _scan_what_is_due()
        elif not supervisor.stopping:
            print(f"karpdash up: no page is served yet; see {data_dir / 'logs'}", file=sys.stderr, flush=True)
        return supervisor.watch()
    finally:
        supervisor.stop()


def _reachable(host: str) -> str:
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)  # noqa: S104 # nosec B104 - compared, never bound
    return f"[{shown}]" if ":" in shown and not shown.startswith("[") else shown


def _first_steps(*, demo: bool) -> None:
    """Schema, first admin and sample fleet, in this process before anything serves."""
    import django

    django.setup()
    _refuse_unsafe()
    _bring_schema_up()
    from django.db import connection

    from migrations_app.use_cases.accounts import rights
    from migrations_app.use_cases.clusters import sample_fleet

    password = rights.first_admin()
    if password:
        print(f"first admin: name admin, one-time password {password}", flush=True)
    if demo:
        sample_fleet.load()
    connection.close()


def _refuse_unsafe() -> None:
    """Raises InvalidSetting for errors that would stop the web server at every start."""
    from karpdash.configuration.system_checks import configuration

    for wrong in configuration():
        raise InvalidSetting(str(wrong.msg))


def _bring_schema_up() -> None:
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import call_command
    from django.db import DatabaseError, connection

    from karpdash.monitoring.schema import schema_fit

    try:
        if connection.introspection.table_names() and schema_fit() == "ahead":
            raise InvalidSetting("a newer release has changed the tables; this one cannot go back", where=DATABASE)
        call_command("migrate", interactive=False, verbosity=0)
    except (DatabaseError, ImproperlyConfigured) as wrong:
        reason = str(wrong).strip().partition("\n")[0]
        raise InvalidSetting(f"the database cannot be used: {reason}", where=DATABASE) from None


def _scan_what_is_due() -> None:
    """Starts the first scans now instead of at beat's next tick; without a broker the tick starts them."""
    from kombu.exceptions import OperationalError

    from migrations_app.tasks import scan_fleet

    with suppress(OperationalError):
        scan_fleet.delay()
