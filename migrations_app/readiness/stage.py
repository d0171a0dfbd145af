"""Where a cluster stands on the road: its stage, told from CRDs, objects and the running release."""

from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import CRD
from migrations_app.inventory.seen import Part, Seen, is_whole
from migrations_app.karpenter.detection import Detected
from migrations_app.readiness.report import Stage

ALPHA_PARTS = ("provisioners", "awsnodetemplates", "machines")
CURRENT_PARTS = ("nodepools", "ec2nodeclasses", "nodeclaims")
STORED_CRDS = ("nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws")


def stage(inventory: Inventory, running: Detected) -> Stage:
    """`unknown` whenever what decides between two stages could not be read."""
    # A CRD that was set aside may be the one that decides.
    if not is_whole(inventory.crds) or not is_whole(inventory.controller):
        return "unknown"
    crds = {crd.name: crd for crd in inventory.crds.items}
    if not crds and not inventory.controller.items:
        return "no_karpenter"
    alpha = any(name.startswith(ALPHA_PARTS) for name in crds)
    if alpha:
        return _with_alpha(inventory, running)
    return _without_alpha(inventory, crds)


def _with_alpha(inventory: Inventory, running: Detected) -> Stage:
    old, new = _living(inventory, ALPHA_PARTS), _living(inventory, CURRENT_PARTS)
    if old is None or new is None:
        return "unknown"
    if old and new:
        return "mixed"
    if old:
        return "alpha"
    crds = {crd.name: crd for crd in inventory.crds.items}
    if not new and (_older_than_beta(running) or "nodepools.karpenter.sh" not in crds):
        return "alpha"
    # Alpha CRDs without objects are left-overs; the rest of the road decides.
    return _without_alpha(inventory, crds)


def _older_than_beta(running: Detected) -> bool:
    if running.release is not None:
        return (running.release.major, running.release.minor_number) < (0, 32)
    return bool(running.minors) and all(minor in ("0.28", "0.29", "0.30", "0.31") for minor in running.minors)


def _living(inventory: Inventory, parts: tuple[str, ...]) -> bool | None:
    """Whether any object of the parts is there; None when none was seen and a part could not be read."""
    found: list[Part[object]] = [inventory.part(name) for name in parts]
    if any(part.count or (isinstance(part, Seen) and part.quarantined) for part in found):
        return True
    return False if all(isinstance(part, Seen) for part in found) else None


def _without_alpha(inventory: Inventory, crds: dict[str, CRD]) -> Stage:
    pools = crds.get("nodepools.karpenter.sh")
    if pools is None:
        return "no_karpenter" if not inventory.controller.items else "unknown"
    served = set(pools.served)
    stored = {version for name in STORED_CRDS if name in crds for version in crds[name].stored}
    if "v1" in served:
        if "v1beta1" not in served and any(not crds[name].stored for name in STORED_CRDS if name in crds):
            return "unknown"
        return "beta_v1" if "v1beta1" in served | stored else "v1"
    return "beta" if "v1beta1" in served else "unknown"
