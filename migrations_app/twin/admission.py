"""Admission webhooks: one whose service runs admits every request; one whose service is down refuses by its
failurePolicy."""

from collections.abc import Iterator, Mapping
from typing import Any

from migrations_app.manifests import JsonMap
from migrations_app.twin.answers import internal
from migrations_app.twin.definitions import service_of
from migrations_app.twin.objects.faults import RefusalCause
from migrations_app.twin.objects.selectors import selected_by
from migrations_app.twin.state import NAMESPACES, Work

_GROUP = "admissionregistration.k8s.io"
_CONFIGURATIONS = ((_GROUP, "mutatingwebhookconfigurations"), (_GROUP, "validatingwebhookconfigurations"))


def refuse_by_webhooks(work: Work, document: JsonMap, *, operation: str) -> None:
    """Raises RequestRefused if a webhook that has to admit this request is down."""
    if not work.state.definitions.down or work.call.kind.group == _GROUP:
        return
    for webhook in _webhooks(work):
        if service_of(webhook.get("clientConfig") or {}) not in work.state.definitions.down:
            continue
        covered = any(_covers(rule, work, operation=operation) for rule in webhook.get("rules") or ())
        if covered and webhook.get("failurePolicy") != "Ignore" and _selected(webhook, work, document=document):
            service = service_of(webhook["clientConfig"]).rpartition("/")[2]
            failure = f'failed calling webhook "{webhook.get("name")}": Post: service "{service}" not found'
            message = f"Internal error occurred: {failure}"
            raise internal(message, reason="InternalError", causes=[RefusalCause("", "", failure)])


def _webhooks(work: Work) -> Iterator[JsonMap]:
    for place in _CONFIGURATIONS:
        for stored in work.state.store.collection(place).between(""):
            yield from stored.document.get("webhooks") or ()


def _covers(rule: Mapping[str, Any], work: Work, *, operation: str) -> bool:
    call = work.call
    plural = f"{call.kind.plural}/{call.subresource}" if call.subresource else call.kind.plural
    resources = rule.get("resources") or ()
    wide = "*/*" in resources or ("*" in resources and not call.subresource)
    by_resource = wide or plural in resources or (f"{call.kind.plural}/*" in resources)
    return (
        by_resource
        and bool({"*", operation} & set(rule.get("operations") or ()))
        and bool({"*", call.kind.group} & set(rule.get("apiGroups") or ()))
        and bool({"*", call.version} & set(rule.get("apiVersions") or ()))
    )


def _selected(webhook: JsonMap, work: Work, *, document: JsonMap) -> bool:
    labels = document["metadata"].get("labels") or {}
    namespace_object = work.state.store.find(NAMESPACES, ("", work.call.namespace))
    namespace_labels = (namespace_object.document["metadata"].get("labels") or {}) if namespace_object else {}
    pairs = (("objectSelector", labels), ("namespaceSelector", namespace_labels))
    return all(selected_by(webhook.get(key) or {}, empty=True)(some_labels) for key, some_labels in pairs)
