"""The cluster that a rehearsal reads: a bundle, or a live cluster, which is not changed."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from migrations_app.clients.kubernetes.api import ClusterApi
from migrations_app.collect.collect import ProgressListener
from migrations_app.use_cases.scans.one_off import Reachable, bundle_name, open_kubeconfig, opened_bundle

T = TypeVar("T")
Play = Callable[[ClusterApi, str, ProgressListener | None], T]
"""A function that reads the cluster of the given name and plays."""


def with_bundle(path: Path, play: Play[T], *, on_part: ProgressListener | None = None) -> T:
    """The result of the play on a bundle. Raises InvalidInput."""
    with closing(opened_bundle(path)) as api:
        return play(api, bundle_name(path), on_part)


def with_kubeconfig(
    path: Path, play: Play[T], *, context: str, reachable: Reachable, on_part: ProgressListener | None = None
) -> T:
    """The result of the play on a live cluster. Raises InvalidInput, ReadError."""
    name, api = open_kubeconfig(path, context=context, reachable=reachable)
    with closing(api):
        api.get("/version")
        return play(api, name, on_part)
