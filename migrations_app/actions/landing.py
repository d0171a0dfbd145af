"""Which release a plan is about: the one that the next hop lands on, or the running one, to catch up with it."""

from migrations_app.actions.base import Unavailable
from migrations_app.inventory.inventory import Inventory
from migrations_app.karpenter.detection import Detected
from migrations_app.karpenter.hops import path
from migrations_app.karpenter.versions import Release, kubernetes_minor, parse


def landing(inventory: Inventory, running: Detected, *, wanted: str = "") -> Release:
    """The release; without `wanted` that of the next hop. Raises Unavailable for one that is not one hop away, and
    BadInput for one that is unknown, known to be bad or older than the running one."""
    if parse(wanted) is not None and parse(wanted) == running.release:
        return _running(running)
    version = next((one.git_version for one in inventory.version.items), "")
    way = path(running, target=wanted or None, kubernetes=kubernetes_minor(version))
    if not way.steps:
        raise Unavailable(f"{way.current} is as far as the way goes", code="nothing_to_do")
    if wanted and len(way.steps) > 1:
        words = f"{way.target} is {len(way.steps)} hops away; the next one lands on {way.steps[0].release}"
        raise Unavailable(words, code="not_next")
    return way.steps[0].release


def _running(running: Detected) -> Release:
    if running.release is None:
        raise Unavailable("the running release is not known", code="unknown_release")
    return running.release
