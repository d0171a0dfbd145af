"""Reads only the requested parts of a cluster, and the parts that their readers need."""

import time
from collections.abc import Iterable, Iterator
from typing import Any

from migrations_app.clients.kubernetes.api import ClusterApi
from migrations_app.collect import missing_conversion
from migrations_app.collect import parts as readers
from migrations_app.collect.collect import PartsRun, ProgressListener, taken_at, thread_pool
from migrations_app.collect.reading import Reading
from migrations_app.inventory.inventory import PART_NAMES, Inventory
from migrations_app.inventory.parts import NOT_ASKED, Part, Seen

ALWAYS = ("version", "discovery", "crds", "controller")
"""Parts that the readers of other parts use."""
_STAGES = ((readers.VERSION,), (readers.DISCOVERY,), readers.FIRST, readers.SECOND)


class PartsOnDemand:
    """One reading of a cluster to which parts can be added. `deadline` is in seconds, for the whole reading."""

    def __init__(
        self, api: ClusterApi, *, cluster: str, deadline: float = 600.0, on_part: ProgressListener | None = None
    ) -> None:
        self._cluster = cluster
        self._run = PartsRun(Reading(api, time.monotonic() + deadline), on_part, {}, {}, None)

    @property
    def seen(self) -> int:
        """The number of parts that were read."""
        return sum(isinstance(part, Seen) for part in self._run.parts.values())

    def inventory(self, names: Iterable[str]) -> Inventory:
        """The inventory with these parts and all that were read before; the others are unseen (`not_asked`)."""
        run, jobs = self._run, _jobs_for(names)
        for stage in _STAGES:
            new = [job for job in stage if job in jobs and job.gives[0] not in run.parts]
            with thread_pool() as pool:
                list(pool.map(run.read, new))
            run.reading.learn(_every(run.parts))
        run.parts |= missing_conversion.read_by_content(run.reading)
        parts: dict[str, Any] = _every(run.parts)
        return Inventory(cluster=self._cluster, taken_at=taken_at(run.reading.api, ""), **parts)


def _every(parts: dict[str, Part[Any]]) -> dict[str, Part[Any]]:
    return {name: parts.get(name, NOT_ASKED) for name in PART_NAMES}


def _jobs_for(names: Iterable[str]) -> tuple[readers.Job, ...]:
    """The jobs for these parts, and those for the parts that they need; a job only needs parts of earlier stages."""
    part_names = {*ALWAYS, *names}

    def needed() -> Iterator[readers.Job]:
        for stage in reversed(_STAGES):
            for job in stage:
                if part_names.intersection(job.gives):
                    part_names.update(job.needs)
                    yield job

    return tuple(needed())
