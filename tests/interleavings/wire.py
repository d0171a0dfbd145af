"""What is between workers and the API server: requests are letters, and letters may be late, lost or answered badly."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from migrations_app.actions.changes import ObjectTarget, PlannedRequest, RbacNeed
from migrations_app.actions.plan import ClusterIdentity
from migrations_app.actions.request import ObjectVersion
from migrations_app.clients.kubernetes.api import ListPage, Resource, WriteResult
from migrations_app.manifests import JsonMap
from migrations_app.twin.ports.writing import TwinWriter
from migrations_app.twin.server import Twin
from tests.interleavings.actors import IDENTITY, READ, RUNNING, WAITING, HaltedWorker, halted

FAILED = WriteResult(status=500, reason="InternalError", message="it failed")
BUSY = WriteResult(status=429, reason="TooManyRequests", message="later", retry_after=1.0)
FORBIDDEN = WriteResult(status=403, reason="Forbidden", message="not allowed")


@dataclass(slots=True, eq=False)
class RequestLetter:
    """A request on its way, and its answer once it has arrived. It may arrive long after its sender is gone."""

    change: PlannedRequest
    object_version: ObjectVersion
    own: dict[str, str]
    rollout: str
    step: str
    number: int
    sender: HaltedWorker
    answer: WriteResult | None = None


class LetterWriter:
    """A Writer over a twin; each request of the worker that runs halts it first."""

    def __init__(self, twin: Twin, letters: list[RequestLetter]) -> None:
        self._twin, self._letters = TwinWriter(twin), letters

    def identity(self) -> ClusterIdentity:
        halted(IDENTITY)
        return self._twin.identity()

    def read(self, target: ObjectTarget) -> JsonMap | None:
        halted(READ)
        return self._twin.read(target)

    def pages(self, resource: Resource) -> Iterator[ListPage]:
        return self._twin.pages(resource)

    def may(self, need: RbacNeed, *, namespace: str = "", name: str = "") -> bool:
        return self._twin.may(need, namespace=namespace, name=name)

    def dry_run(self, change: PlannedRequest, object_version: ObjectVersion, *, own: dict[str, str]) -> WriteResult:
        return self._twin.dry_run(change, object_version, own=own)

    def send(
        self, change: PlannedRequest, object_version: ObjectVersion, *, own: dict[str, str], purpose: str
    ) -> WriteResult:
        words = dict(word.split("=", 1) for word in purpose.split())
        sender = RUNNING[0]
        assert sender is not None
        letter = RequestLetter(
            change, object_version, own, words["action"], words["step"], int(words["attempt"]), sender
        )
        self._letters.append(letter)
        sender.letter = letter
        answer: Any = halted(WAITING)
        sender.letter = None
        assert isinstance(answer, WriteResult)
        return answer

    def now(self, target: ObjectTarget) -> JsonMap | None:
        """The object, for whoever only looks on."""
        return self._twin.read(target)

    def deliver(self, letter: RequestLetter) -> WriteResult:
        """The server's answer to the letter."""
        return self._twin.send(letter.change, letter.object_version, own=letter.own, purpose="")

    def calls(self) -> Mapping[tuple[str, str], int]:
        return {}

    def close(self) -> None:
        return
