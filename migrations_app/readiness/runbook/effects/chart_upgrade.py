"""Computes the inventory after the upgrade of a hop: CRDs, objects in v1, the controller, its settings, webhooks, ports
and rights, and the records of Helm, as the release tables describe the new release."""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from migrations_app.checks.changes import HelmChange
from migrations_app.conversion.chart_values.trees import laid
from migrations_app.inventory.facts.controller import (
    ABSENT,
    CHART,
    CRD_CHART,
    Installation,
    given_values,
    installation,
    value_at,
    webhooks_off,
)
from migrations_app.inventory.facts.managers import managed
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import karpenter as o
from migrations_app.inventory.parts import Part, Seen
from migrations_app.karpenter import labels
from migrations_app.karpenter.controller_settings import GLOBAL_SETTINGS, LAST_READ
from migrations_app.karpenter.release_facts import admission_row, admits
from migrations_app.karpenter.releases import as_tag, find, metrics_port
from migrations_app.karpenter.tables.port_rows import WEBHOOK_PORT
from migrations_app.karpenter.versions import Release, kubernetes_minor, minor_order
from migrations_app.readiness.runbook.effects.as_v1 import converted_to_v1
from migrations_app.readiness.runbook.effects.consequences import with_consequences
from migrations_app.readiness.runbook.effects.controller import release_of
from migrations_app.readiness.runbook.effects.controller_work import with_controller_work
from migrations_app.readiness.runbook.effects.crd_upgrade import with_crds_after_upgrade
from migrations_app.readiness.runbook.effects.environment import with_environment
from migrations_app.readiness.runbook.effects.object_lookup import with_items, with_parts

HASH_ANNOTATIONS = {
    "nodepools": (labels.NODEPOOL_HASH_VERSION,),
    "ec2nodeclasses": (labels.EC2_NODE_CLASS_HASH_VERSION,),
    "nodeclaims": (labels.NODEPOOL_HASH_VERSION, labels.EC2_NODE_CLASS_HASH_VERSION),
}
"""By part the annotations with the version of a hash, which the controller updates."""


def after_upgrade(inventory: Inventory, to: Release, *, values: Iterable[HelmChange] = ()) -> Inventory:
    """Returns the inventory after both charts were upgraded to release `to` with these changes of values, and after the
    new controller has done its own work. Parts that were not read stay unread. If the tables do not know the release,
    the inventory is returned unchanged."""
    row = find(to)
    if row is None:
        return inventory
    recorded = _with_records(
        _with_kubernetes_raised(inventory, row.kubernetes_window(to).min), to, values=tuple(values)
    )
    controller = installation(recorded)
    if controller is None:
        return with_crds_after_upgrade(recorded, to, service=None)
    with_crds = with_crds_after_upgrade(
        recorded, to, service=o.ServiceReference(controller.namespace, controller.name, int(WEBHOOK_PORT))
    )
    started = _with_new_controller(converted_to_v1(with_crds), controller, to=to)
    cleaned = _without_removed_objects(started, to, former=release_of(controller.workload))
    return with_controller_work(_with_hash_versions(with_service_ports(cleaned, to), to))


def _with_kubernetes_raised(inventory: Inventory, least: str) -> Inventory:
    """The inventory with the Kubernetes version raised to `least`, the oldest that the release supports, if the cluster
    is older: checks ask for that before the upgrade.
    """
    version = next(iter(inventory.version.items), None)
    minor = kubernetes_minor(version.git_version) if version else None
    if (
        not isinstance(inventory.version, Seen)
        or version is None
        or minor is None
        or minor_order(minor) >= minor_order(least)
    ):
        return inventory
    major, _, number = least.partition(".")
    raised = replace(version, major=major, minor=number, git_version=f"v{least}.0")
    return with_parts(inventory, {"version": with_items(inventory.version, (raised,))})


def _with_records(inventory: Inventory, to: Release, *, values: tuple[HelmChange, ...]) -> Inventory:
    """The inventory with the new release and values in Helm's records and in the GitOps deliveries of both charts."""
    part, version = inventory.helm_releases, str(to)
    changed: dict[str, Part[Any]] = {}
    if isinstance(part, Seen):
        items = tuple(
            _updated_record(helm_release, version, changes=values)
            if helm_release.chart in (CHART, CRD_CHART)
            else helm_release
            for helm_release in part.items
        )
        charts = {helm_release.chart for helm_release in items}
        controller_release = next((helm_release for helm_release in items if helm_release.chart == CHART), None)
        if controller_release is not None and CRD_CHART not in charts:
            items = (
                *items,
                replace(
                    controller_release, name=CRD_CHART, chart=CRD_CHART, config={}, defaults={}, crds=[], packaged=[]
                ),
            )
        changed["helm_releases"] = with_items(part, items)
    if isinstance(inventory.deliveries, Seen):
        delivered = tuple(_updated_delivery(delivery, to) for delivery in inventory.deliveries.items)
        changed["deliveries"] = with_items(inventory.deliveries, delivered)
    return with_parts(inventory, changed)


def _updated_record(helm_release: o.HelmRelease, to: str, *, changes: tuple[HelmChange, ...]) -> o.HelmRelease:
    values_tree = helm_release.config
    for change in changes:
        if (change.chart, change.release) == (helm_release.chart, helm_release.name):
            values_tree = laid(values_tree, change.given.items())
    return replace(
        helm_release, chart_version=to, app_version=to, config=values_tree, revision=helm_release.revision + 1
    )


def _updated_delivery(delivery: o.GitOpsDelivery, to: Release) -> o.GitOpsDelivery:
    """The delivery with the new version, if it delivers one of the two charts."""
    spec = delivery.spec or {}
    if delivery.kind == "HelmRelease" and delivery.get("spec.chart.spec.chart") in (CHART, CRD_CHART):
        chart = spec["chart"]
        inner = {**chart, "spec": {**chart["spec"], "version": as_tag(to)}}
        return replace(delivery, spec={**spec, "chart": inner})
    if delivery.kind == "Application":
        several = spec.get("sources")
        sources = {"sources": [_updated_source(source, to) for source in several]} if isinstance(several, list) else {}
        source = {"source": _updated_source(spec["source"], to)} if "source" in spec else {}
        return replace(delivery, spec={**spec, **source, **sources})
    return delivery


def _updated_source(source: Any, to: Release) -> Any:  # noqa: ANN401 - plain JSON
    """The source of an Application with the new version, if it names one of the two charts."""
    chart = source.get("chart") if isinstance(source, dict) else None
    if chart not in (CHART, CRD_CHART):
        return source
    helm = {"helm": {**(source.get("helm") or {}), "skipCrds": True}} if chart == CHART else {}
    return {**source, "targetRevision": as_tag(to), **helm}


def _with_new_controller(inventory: Inventory, controller: Installation, *, to: Release) -> Inventory:
    """The inventory with the Deployment of the new chart and its pods."""
    data = next((setting.data or {} for setting in inventory.settings.items if setting.name == GLOBAL_SETTINGS), {})
    values = given_values(inventory)
    after = with_environment(controller.workload, to, values=values.tree if values else None, settings=data)
    return with_consequences(inventory, controller.workload, after=after, kind="Deployment")


def _without_removed_objects(inventory: Inventory, to: Release, *, former: Release | None) -> Inventory:
    """The inventory without what the new chart no longer ships: the ConfigMap of settings and admission webhooks."""
    changed: dict[str, Part[Any]] = {}
    if isinstance(inventory.settings, Seen) and minor_order(to.minor) > minor_order(LAST_READ):
        kept = tuple(setting for setting in inventory.settings.items if not _made_by_tool(setting))
        changed["settings"] = with_items(inventory.settings, kept)
    if isinstance(inventory.webhooks, Seen):
        webhooks_are_off = webhooks_off(installation(inventory), to)
        before = inventory.webhooks.items
        from_chart = [configuration for configuration in before if _is_from_chart(configuration, former)]
        kept_webhooks = [
            configuration
            for configuration in before
            if configuration not in from_chart or _is_shipped(configuration, to, webhooks_are_off=webhooks_are_off)
        ]
        items = tuple(
            _with_webhook_port(configuration) if configuration in from_chart else configuration
            for configuration in kept_webhooks
        )
        changed["webhooks"] = with_items(inventory.webhooks, items)
    return with_parts(inventory, changed)


def _made_by_tool(named_object: o.NamedObject) -> bool:
    """Whether a tool such as Helm made the object, so that it deletes the object if the chart no longer has it."""
    return managed(named_object.metadata).by != "hand" or bool(named_object.metadata.label(labels.HELM_CHART))


def _is_from_chart(configuration: o.WebhookConfiguration, former: Release | None) -> bool:
    """Whether the chart of the `former` release made the webhook configuration."""
    row = admission_row(configuration.name)
    return _made_by_tool(configuration) or (row is not None and former is not None and row.shipped_by(former))


def _is_shipped(configuration: o.WebhookConfiguration, to: Release, *, webhooks_are_off: bool) -> bool:
    row = admission_row(configuration.name)
    return row is None or (row.shipped_by(to) and bool(admits(to, webhooks_off=webhooks_are_off)))


def _with_webhook_port(configuration: o.WebhookConfiguration) -> o.WebhookConfiguration:
    """With the port on which webhooks of releases from 0.29 on are called."""
    hooks = [_hook_with_port(hook) for hook in configuration.webhooks or ()]
    return replace(configuration, webhooks=hooks) if hooks else configuration


def _hook_with_port(hook: o.AdmissionWebhook) -> o.AdmissionWebhook:
    target = hook.client_config
    if target is None or target.service is None:
        return hook
    return replace(hook, client_config=replace(target, service=replace(target.service, port=int(WEBHOOK_PORT))))


def with_service_ports(inventory: Inventory, to: Release) -> Inventory:
    """The inventory with the ports of the new release, or of the chart values, on the Service of the controller."""
    controller = installation(inventory)
    if controller is None:
        return inventory
    values = given_values(inventory)
    chart_port = value_at(values.tree, "controller.metrics.port") if values is not None else ABSENT
    controller_key, port = (
        (controller.namespace, controller.name),
        chart_port if isinstance(chart_port, int) else metrics_port(to),
    )
    serves_webhooks = minor_order(to.minor) <= (1, 0) and not webhooks_off(controller, to)
    changed: dict[str, Part[Any]] = {}
    if isinstance(inventory.services, Seen):
        services = inventory.services.items
        items = tuple(
            replace(
                service,
                spec=replace(service.spec, ports=_ports(service.spec.ports, port, serves_webhooks=serves_webhooks)),
            )
            if (service.namespace, service.name) == controller_key
            else service
            for service in services
        )
        changed["services"] = with_items(inventory.services, items)
    return with_parts(inventory, changed)


def _ports(
    service_ports: list[o.ServicePort] | None, metrics_number: int | None, *, serves_webhooks: bool
) -> list[o.ServicePort]:
    others = [
        service_port
        for service_port in service_ports or ()
        if service_port.name not in ("http-metrics", "https-webhook", "webhook-metrics")
    ]
    webhook = [o.ServicePort(name="https-webhook", port=int(WEBHOOK_PORT))] if serves_webhooks else []
    return [o.ServicePort(name="http-metrics", port=metrics_number), *webhook, *others]


def _with_hash_versions(inventory: Inventory, to: Release) -> Inventory:
    """The inventory with the annotations of hash versions that the controller writes on NodePools, EC2NodeClasses and
    NodeClaims.
    """
    row = find(to)
    pool, node_class = row.hash_versions(to) if row else (None, None)
    versions = {labels.NODEPOOL_HASH_VERSION: pool, labels.EC2_NODE_CLASS_HASH_VERSION: node_class}
    changed: dict[str, Part[Any]] = {}
    for name, keys in HASH_ANNOTATIONS.items():
        part: Any = inventory.part(name)
        versions_by_key = {key: version for key in keys if (version := versions[key])}
        if isinstance(part, Seen) and versions_by_key:
            changed[name] = with_items(part, tuple(_with_annotations(item, versions_by_key) for item in part.items))
    return with_parts(inventory, changed)


def _with_annotations(named_object: o.NamedObject, versions_by_key: dict[str, str]) -> o.NamedObject:
    annotations = named_object.metadata.annotations or {}
    if all(annotations.get(key) == version for key, version in versions_by_key.items()):
        return named_object
    return replace(
        named_object, metadata=replace(named_object.metadata, annotations={**annotations, **versions_by_key})
    )
