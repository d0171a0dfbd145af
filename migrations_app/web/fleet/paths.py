"""The path of a cluster as releases, for lists that do not read whole reports."""

from dataclasses import dataclass
from functools import lru_cache

from migrations_app.errors import InvalidInput
from migrations_app.karpenter.upgrade_path import path
from migrations_app.karpenter.versions import kubernetes_minor
from migrations_app.queries.fleet.clusters import FleetRow


@dataclass(frozen=True, slots=True)
class ReleasePath:
    """`start` runs; `lands` are the releases still to be installed, in order."""

    start: str
    lands: tuple[str, ...]

    @property
    def next(self) -> str:
        """The release to upgrade to next; empty where nothing is left."""
        return self.lands[0] if self.lands else ""

    @property
    def several(self) -> bool:
        return len(self.lands) > 1

    @property
    def last(self) -> str:
        return self.lands[-1] if self.lands else self.start


def path_of(row: FleetRow) -> ReleasePath | None:
    """The path by today's tables; None where the release is not known or the scan judged another next upgrade."""
    minor = kubernetes_minor(row.kubernetes_version) or ""
    found = _path(row.karpenter_version, kubernetes=minor, target=row.target)
    if found is None:
        return None
    hops, releases = found
    if hops and hops[0] != row.next_hop:
        return None
    return ReleasePath(row.karpenter_version, releases)


@lru_cache(maxsize=1024)
def _path(release: str, *, kubernetes: str, target: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The hops and their releases; a fleet has few different ones."""
    try:
        way = path(release, target=target or None, kubernetes=kubernetes or None)
    except InvalidInput:
        return None
    return way.hops, tuple(str(step.release) for step in way.steps)
