"""The port through which a cluster is changed: one named object at a time, every request tied to a reading."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from migrations_app.actions.changes import Change, Need, Target
from migrations_app.actions.conditions import Tree
from migrations_app.actions.plan import Identity
from migrations_app.actions.sending import Tie
from migrations_app.clients.port import Page, Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What the server answered to one request. `conflict` names the managers of a refused server-side apply."""

    status: int
    reason: str = ""
    message: str = ""
    audit_id: str = ""
    uid: str = ""
    resource_version: str = ""
    object: Tree | None = None
    conflicts: tuple[str, ...] = ()
    retry_after: float | None = None

    @property
    def done(self) -> bool:
        return 200 <= self.status < 300

    @property
    def in_doubt(self) -> bool:
        """The server failed while it worked on it: whether anything happened has to be read (A22)."""
        return self.status >= 500 or self.status == 408


class Writer(Protocol):
    """Changes of one cluster, as one identity. `purpose` stands in the User-Agent: `action=<id> step=<n>` (K16)."""

    def identity(self) -> Identity:
        """Which cluster this is (A05). Raises CouldNotLook."""

    def read(self, target: Target) -> Tree | None:
        """The object as it is; None when there is none. Raises CouldNotLook when that cannot be told."""

    def pages(self, resource: Resource) -> Iterator[Page]:
        """All pages of a list, as ClusterApi gives them: for the picture of the cluster. Raises CouldNotLook."""

    def may(self, need: Need, *, namespace: str = "", name: str = "") -> bool:
        """Whether these credentials may do that, as the server judges it (A26); without a name, to every object.

        Raises CouldNotLook.
        """

    def dry_run(self, change: Change, tie: Tie, *, own: dict[str, str]) -> Sent:
        """The answer to the request with nothing kept (K14). Raises CouldNotLook when there is no answer."""

    def send(self, change: Change, tie: Tie, *, own: dict[str, str], purpose: str) -> Sent:
        """The answer to the request, sent once and never again (A20). Raises CouldNotLook when there is no answer."""

    def close(self) -> None:
        """Ends connections and drops credentials from memory; harmless when called twice."""
