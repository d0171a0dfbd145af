"""The twin as a Writer: the same requests as over the network, answered from memory."""

from collections.abc import Iterator, Mapping

import msgspec

from migrations_app.actions.changes import ObjectTarget, PlannedRequest, RbacNeed
from migrations_app.actions.conditions import value_at
from migrations_app.actions.plan import ClusterIdentity
from migrations_app.actions.request import ObjectVersion
from migrations_app.clients.kubernetes.api import ListPage, Resource, WriteResult, api_request
from migrations_app.clients.kubernetes.transport import WriteResponse
from migrations_app.clients.kubernetes.writer import KUBE_SYSTEM, request_content, write_result
from migrations_app.errors import InvalidResponse, NotServed
from migrations_app.manifests import JsonMap
from migrations_app.twin.access import ADMIN
from migrations_app.twin.ports.reading import TwinReader, refuse
from migrations_app.twin.server import Twin

NO_CA = "twin"


class TwinWriter:
    """A Writer over a twin, as one user. Documents that it returns must not be changed."""

    def __init__(self, twin: Twin, *, user: str = ADMIN, endpoint: str = "twin://") -> None:
        self._twin, self._user, self._endpoint = twin, user, endpoint
        self._reads = TwinReader(twin, user)

    def identity(self) -> ClusterIdentity:
        uid = value_at(self.read(KUBE_SYSTEM), ("metadata", "uid"))
        if not isinstance(uid, str) or not uid:
            raise InvalidResponse("the cluster has no namespace kube-system")
        return ClusterIdentity(kube_system_uid=uid, ca=NO_CA, endpoint=self._endpoint)

    def read(self, target: ObjectTarget) -> JsonMap | None:
        request = api_request("get", target.path)
        answer = self._twin.request("GET", target.path, user=self._user)
        try:
            refuse(answer, request)
        except NotServed as absent:
            if absent.code == "absent":
                return None
            raise
        return answer.document

    def pages(self, resource: Resource) -> Iterator[ListPage]:
        return self._reads.pages(resource)

    def may(self, need: RbacNeed, *, namespace: str = "", name: str = "") -> bool:
        attributes = {
            "verb": need.verb,
            "group": need.group,
            "resource": need.plural,
            "subresource": need.subresource,
            "namespace": namespace,
            "name": name,
        }
        return self._reads.may(attributes)

    def dry_run(self, change: PlannedRequest, object_version: ObjectVersion, *, own: dict[str, str]) -> WriteResult:
        return self._write(change, object_version, own=own, dry=True)

    def send(
        self, change: PlannedRequest, object_version: ObjectVersion, *, own: dict[str, str], purpose: str
    ) -> WriteResult:
        del purpose  # a twin keeps no audit log
        return self._write(change, object_version, own=own, dry=False)

    def calls(self) -> Mapping[tuple[str, str], int]:
        """The number of reads by RBAC verb and status."""
        return self._reads.clock().calls

    def close(self) -> None:
        """There is no connection to close."""

    def _write(
        self, change: PlannedRequest, object_version: ObjectVersion, *, own: dict[str, str], dry: bool
    ) -> WriteResult:
        body, query = request_content(change, object_version, own=own, dry=dry)
        answer = self._twin.request(
            change.method,
            change.path,
            query=dict(query),
            body=body,
            content_type=change.content_type,
            user=self._user,
        )
        return write_result(WriteResponse(answer.status, msgspec.json.encode(answer.document)))
