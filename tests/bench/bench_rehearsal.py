"""Speed of rehearsals: whole clusters are read from a dump, planned and played, each in a process of its own.

Run as a script; KARPDASH_BENCH_SCALE makes it smaller. Targets at full size: 50 nodes in 2 s; 2,000 nodes with 40,000
pods in 60 s and 500 MB.
"""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass

from migrations_app.actions.plan import MAX_STEPS, RolloutLimits
from migrations_app.rehearsals.rehearse import RehearsalRequest, rehearse_cluster
from tests.bench.measure import MEGABYTE, ROOT, FailedError, Figures, measured
from tests.rehearsals.scene import Scene

PODS_A_NODE = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A size with the seconds and bytes that it may take; no limit of bytes where it is 0."""

    nodes: int
    batch: int
    seconds: float
    peak: int = 0

    def scaled(self, scale: float) -> "Target":
        return Target(nodes=max(3, round(self.nodes * scale)), batch=self.batch, seconds=self.seconds, peak=self.peak)


# One step of the plan taints the Provisioner, so one node less than there may be steps.
TARGETS = (
    Target(nodes=50, batch=5, seconds=2.0),
    Target(nodes=MAX_STEPS - 1, batch=20, seconds=60.0, peak=500 * MEGABYTE),
)


def rehearsed(nodes: int, *, batch: int) -> tuple[int, int]:
    """Plays a rollout of all nodes; (0, nodes that went). Raises FailedError if it does not end."""
    scene = Scene(nodes=nodes, pods=PODS_A_NODE, apps=max(3, nodes // 20), away="10%")
    limits = RolloutLimits(batch=batch, per_hour=10_000, pool_percent=20)
    found = rehearse_cluster(scene.bundle(), RehearsalRequest("roll_nodes", {}, limits), cluster="bench")
    if not found.finished:
        raise FailedError(f"the rehearsal of {nodes} nodes stops: {found.stopped}")
    return 0, len(found.drained)


def _alone(target: Target) -> Figures:
    """The figures of a fresh process."""
    command = [sys.executable, "-m", "tests.bench.bench_rehearsal", "--nodes", str(target.nodes)]
    done = subprocess.run(
        [*command, "--batch", str(target.batch)], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        raise FailedError(f"the rehearsal of {target.nodes} nodes ended with {done.returncode}")
    return Figures(**json.loads(done.stdout.splitlines()[-1]))


def said(target: Target, figures: Figures) -> str:
    """The figures of a size, for people."""
    memory = f" of at most {target.peak / MEGABYTE:.0f}" if target.peak else ""
    return (
        f"rehearsal of {target.nodes:,} nodes and {target.nodes * PODS_A_NODE:,} pods: {figures.seconds:.1f} s "
        f"(wanted {target.seconds:.0f}), {figures.cpu:.1f} s of processor, {figures.peak / MEGABYTE:.0f} MB{memory}\n"
    )


def reached(target: Target, figures: Figures) -> bool:
    """Whether the target is reached."""
    return figures.seconds <= target.seconds and (not target.peak or figures.peak <= target.peak)


def main(arguments: list[str] | None = None) -> int:
    """0 when the targets are reached, or when the size is too small to tell."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.bench_rehearsal")
    parser.add_argument("--nodes", type=int, help="measure this size here, and print its figures as JSON")
    parser.add_argument("--batch", type=int, default=5)
    options = parser.parse_args(arguments)
    if options.nodes:
        sys.stdout.write(json.dumps(asdict(measured(lambda: rehearsed(options.nodes, batch=options.batch)))) + "\n")
        return 0
    scale = float(os.environ.get("KARPDASH_BENCH_SCALE") or 1)
    found = [(target, _alone(target)) for target in (one.scaled(scale) for one in TARGETS)]
    sys.stdout.write("".join(said(target, figures) for target, figures in found))
    return int(scale >= 1 and not all(reached(target, figures) for target, figures in found))


if __name__ == "__main__":
    sys.exit(main())
