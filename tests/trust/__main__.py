"""`python -m tests.trust [--scale 0.01] [--seed N] [--part NAME]... [--case N] [--write FILE]`: hostile cases, counted.

Scale 1 is the whole programme and takes hours. The exit code is 0 when all held, 1 when something did not, 2 when a
part could not be tried. A case that did not hold is tried again by its part, seed and number.
"""

import argparse
import os
import platform
import random
import sys
from datetime import UTC, datetime
from pathlib import Path

import django


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    seed = options.seed if options.seed is not None else random.randrange(2**32)
    _prepare()
    from tests.trust.programme import PARTS
    from tests.trust.table import page

    chosen = [part for part in PARTS if not options.part or part.name in options.part]
    if unknown := set(options.part) - {part.name for part in PARTS}:
        sys.stderr.write(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(p.name for p in PARTS)}\n")
        return 2
    if options.case is not None:
        return _one(chosen, seed=seed, number=options.case)
    from tests.trust.programme import run

    results = []
    for result in run(chosen, seed=seed, scale=options.scale):
        results.append(result)
        sys.stderr.write(f"{result.part.name}: {result.done} of {result.asked}, {len(result.failures)} did not hold\n")
    where = f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    text = page(results, seed=seed, scale=options.scale, at=datetime.now(UTC), machine=where)
    sys.stdout.write(text)
    if options.write:
        options.write.write_text(text)
    if any(result.failures for result in results):
        return 1
    return 0 if all(result.held for result in results) else 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.trust", description="Hostile cases in numbers.")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full numbers, such as 0.01")
    parser.add_argument("--seed", type=int, help="the same cases again; otherwise another one each time")
    parser.add_argument("--part", action="append", default=[], help="only this part; may be repeated")
    parser.add_argument("--case", type=int, help="only the case of that number, of the parts that are named")
    parser.add_argument("--write", type=Path, help="also write the table into that file")
    return parser


def _prepare() -> None:
    """Settings as tests have them; log lines of hostile input are not what is looked at."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "karpdash.settings")
    os.environ.setdefault("KARPDASH_BROKER_URL", "memory://")
    os.environ.setdefault("KARPDASH_LOG_LEVEL", "ERROR")
    django.setup()


def _one(parts: list, *, seed: int, number: int) -> int:
    from tests.trust.parts import case

    chosen = [part for part in parts if part.trial is not None]
    for part in chosen:
        case(part, seed=seed, number=0)  # opens what is read once
    told = {part.name: case(part, seed=seed, number=number) for part in chosen}
    for name, why in told.items():
        sys.stdout.write(f"{name} {number}: {why or 'held'}\n")
    return int(any(told.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
