"""Lists the objects of a CRD that a step changed: while its conversion does not answer, every read of them fails."""

from collections.abc import Iterator
from typing import NamedTuple

from migrations_app.actions.changes import PlannedRequest
from migrations_app.actions.conditions import value_at
from migrations_app.clients.kubernetes.api import Resource, Writer
from migrations_app.errors import Forbidden, ReadError, Unauthorized
from migrations_app.karpenter import kinds
from migrations_app.manifests import JsonMap


class ListAnswers(NamedTuple):
    """Text of the first list that fails, and of the first one that karpdash may not read; empty if there is none."""

    failed: str = ""
    unknown: str = ""


def list_answers(writer: Writer, change: PlannedRequest, *, read: JsonMap | None) -> ListAnswers:
    """Whether the objects can be listed in each served version; both texts are empty for a request that changes no CRD,
    or nothing of it that decides that. `read` is the CRD after the request.
    """
    if change.target.kind != kinds.CRD.kind or change.verb == "delete" or "spec" not in change.body:
        return ListAnswers()
    failed, unknown = "", ""
    for resource in _served(read):
        name = f"{resource.plural}.{resource.group} of {resource.version}"
        try:
            for _ in writer.pages(resource):
                pass
        except (Forbidden, Unauthorized) as refusal:
            unknown = unknown or f"whether {name} can be read is not known: {refusal.message}"
        except ReadError as reason:
            failed = failed or f"{name} cannot be read: {reason.message}"
    return ListAnswers(failed, unknown)


def _served(read: JsonMap | None) -> Iterator[Resource]:
    versions = value_at(read, ("spec", "versions"))
    group, plural = str(value_at(read, ("spec", "group"))), str(value_at(read, ("spec", "names", "plural")))
    for version in versions if isinstance(versions, list) else ():
        if version.get("served"):
            yield Resource(group, str(version.get("name")), plural)
