"""The requests of a chart's hooks. A dry run of helm does not run hooks, so each object gets a dry run of its own."""

from collections.abc import Iterator
from typing import Any

import msgspec

from migrations_app.actions.conditions import value_at
from migrations_app.actions.helm.request import HelmOperation, HelmRequest
from migrations_app.clients.helm.records import ReleaseRecord
from migrations_app.clients.helm.relay_rules import RelayedRequest
from migrations_app.clients.kubernetes.transport import Transport
from migrations_app.clients.kubernetes.writer import as_dry_run, write_result
from migrations_app.errors import InvalidInput

EVENTS: dict[HelmOperation, tuple[str, ...]] = {
    "upgrade": ("pre-upgrade", "post-upgrade"),
    "rollback": ("pre-rollback", "post-rollback"),
}


def hook_requests(transport: Transport, record: ReleaseRecord, *, doing: HelmOperation) -> tuple[HelmRequest, ...]:
    """The requests with which the hooks of that run create and delete objects. Raises InvalidInput if the server
    refuses one, ReadError.
    """
    objects = record.hook_objects(EVENTS[doing])
    return tuple(
        request for tree in objects.values() for request in _requests(transport, tree, namespace=record.namespace)
    )


def _requests(transport: Transport, tree: dict[str, Any], *, namespace: str) -> Iterator[HelmRequest]:
    served = _served(transport, str(tree.get("apiVersion")), kind=str(tree.get("kind")))
    name = str(value_at(tree, ("metadata", "name")))
    home = f"/namespaces/{value_at(tree, ('metadata', 'namespace')) or namespace}" if served.namespaced else ""
    collection = f"{served.root}{home}/{served.plural}"
    request = RelayedRequest(method="POST", path=collection, body=tree)
    body, query = as_dry_run("POST", tree, query=[])
    result = write_result(
        transport.send_once(
            "POST", collection, query=query, body=body, content_type="application/json", purpose="helm dry-run"
        )
    )
    if not result.done and result.status != 409:
        words = f"hook {tree.get('kind')} {name}: {result.message or result.reason} (HTTP {result.status})"
        raise InvalidInput(words, code="missing_rights" if result.status == 403 else "refused")
    yield HelmRequest(method="POST", path=f"{collection}/{name}", digest=request.digest)
    yield HelmRequest(method="DELETE", path=f"{collection}/{name}", again=True)


class _HookPlace(msgspec.Struct, frozen=True):
    root: str
    plural: str
    namespaced: bool


class _HookKind(msgspec.Struct, frozen=True):
    name: str
    kind: str
    namespaced: bool = False


class _HookKinds(msgspec.Struct, frozen=True):
    resources: list[_HookKind] = []


def _served(transport: Transport, api_version: str, *, kind: str) -> _HookPlace:
    root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    body = transport.get(root).body
    hook_kinds = msgspec.json.decode(body, type=_HookKinds).resources
    row = next((hook_kind for hook_kind in hook_kinds if hook_kind.kind == kind and "/" not in hook_kind.name), None)
    if row is None:
        raise InvalidInput(f"a hook creates a {kind} of {api_version}, which is not served", code="refused")
    return _HookPlace(root, row.name, row.namespaced)
