"""A bundle that is written from a ClusterApi without a scan: each list is begun again when its token expires."""

from collections.abc import Iterable
from contextlib import suppress
from typing import BinaryIO

from migrations_app.clients.bundle.bundle import BundleManifest
from migrations_app.clients.bundle.writer import Recording
from migrations_app.clients.kubernetes.api import ClusterApi, Resource
from migrations_app.errors import Expired, ReadError

RESTARTS = 2


def write_bundle(
    api: ClusterApi, resources: Iterable[Resource], *, out: BinaryIO, made_at: str, made_by: str
) -> BundleManifest:
    """Reads those lists, writes the .tar.gz and returns its manifest. Raises the errors of GET /version."""
    recording = Recording(api)
    recording.get("/version")
    with suppress(ReadError):  # the bundle's reader then falls back to the objects and CRDs
        recording.served()
    for resource in resources:
        _record(recording, resource)
    return recording.write(out, made_at=made_at, made_by=made_by)


def _record(recording: Recording, resource: Resource) -> None:
    for _ in range(RESTARTS + 1):
        try:
            for _page in recording.pages(resource):
                pass
            return
        except Expired:
            continue
        except ReadError:
            return
