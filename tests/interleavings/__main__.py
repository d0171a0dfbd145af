"""`python -m tests.interleavings [--scene NAME] [--depth N] [--planted]`: what was walked, a line of JSON each."""

import argparse
import json
import logging
import os
import sys
import traceback

import django


def main(arguments: list[str]) -> int:
    """Exit code 1 if an invariant was broken; with --planted, if a fault was not found."""
    parser = argparse.ArgumentParser(prog="python -m tests.interleavings", description="All orders of events.")
    parser.add_argument("--scene", default="patch", help="which rollouts: see scenes.py")
    parser.add_argument("--depth", type=int, default=1, help="how many interruptions one order may have")
    parser.add_argument("--planted", action="store_true", help="the faults of planted.py, one by one")
    options = parser.parse_args(arguments)
    _prepare()
    return _all_planted() if options.planted else _one(options.scene, options.depth)


def _one(scene: str, depth: int) -> int:
    from tests.interleavings.stage import OrdersStage
    from tests.interleavings.walk import OrdersWalk

    found = OrdersWalk(OrdersStage(scene)).walked(depth)
    _tell({"scene": scene, "depth": depth} | found.told())
    return int(bool(found.broken))


def _all_planted() -> int:
    from tests.interleavings.planted import FAULTS

    return sum([_aside(name) for name in FAULTS])


def _with(name: str) -> int:
    from tests.interleavings import planted
    from tests.interleavings.stage import OrdersStage
    from tests.interleavings.walk import OrdersWalk

    stage = OrdersStage(planted.FAULTS[name].scene)
    fault = planted.plant(name)
    found = OrdersWalk(stage, until=fault.breaks, only=fault.by).walked(int(bool(fault.by)))
    _tell({"fault": name, "breaks": fault.breaks, "found": sorted(found.wrong)})
    return int(fault.breaks not in found.wrong)


def _aside(name: str) -> int:
    """In a process of its own, which the fault stays in. 1 if it was not found."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return int(os.waitpid(child, 0)[1] != 0)
    code = 1
    try:
        code = _with(name)
    except BaseException:  # noqa: BLE001 - told by the exit code, and the copy must not go on
        traceback.print_exc()
    finally:
        os._exit(code)


def _tell(what: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def _prepare() -> None:
    """A database in memory, which goes along with each fork."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "karpdash.settings")
    os.environ["KARPDASH_BROKER_URL"] = "memory://"
    os.environ["KARPDASH_LOG_LEVEL"] = "ERROR"
    os.environ["KARPDASH_DATABASE_URL"] = "sqlite://"
    django.setup()
    logging.disable()
    from django.core.management import call_command
    from django.db import connection

    connection.settings_dict["NAME"] = ":memory:"
    call_command("migrate", interactive=False, verbosity=0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
