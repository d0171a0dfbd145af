"""Start of the command line: processor time of whole processes, beside a bare interpreter. Run as a script."""

import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

STARTS = 15
POOL = "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: a}\nspec: {template: {spec: {}}}\n"
PROGRAM = [sys.executable, "-m", "karpdash.command"]
ROOT = Path(__file__).resolve().parents[2]


def commands(folder: Path) -> dict[str, tuple[list[str], float]]:
    """What is started, and how many times a bare interpreter it may take."""
    small = folder / "small.yaml"
    small.write_text(POOL)
    return {
        "--version": ([*PROGRAM, "--version"], 4.0),
        "scan --help": ([*PROGRAM, "scan", "--help"], 8.0),
        "convert of a small file": ([*PROGRAM, "convert", "-f", str(small)], 6.0),
    }


def seconds(command: list[str]) -> float:
    """Processor time of one run, user and system together."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """0 when each start is within its bound. The medians of runs that take turns."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = commands(Path(folder))
        rows = [[seconds(command) for command in ([sys.executable, "-c", "pass"], *(c for c, _ in wanted.values()))]
                for _ in range(STARTS)]  # fmt: skip
    bare, *ours = [statistics.median(column) for column in zip(*rows, strict=True)]
    reached = []
    for (name, (_, bound)), found in zip(wanted.items(), ours, strict=True):
        ratio = found / bare
        reached.append(ratio <= bound)
        sys.stdout.write(
            f"start: {name}: {found * 1000:.0f} ms, {ratio:.1f} times a bare Python (at most {bound:.0f})\n"
        )
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
