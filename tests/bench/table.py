"""The figures as a page, and whether they reach the targets."""

import os
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.bench.load import Size
from tests.bench.measure import MEGABYTE, Figures

WANTED_TIMES_PLAIN = 1.5
WANTED_ABOVE_IDLE = 150
WANTED_TIMES_TYPED = 6.0
WANTED_GROWTH = 1.2
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """`third` is a scan of a third of the pods; `kubectl` is None where there is none."""

    size: Size
    rounds: int
    filled: float
    idle: Figures
    third: Figures
    plain: Figures
    scan: Figures
    typed: Figures
    kubectl: Figures | None


def verdicts(results: Results) -> list[tuple[bool, str]]:
    """Each target: reached or not, and the sentence with the figure."""
    times_plain = results.scan.seconds / results.plain.seconds
    above = (results.scan.peak - results.idle.peak) / _MIB
    faster = results.typed.seconds / results.scan.seconds
    growth = results.scan.peak / results.third.peak
    return [
        (
            times_plain <= WANTED_TIMES_PLAIN,
            f"{times_plain:.2f} times the plain transfer (at most {WANTED_TIMES_PLAIN})",
        ),
        (above <= WANTED_ABOVE_IDLE, f"{above:.0f} MiB above an idle worker (at most {WANTED_ABOVE_IDLE})"),
        (
            faster >= WANTED_TIMES_TYPED,
            f"{faster:.1f} times faster than the typed client (at least {WANTED_TIMES_TYPED:.0f})",
        ),
        (growth <= WANTED_GROWTH, f"{growth:.2f} times the memory with three times the pods (at most {WANTED_GROWTH})"),
    ]


def table(results: Results, *, judged: bool = True) -> str:
    """The page, in Markdown; `judged` adds the targets."""
    size = results.size
    lines = [
        "# Benchmark",
        "",
        f"Made by `make bench` on {datetime.now(UTC):%Y-%m-%d}, on {machine()}.",
        f"A real kube-apiserver with etcd on the same machine holds {size.nodes:,} nodes, {size.nodes:,} Machines and",
        f"{size.pods:,} pods (filled in {results.filled:.0f} s). Each line is a fresh process; times are without its",
        f"start, but for kubectl. Plain transfer and scan take turns, {results.rounds} rounds, the fastest is shown.",
        "`KARPDASH_BENCH_SCALE=0.1 make bench` does the same at a tenth of the size.",
        "",
        "| what | wall s | CPU s | peak MiB |",
        "| --- | ---: | ---: | ---: |",
        *_rows(results),
        "",
    ]
    if judged:
        lines += [f"- {'reached' if reached else 'MISSED'}: {text}" for reached, text in verdicts(results)]
    return "\n".join(lines) + "\n"


def _rows(results: Results) -> Iterator[str]:
    moved = results.plain.bytes_moved / MEGABYTE
    yield _row(f"plain paged GETs of the same bytes ({moved:.0f} MB), nothing decoded", results.plain)
    yield _row("our whole scan: connect, collect, check, store the snapshot", results.scan)
    yield _row(f"our whole scan with {results.size.pods // 3:,} pods", results.third)
    yield _row("official typed client, listing the pods", results.typed)
    if results.kubectl:
        yield _row("`kubectl get pods -A -o json`, to nowhere", results.kubectl)
    yield f"| idle worker process | | | {results.idle.peak / _MIB:.0f} |"


def _row(what: str, figures: Figures) -> str:
    return f"| {what} | {figures.seconds:.1f} | {figures.cpu:.1f} | {figures.peak / _MIB:.0f} |"


def machine() -> str:
    """Cores, processor, memory and Python of this machine."""
    model = _first(r"model name\s*:\s*(.*)", "/proc/cpuinfo") or platform.machine()
    memory = int(_first(r"MemTotal:\s*(\d+)", "/proc/meminfo") or 0) / 1024 / 1024
    return f"{os.cpu_count()} cores ({model}), {memory:.0f} GiB of memory, Python {platform.python_version()}"


def _first(pattern: str, path: str) -> str:
    found = re.search(pattern, Path(path).read_text()) if Path(path).exists() else None
    return found[1].strip() if found else ""
