"""`karpdash up`: everything on one machine. Prepares the data folder, then runs broker, web, worker and beat."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from karpdash import datadir
from karpdash.broker import broker_command, broker_program
from karpdash.supervise import Child, Supervisor
from migrations_app.errors import BadSetting

PYTHON = sys.executable


def run(argv: Sequence[str]) -> int:
    """Serves until Ctrl-C or SIGTERM: 0 after a clean stop, 2 with one line when it cannot start."""
    options = _options(argv)
    try:
        _prepare(options)
        children = _children(options)
    except BadSetting as wrong:
        print(f"karpdash up: {wrong}", file=sys.stderr)
        return 2
    return _serve(options, children)


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="karpdash up", description="Run karpdash on this machine.")
    parser.add_argument("--host", default="127.0.0.1", help="address to serve on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="port to serve on (default: %(default)s)")
    parser.add_argument("--data-dir", type=Path, default=Path(os.environ.get("KARPDASH_DATA_DIR") or "var"))
    parser.add_argument("--demo", action=argparse.BooleanOptionalAction, default=True, help="load the sample fleet")
    return parser.parse_args(argv)


def _prepare(options: argparse.Namespace) -> None:
    datadir.check_port(options.host, options.port)
    data_dir = datadir.prepare(options.data_dir)
    os.environ["KARPDASH_DATA_DIR"] = str(data_dir)
    os.environ["DJANGO_SETTINGS_MODULE"] = "karpdash.settings"
    os.environ.setdefault("KARPDASH_ALLOWED_HOSTS", f"localhost,127.0.0.1,[::1],{options.host}")


def _children(options: argparse.Namespace) -> list[Child]:
    from karpdash.env import current

    env = current()
    commands = {"web": _web(options), "worker": _celery("worker", "-n", f"worker-{os.getpid()}@%h"), "beat": _beat()}
    if env.broker_url.startswith("redis+socket://") and str(env.data_dir) in env.broker_url:
        commands = {"broker": broker_command(broker_program(), env.data_dir / "broker")} | commands
    logs = env.data_dir / "logs"
    return [Child(name, command, datadir.fresh_log(logs, name)) for name, command in commands.items()]


def _web(options: argparse.Namespace) -> list[str]:
    bind = f"[{options.host}]:{options.port}" if ":" in options.host else f"{options.host}:{options.port}"
    words = ["-m", "gunicorn", "karpdash.wsgi", "--bind", bind, "--worker-class", "gthread", "--threads", "8"]
    return [PYTHON, *words, "--no-control-socket", "--log-level", "warning", "--graceful-timeout", "10"]


def _celery(role: str, *more: str) -> list[str]:
    return [PYTHON, "-m", "celery", "-A", "karpdash.celery", role, "--loglevel", "warning", *more]


def _beat() -> list[str]:
    return _celery("beat", "--pidfile", "")


def _serve(options: argparse.Namespace, children: list[Child]) -> int:
    supervisor = Supervisor(children)
    supervisor.catch_signals()
    try:
        supervisor.start_first([child for child in children if child.name == "broker"])
        _first_steps(demo=options.demo)
        supervisor.start_rest()
        address = f"http://{_reachable(options.host)}:{options.port}"
        if supervisor.wait_until_serving(f"{address}/healthz"):
            print(f"karpdash is serving on {address}/  (Ctrl-C stops it; logs in {options.data_dir}/logs)", flush=True)
            _scan_what_is_due()
        return supervisor.watch()
    except BadSetting as wrong:
        print(f"karpdash up: {wrong}", file=sys.stderr)
        return 2
    finally:
        supervisor.stop()


def _reachable(host: str) -> str:
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)  # noqa: S104 # nosec B104 - compared, never bound
    return f"[{shown}]" if ":" in shown and not shown.startswith("[") else shown


def _first_steps(*, demo: bool) -> None:
    """Schema, first admin, sample fleet: inside this process, before anything serves."""
    import django
    from django.core.management import call_command
    from django.db import OperationalError, connection

    django.setup()
    try:
        call_command("migrate", interactive=False, verbosity=0)
    except OperationalError as wrong:
        raise BadSetting(
            f"the database does not answer: {str(wrong).splitlines()[0]}", where="KARPDASH_DATABASE_URL"
        ) from None
    from migrations_app.flow import demo as sample_fleet
    from migrations_app.flow import people

    password = people.first_admin()
    if password:
        print(f"first admin: name admin, one-time password {password}", flush=True)
    if demo:
        sample_fleet.load()
    connection.close()


def _scan_what_is_due() -> None:
    """The first scans start now and not at beat's next tick."""
    from migrations_app.tasks import scan_fleet

    scan_fleet.delay()
