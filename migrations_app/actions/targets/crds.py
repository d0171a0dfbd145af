"""CRDs as targets: their objects and permissions, the CRDs of a chart checked against the release tables, the
conversion to set, and the release that a plan is made for.

A conversion that the controller maintains is kept. A conversion is never set to a Service that cannot answer, since
every read of the kind would then fail.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from migrations_app.actions.base import Parameters, PlanningContext, Unavailable
from migrations_app.actions.changes import ObjectTarget, RbacNeed
from migrations_app.actions.conditions import value_at
from migrations_app.inventory.facts.controller import CRD_CHART
from migrations_app.inventory.facts.conversion_webhook import chart_webhook, service_problem, webhook_service
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import CRD, ServiceReference
from migrations_app.inventory.parts import Unseen
from migrations_app.karpenter import kinds
from migrations_app.karpenter.crds import MAIN_CHART_WEBHOOK_SERVICE, Crd
from migrations_app.karpenter.detection import DetectedRelease
from migrations_app.karpenter.kinds import Kind
from migrations_app.karpenter.releases import crd_set
from migrations_app.karpenter.upgrade_path import path
from migrations_app.karpenter.versions import Release, kubernetes_minor, parse
from migrations_app.manifests import JsonMap

CLIENT = ("spec", "conversion", "webhook", "clientConfig")
OFF: JsonMap = {"strategy": "None", "webhook": None}


def with_conversion(crd: JsonMap, before: JsonMap | None, *, inventory: Inventory, release: Release) -> JsonMap:
    """The CRD as shipped, with the conversion for this cluster. Raises Unavailable if its Service cannot answer."""
    shipped = value_at(crd, ("spec", "conversion"))
    if not isinstance(shipped, dict) or shipped.get("strategy") != "Webhook":
        return crd | {"spec": crd["spec"] | {"conversion": dict(OFF) if before else {"strategy": "None"}}}
    _refuse_switched_off(inventory, release)
    client = _client(crd, before, inventory=inventory, release=release)
    _refuse_unanswered(client, str(value_at(crd, ("metadata", "name"))), inventory=inventory)
    webhook = shipped["webhook"] | {"clientConfig": client}
    return crd | {"spec": crd["spec"] | {"conversion": shipped | {"webhook": webhook}}}


def _refuse_switched_off(inventory: Inventory, release: Release) -> None:
    address = chart_webhook(inventory, release)
    if address is not None and not address.converts:
        words = f"{CRD_CHART} is installed with webhook.enabled=false, but the CRDs of {release} convert: switch it on"
        raise Unavailable(words, code="conversion_off")


def _client(crd: JsonMap, before: JsonMap | None, *, inventory: Inventory, release: Release) -> JsonMap:
    """The existing client configuration is kept, in particular its caBundle, which the controller writes."""
    existing = value_at(before, CLIENT)
    if isinstance(existing, dict) and (existing.get("service") or existing.get("url")):
        return existing
    name, namespace, port = _service(inventory, release)
    service = value_at(crd, (*CLIENT, "service")) or {}
    return {"service": service | {"name": name, "namespace": namespace, "port": port}}


def _service(inventory: Inventory, release: Release) -> tuple[str, str, int]:
    address = chart_webhook(inventory, release)
    if address is not None and address.namespace:
        return address.name, address.namespace, address.port
    service = webhook_service(inventory)
    return (service.name, service.namespace, MAIN_CHART_WEBHOOK_SERVICE[2]) if service else MAIN_CHART_WEBHOOK_SERVICE


def _refuse_unanswered(client: JsonMap, crd: str, *, inventory: Inventory) -> None:
    service = client.get("service")
    if not isinstance(service, dict):
        return  # an address outside the cluster: the inventory cannot show whether it answers
    for name in ("services", "endpoints"):
        part = inventory.part(name)
        if isinstance(part, Unseen):
            raise Unavailable(
                f"it is not known whether the conversion webhook answers: {name}: {part.why}", code="not_seen"
            )
    target = ServiceReference(
        namespace=str(service.get("namespace", "")), name=str(service.get("name", "")), port=service.get("port")
    )
    problem = service_problem(inventory, target)
    if problem:
        words = (
            f"{crd} would be converted by {target.namespace}/{target.name}, and every read of it would fail: {problem}"
        )
        raise Unavailable(words, code="conversion_unanswered")


CHART = "Chart.yaml"
ORIGIN = "origin"
"""Key of the chart's origin, as text, next to its files."""


def crds_of(files: Mapping[str, bytes], release: Release) -> dict[str, JsonMap]:
    """The CRDs by name, in the order of the release's set. Raises Unavailable if the chart is of another release or
    differs from what the tables know about that release.
    """
    _refuse_other(files, release)
    shipped = crd_set(release)
    if shipped is None:
        raise Unavailable(f"the CRDs of {release} are not known", code="unknown_release")
    by_name = {str(value_at(document, ("metadata", "name"))): document for document in _documents(files)}
    missing = [row.name for row in shipped.crds if row.name not in by_name]
    unexpected = sorted(set(by_name) - {row.name for row in shipped.crds})
    if missing or unexpected:
        words = f"without {', '.join(missing)}" if missing else f"with {', '.join(unexpected)}"
        raise Unavailable(f"this is not the chart of {release}: it comes {words}", code="strange_chart")
    for row in shipped.crds:
        _refuse_other_versions(by_name[row.name], row)
    return {row.name: by_name[row.name] for row in shipped.crds}


def origin(files: Mapping[str, bytes]) -> str:
    """Where the chart came from, as text."""
    return files.get(ORIGIN, b"").decode("utf-8", "replace")


def _refuse_other(files: Mapping[str, bytes], release: Release) -> None:
    chart = _decoded(files.get(CHART, b"null"))
    version = chart.get("version") if isinstance(chart, dict) else None
    if parse(version) != release:
        chart_version = str(version)[:40] if version else "no version"
        raise Unavailable(f"the chart is of {chart_version}, and {release} is needed", code="other_release")


def _documents(files: Mapping[str, bytes]) -> list[JsonMap]:
    """Every document except Chart.yaml; each must be a CRD."""
    contents = [_decoded(body) for name, body in sorted(files.items()) if name not in (CHART, ORIGIN)]
    flat = [
        document
        for file in contents
        for document in (file if isinstance(file, list) else [file])
        if document is not None
    ]
    for document in flat:
        if not isinstance(document, dict) or document.get("kind") != "CustomResourceDefinition":
            raise Unavailable("the chart contains other objects than CRDs", code="strange_chart")
    return flat


def _decoded(body: bytes) -> Any:  # noqa: ANN401 - plain JSON
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise Unavailable("a file of the chart cannot be read", code="strange_chart") from None


def _refuse_other_versions(crd: JsonMap, row: Crd) -> None:
    """Raises Unavailable unless names and versions are those of the release; schemas are not compared."""
    versions = value_at(crd, ("spec", "versions"))
    version_bodies = (
        [version for version in versions if isinstance(version, dict)] if isinstance(versions, list) else []
    )
    flags = {
        (version_body.get("name"), version_body.get("served"), version_body.get("storage"))
        for version_body in version_bodies
    }
    names = (
        crd.get("apiVersion"),
        value_at(crd, ("spec", "group")),
        value_at(crd, ("spec", "names", "plural")),
        value_at(crd, ("spec", "names", "kind")),
    )
    same_names = names == ("apiextensions.k8s.io/v1", row.kind.group, row.kind.plural, row.kind.kind)
    if not same_names or flags != {(version.name, version.served, version.storage) for version in row.versions}:
        words = f"{row.name} of the chart serves or stores other versions than in its release"
        raise Unavailable(words, code="strange_chart")


PARTS: dict[Kind, str] = {
    kinds.PROVISIONER: "provisioners",
    kinds.AWS_NODE_TEMPLATE: "awsnodetemplates",
    kinds.MACHINE: "machines",
    kinds.NODE_POOL: "nodepools",
    kinds.EC2_NODE_CLASS: "ec2nodeclasses",
    kinds.NODE_CLAIM: "nodeclaims",
}
"""The inventory part with the objects of a kind."""


def crd_target(name: str, uid: str = "") -> ObjectTarget:
    """The CRD of that name."""
    row = kinds.CRD
    return ObjectTarget(row.group, row.versions[0], row.plural, row.kind, name, uid=uid)


def target_of(crd: CRD) -> ObjectTarget:
    """The CRD as read, with its uid."""
    return crd_target(crd.name, crd.metadata.uid or "")


def object_target(kind: Kind, version: str, *, name: str, uid: str = "") -> ObjectTarget:
    """One cluster-scoped object of a kind, in that version."""
    return ObjectTarget(kind.group, version, kind.plural, kind.kind, name, uid=uid)


def crd_need(verb: str, subresource: str = "") -> RbacNeed:
    """The permission for that verb on CRDs."""
    return RbacNeed(verb=verb, group=kinds.CRD.group, plural=kinds.CRD.plural, subresource=subresource)


def kind_need(verb: str, kind: Kind) -> RbacNeed:
    """The permission for that verb on objects of the kind."""
    return RbacNeed(verb=verb, group=kind.group, plural=kind.plural)


def find_crd(inventory: Inventory, name: str) -> CRD | None:
    """The CRD of that name as read; None if there is none."""
    return next((crd for crd in inventory.crds.items if crd.name == name), None)


def release_for(context: PlanningContext, parameters: Parameters) -> Release:
    """The release that the parameters name, otherwise that of the next hop. Raises as `planned_release`."""
    return planned_release(context.inventory, context.running, wanted=str(parameters.get("release") or ""))


def planned_release(inventory: Inventory, running: DetectedRelease, *, wanted: str = "") -> Release:
    """The release that a plan upgrades to; without `wanted`, that of the next hop. Raises Unavailable for a release
    that is not one hop away, and InvalidInput for one that is unknown, known to be bad or older than the running one.
    """
    if parse(wanted) is not None and parse(wanted) == running.release:
        return _known_running_release(running)
    version = next((server_version.git_version for server_version in inventory.version.items), "")
    upgrade_path = path(running, target=wanted or None, kubernetes=kubernetes_minor(version))
    hops = upgrade_path.hops
    if not hops:
        raise Unavailable(f"{upgrade_path.current} is the newest release on the upgrade path", code="nothing_to_do")
    if wanted and len(hops) > 1:
        words = f"{upgrade_path.target} is {len(hops)} hops away; the next one ends at {hops[0].release}"
        raise Unavailable(words, code="not_next")
    return hops[0].release


def _known_running_release(running: DetectedRelease) -> Release:
    if running.release is None:
        raise Unavailable("the running release is not known", code="unknown_release")
    return running.release
