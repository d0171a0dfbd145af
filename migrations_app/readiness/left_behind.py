"""What an uninstall left behind: without a controller there is no path, and still objects that only it can let go."""

from collections.abc import Iterable

import msgspec

from migrations_app.checks.base import Check, CheckContext, Finding
from migrations_app.checks.runner import run
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.parts import is_whole
from migrations_app.karpenter.detection import DetectedRelease
from migrations_app.karpenter.releases import RELEASES
from migrations_app.karpenter.upgrade_path import PathHop

HOP = "clean-up"
"""The name of what is to be done in place of a hop; at most ten characters, as snapshots keep it."""
ASKED = ("finalizers_served", "nothing_stuck_deleting")


def left_behind(
    inventory: Inventory, running: DetectedRelease, *, checks: Iterable[Check], stage: str
) -> tuple[Finding, ...]:
    """The findings about stuck objects where no controller runs, as blockers; none where nothing is stuck.

    What could not be read counts as long as CRDs tell that Karpenter was here.
    """
    if not running.absent:
        return ()
    row = RELEASES[-1]
    release = row.newest
    step = PathHop(hop=HOP, start=release, release=release, kubernetes=row.kubernetes_window(release))
    case = CheckContext(inventory, step, running, stage, inventory.taken_at)
    findings = run([check for check in checks if check.id in ASKED], case)
    here = bool(inventory.crds.items) or not is_whole(inventory.crds)
    open_ones = [finding for finding in findings if finding.status == "fail" or (here and finding.status == "unknown")]
    if not open_ones:
        return ()
    return tuple(
        msgspec.structs.replace(finding, severity="blocker") if finding in open_ones else finding
        for finding in findings
    )
