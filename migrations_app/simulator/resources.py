"""Amounts of CPU, memory and pods, and the requests of a pod."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from migrations_app.conversion.quantities import billionths

_BILLION = 10**9
_MILLION = 10**6


class ResourceAmounts(NamedTuple):
    """`cpu` in thousandths of a core, `memory` in bytes, `pods` in pods."""

    cpu: int = 0
    memory: int = 0
    pods: int = 0

    def plus(self, other: "ResourceAmounts", times: int = 1) -> "ResourceAmounts":
        return ResourceAmounts(
            self.cpu + other.cpu * times, self.memory + other.memory * times, self.pods + other.pods * times
        )

    def minus(self, other: "ResourceAmounts") -> "ResourceAmounts":
        return self.plus(other, -1)

    def holds(self, other: "ResourceAmounts") -> bool:
        """Returns whether the other amount fits in."""
        return self.cpu >= other.cpu and self.memory >= other.memory and self.pods >= other.pods

    def count(self, amount: "ResourceAmounts") -> int:
        """Returns how many times `amount` fits in; 0 if a number is negative. `amount` has at least one pod."""
        pairs = ((self.cpu, amount.cpu), (self.memory, amount.memory), (self.pods, amount.pods))
        return max(0, min(have // want for have, want in pairs if want > 0))

    def quantities(self) -> dict[str, str]:
        """Returns the amounts as quantities of Kubernetes, by the name of the resource."""
        return {"cpu": f"{self.cpu}m", "memory": str(self.memory), "pods": str(self.pods)}


UNLIMITED = 10**15


@lru_cache(maxsize=4096)
def _amount(text: str, unit: int) -> int:
    number = billionths(text)
    return 0 if number is None else -(-number // unit)


def cpu(quantity: object) -> int:
    """Returns thousandths of a core, rounded up; 0 for an invalid quantity."""
    return _amount(str(quantity), _MILLION)


def size_in_bytes(quantity: object) -> int:
    """Returns bytes, rounded up; 0 for an invalid quantity."""
    return _amount(str(quantity), _BILLION)


def amounts(resources: Mapping[str, Any] | None, *, default: ResourceAmounts = ResourceAmounts()) -> ResourceAmounts:  # noqa: B008 - a tuple
    """Returns the amounts of a map of quantities; `default` has those that the map lacks."""
    values = resources or {}
    return ResourceAmounts(
        cpu(values["cpu"]) if "cpu" in values else default.cpu,
        size_in_bytes(values["memory"]) if "memory" in values else default.memory,
        int(_amount(str(values["pods"]), _BILLION)) if "pods" in values else default.pods,
    )


def requested(spec: Mapping[str, Any]) -> ResourceAmounts:
    """Returns the requests that the scheduler counts for a pod: the sum of its containers, or a larger init container.

    Source: kubernetes/kubernetes:pkg/api/v1/resource/helpers.go, PodRequests; containers that are restarted beside the
    others count with them.
    """
    running, largest = ResourceAmounts(), ResourceAmounts()
    for container in spec.get("containers") or ():
        running = running.plus(_of(container))
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            running = running.plus(_of(container))
        else:
            resource_amounts = _of(container)
            largest = ResourceAmounts(
                max(largest.cpu, resource_amounts.cpu), max(largest.memory, resource_amounts.memory)
            )
    overhead = amounts(spec.get("overhead"))
    larger = ResourceAmounts(max(running.cpu, largest.cpu), max(running.memory, largest.memory), 1)
    return larger.plus(ResourceAmounts(overhead.cpu, overhead.memory))


def _of(container: Mapping[str, Any]) -> ResourceAmounts:
    resources = container.get("resources") or {}
    return amounts((resources.get("limits") or {}) | (resources.get("requests") or {}))._replace(pods=0)
