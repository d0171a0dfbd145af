"""What has to run after the controller is upgraded, and why it does not run yet: rollout, pods, images, leader."""

from collections.abc import Iterator, Mapping

from migrations_app.actions.changes import ActionValue
from migrations_app.karpenter.detection import image_release

MAX_NAMED = 3
LEADER = "karpenter-leader-election"


class ControllerGate(ActionValue, frozen=True):
    """The controller that has to run. `leader` names the Lease of the leader election; empty if there is none.

    Where the chart was not rendered, `release` is set instead of `images`: the tag of an image has to name it.
    """

    namespace: str
    deployment: str
    images: tuple[str, ...]
    leader: str = ""
    release: str = ""

    @property
    def wanted(self) -> str:
        """The expected images, or the release, as text."""
        return ", ".join(self.images) or (f"an image of {self.release}" if self.release else "as it is told to")

    def fits(self, images: tuple[str, ...]) -> bool:
        """Whether a pod with these images runs the expected controller."""
        named = {str(image_release(image)) for image in images}
        return set(self.images) <= set(images) and (not self.release or self.release in named)


def leader_lease(env: Mapping[str, str]) -> str:
    """The name of the Lease of a controller with these environment variables; empty if it elects no leader."""
    off, on = (env.get(name, "").lower() for name in ("DISABLE_LEADER_ELECTION", "LEADER_ELECT"))
    if off in ("true", "1") or on in ("false", "0"):
        return ""
    return env.get("LEADER_ELECTION_NAME") or LEADER


class PodOfController(ActionValue, frozen=True):
    """One pod of the controller that is not being deleted."""

    name: str
    images: tuple[str, ...] = ()
    ready: bool = False


class ControllerStatus(ActionValue, frozen=True):
    """The controller as it was read; None for what could not be read. `holder` is empty if nobody holds the Lease."""

    found: bool = False
    observed: bool = False
    """Whether the Deployment's controller has processed the newest generation."""
    wanted: int = 0
    total: int = 0
    updated: int = 0
    available: int = 0
    pods: tuple[PodOfController, ...] | None = None
    holder: str | None = ""


def controller_reasons(gate: ControllerGate, seen: ControllerStatus | None) -> list[str]:
    """The reasons why the gate does not hold yet, as text; empty if it holds."""
    if seen is None:
        return ["the controller could not be read"]
    return list(_reasons(gate, seen))


def _reasons(gate: ControllerGate, seen: ControllerStatus) -> Iterator[str]:
    where = f"Deployment {gate.namespace}/{gate.deployment}"
    if not seen.found:
        yield f"{where} is not there"
        return
    if seen.wanted < 1:
        yield f"{where} is scaled to 0 replicas: no controller runs"
    if not seen.observed:
        yield f"{where} was not taken up yet"
    if seen.updated < seen.wanted or seen.total > seen.updated:
        yield f"{where}: {seen.updated} of {seen.wanted} replicas are updated, {seen.total} are there"
    if seen.available < seen.wanted:
        yield f"{where}: {seen.available} of {seen.wanted} replicas are available"
    if seen.pods is None:
        yield "the pods of the controller could not be read"
        return
    yield from _pod_reasons(gate, seen, pods=seen.pods)


def _pod_reasons(gate: ControllerGate, seen: ControllerStatus, *, pods: tuple[PodOfController, ...]) -> Iterator[str]:
    matching = [pod for pod in pods if gate.fits(pod.images)]
    other = [pod.name for pod in pods if pod not in matching]
    if other:
        yield f"other images run in {', '.join(other[:MAX_NAMED])}"
    waiting = [pod.name for pod in matching if not pod.ready]
    if waiting:
        yield f"not ready: {', '.join(waiting[:MAX_NAMED])}"
    if len(matching) < seen.wanted:
        yield f"{len(matching)} of {seen.wanted} pods run {gate.wanted}"
    if gate.leader:
        yield from _leader_reasons(gate, seen, names=[pod.name for pod in matching if pod.ready])


def _leader_reasons(gate: ControllerGate, seen: ControllerStatus, *, names: list[str]) -> Iterator[str]:
    if seen.holder is None:
        yield f"Lease {gate.namespace}/{gate.leader} could not be read, so the leader is not known"
    elif not any(seen.holder == name or seen.holder.startswith(f"{name}_") for name in names):
        yield f"the leader is {seen.holder or 'nobody'}, and not one of the new pods"
