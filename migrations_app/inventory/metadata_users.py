"""Workloads that are known to ask instance metadata, among those that an inventory keeps."""

from collections.abc import Iterator
from dataclasses import dataclass

from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import Container, Workload
from migrations_app.karpenter.metadata_rows import METADATA_USERS, MetadataUser


@dataclass(frozen=True, slots=True)
class Asking:
    """A workload with the row that knows it; `image` is what told."""

    kind: str
    workload: Workload
    image: str
    row: MetadataUser


def metadata_users(inventory: Inventory) -> Iterator[Asking]:
    """Those without host network whose arguments do not spare them the question."""
    for kind, part in (("Deployment", inventory.deployments), ("DaemonSet", inventory.daemonsets)):
        for workload in part.items:
            spec = workload.template.spec
            for container in () if spec.host_network else spec.containers or ():
                row = _row(container)
                if row:
                    yield Asking(kind, workload, container.image or "", row)


def may_ask_metadata(workload: Workload) -> bool:
    """Whether an image is known to ask instance metadata, whatever its arguments."""
    images = [container.image or "" for container in workload.template.spec.containers or ()]
    return any(row.image in image for row in METADATA_USERS for image in images)


def _row(container: Container) -> MetadataUser | None:
    given = {argument.partition("=")[0] for argument in container.args or ()}
    known = (row for row in METADATA_USERS if row.image in (container.image or ""))
    return next((row for row in known if not set(row.spared_by) <= given), None)
