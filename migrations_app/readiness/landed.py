"""The hop that the running release has landed on: done, or work of it still in progress."""

from collections.abc import Mapping

from migrations_app.karpenter.detection import Detected
from migrations_app.karpenter.hops import hop_of
from migrations_app.karpenter.versions import minor_order
from migrations_app.readiness.report import Counts, HopLine, Stage, Verdict

FIRST_HOP = (0, 32)
BEFORE_V1 = ("0.32", "0.33+")
"""On these v1beta1 is what is meant to be stored, even where v1 is served beside it for the way back."""
KARPENTER_OWNERS = ("karpenter_alpha", "karpenter_beta", "karpenter_v1")


def landed_line(
    running: Detected, stage: Stage, *, legacy: Mapping[str, int | None], by_owner: Mapping[str, int]
) -> HopLine | None:
    """None while the release is not known, or is older than the first hop."""
    if running.release is None or minor_order(running.release.minor) < FIRST_HOP:
        return None
    hop = hop_of(running.release, start=running.release)
    left = None if None in legacy.values() else sum(count or 0 for count in legacy.values())
    verdict, reasons = _work(hop, stage, left=left)
    percent = 100 if verdict == "done" else _percent(by_owner)
    return HopLine(hop=hop, verdict=verdict, done_percent=percent, counts=Counts(), reasons=reasons)


def _work(hop: str, stage: Stage, *, left: int | None) -> tuple[Verdict, tuple[str, ...]]:
    if stage == "unknown" or left is None:
        return "needs_facts", ("what is left of the older generation could not be read",)
    if left:
        return "in_progress", (f"{left} alpha objects and nodes are left",)
    if stage == "beta_v1" and hop not in BEFORE_V1:
        return "in_progress", ("v1beta1 is still served or stored",)
    return "done", ()


def _percent(by_owner: Mapping[str, int]) -> int:
    """Nodes that have left alpha, of all Karpenter nodes; below 100 while anything is left."""
    total = sum(by_owner.get(owner, 0) for owner in KARPENTER_OWNERS)
    moved = total - by_owner.get("karpenter_alpha", 0)
    return min(99, 100 * moved // total) if total else 0
