"""The inventory after a hop has landed: CRDs, objects in v1, controller, settings, webhooks, ports, rights and records
of the new release, as the tables say."""

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
from migrations_app.readiness.plan.effects.as_v1 import shown_as_v1
from migrations_app.readiness.plan.effects.by_itself import by_controller
from migrations_app.readiness.plan.effects.controller import release_of
from migrations_app.readiness.plan.effects.crd_landing import brought_crds
from migrations_app.readiness.plan.effects.environment import with_environment
from migrations_app.readiness.plan.effects.followers import put
from migrations_app.readiness.plan.effects.places import with_items, with_parts

HASHES = {
    "nodepools": (labels.NODEPOOL_HASH_VERSION,),
    "ec2nodeclasses": (labels.EC2_NODE_CLASS_HASH_VERSION,),
    "nodeclaims": (labels.NODEPOOL_HASH_VERSION, labels.EC2_NODE_CLASS_HASH_VERSION),
}
"""By part the annotations with the version of a hash, which the controller keeps up to date."""


def landed(inventory: Inventory, to: Release, *, values: Iterable[HelmChange] = ()) -> Inventory:
    """After both charts were brought to that release with these changes of values, the controller runs, and has done
    what it does by itself. What was not read stays so, and a release that the tables do not know changes nothing."""
    row = find(to)
    if row is None:
        return inventory
    recorded = _recorded(_raised(inventory, row.kubernetes_window(to).min), to, values=tuple(values))
    controller = installation(recorded)
    if controller is None:
        return brought_crds(recorded, to, service=None)
    with_crds = brought_crds(
        recorded, to, service=o.ServiceReference(controller.namespace, controller.name, int(WEBHOOK_PORT))
    )
    started = _started(shown_as_v1(with_crds), controller, to=to)
    settled = _settled(started, to, was=release_of(controller.workload))
    return by_controller(_hashed(_answering(settled, to), to))


def _raised(inventory: Inventory, least: str) -> Inventory:
    """On the oldest Kubernetes that the release supports, where the cluster is older: the hop asks for that first."""
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


def _recorded(inventory: Inventory, to: Release, *, values: tuple[HelmChange, ...]) -> Inventory:
    part, version = inventory.helm_releases, str(to)
    changed: dict[str, Part[Any]] = {}
    if isinstance(part, Seen):
        items = tuple(
            _record(helm_release, version, values=values) if helm_release.chart in (CHART, CRD_CHART) else helm_release
            for helm_release in part.items
        )
        charts = {helm_release.chart for helm_release in items}
        main = next((helm_release for helm_release in items if helm_release.chart == CHART), None)
        if main is not None and CRD_CHART not in charts:
            items = (
                *items,
                replace(main, name=CRD_CHART, chart=CRD_CHART, config={}, defaults={}, crds=[], packaged=[]),
            )
        changed["helm_releases"] = with_items(part, items)
    if isinstance(inventory.deliveries, Seen):
        delivered = tuple(_redelivered(delivery, to) for delivery in inventory.deliveries.items)
        changed["deliveries"] = with_items(inventory.deliveries, delivered)
    return with_parts(inventory, changed)


def _record(helm_release: o.HelmRelease, to: str, *, values: tuple[HelmChange, ...]) -> o.HelmRelease:
    config = helm_release.config
    for change in values:
        if (change.chart, change.release) == (helm_release.chart, helm_release.name):
            config = laid(config, change.given.items())
    return replace(helm_release, chart_version=to, app_version=to, config=config, revision=helm_release.revision + 1)


def _redelivered(delivery: o.GitOpsDelivery, to: Release) -> o.GitOpsDelivery:
    """The delivery of one of the two charts with the new version."""
    spec = delivery.spec or {}
    if delivery.kind == "HelmRelease" and delivery.get("spec.chart.spec.chart") in (CHART, CRD_CHART):
        chart = spec["chart"]
        inner = {**chart, "spec": {**chart["spec"], "version": as_tag(to)}}
        return replace(delivery, spec={**spec, "chart": inner})
    if delivery.kind == "Application" and delivery.get("spec.source.chart") in (CHART, CRD_CHART):
        source = {**spec["source"], "targetRevision": as_tag(to)}
        if source["chart"] == CHART:
            source["helm"] = {**(source.get("helm") or {}), "skipCrds": True}
        return replace(delivery, spec={**spec, "source": source})
    return delivery


def _started(inventory: Inventory, controller: Installation, *, to: Release) -> Inventory:
    """With the Deployment of the new chart, and its pods."""
    data = next((setting.data or {} for setting in inventory.settings.items if setting.name == GLOBAL_SETTINGS), {})
    values = given_values(inventory)
    after = with_environment(controller.workload, to, values=values.tree if values else None, settings=data)
    return put(inventory, controller.workload, after=after, kind="Deployment")


def _settled(inventory: Inventory, to: Release, *, was: Release | None) -> Inventory:
    """Without what the chart of that release ships no more: the ConfigMap of settings, and admission webhooks."""
    changed: dict[str, Part[Any]] = {}
    if isinstance(inventory.settings, Seen) and minor_order(to.minor) > minor_order(LAST_READ):
        left = tuple(setting for setting in inventory.settings.items if not _of_chart(setting))
        changed["settings"] = with_items(inventory.settings, left)
    if isinstance(inventory.webhooks, Seen):
        off = webhooks_off(installation(inventory), to)
        before = inventory.webhooks.items
        ours = [configuration for configuration in before if _came_with(configuration, was)]
        stay = [
            configuration
            for configuration in before
            if configuration not in ours or _shipped(configuration, to, off=off)
        ]
        items = tuple(_called(configuration) if configuration in ours else configuration for configuration in stay)
        changed["webhooks"] = with_items(inventory.webhooks, items)
    return with_parts(inventory, changed)


def _of_chart(named_object: o.NamedObject) -> bool:
    """Whether Helm made it, and takes it away where the chart does not hold it any more."""
    return managed(named_object.metadata).by != "hand" or bool(named_object.metadata.label(labels.HELM_CHART))


def _came_with(configuration: o.WebhookConfiguration, was: Release | None) -> bool:
    """Whether the chart of the release before made it."""
    row = admission_row(configuration.name)
    return _of_chart(configuration) or (row is not None and was is not None and row.shipped_by(was))


def _shipped(configuration: o.WebhookConfiguration, to: Release, *, off: bool) -> bool:
    row = admission_row(configuration.name)
    return row is None or (row.shipped_by(to) and bool(admits(to, webhooks_off=off)))


def _called(configuration: o.WebhookConfiguration) -> o.WebhookConfiguration:
    """With the port on which the releases from 0.29 on are called."""
    hooks = [_at_port(hook) for hook in configuration.webhooks or ()]
    return replace(configuration, webhooks=hooks) if hooks else configuration


def _at_port(hook: o.AdmissionWebhook) -> o.AdmissionWebhook:
    target = hook.client_config
    if target is None or target.service is None:
        return hook
    return replace(hook, client_config=replace(target, service=replace(target.service, port=int(WEBHOOK_PORT))))


def _answering(inventory: Inventory, to: Release) -> Inventory:
    """With the ports of that release, or of the values, on the Service of the controller."""
    controller = installation(inventory)
    if controller is None:
        return inventory
    values = given_values(inventory)
    chart_port = value_at(values.tree, "controller.metrics.port") if values is not None else ABSENT
    mine, port = (
        (controller.namespace, controller.name),
        chart_port if isinstance(chart_port, int) else metrics_port(to),
    )
    hooks = minor_order(to.minor) <= (1, 0) and not webhooks_off(controller, to)
    changed: dict[str, Part[Any]] = {}
    if isinstance(inventory.services, Seen):
        every = inventory.services.items
        items = tuple(
            replace(service, spec=replace(service.spec, ports=_ports(service.spec.ports, port, hooks=hooks)))
            if (service.namespace, service.name) == mine
            else service
            for service in every
        )
        changed["services"] = with_items(inventory.services, items)
    return with_parts(inventory, changed)


def _ports(service_ports: list[o.ServicePort] | None, metrics: int | None, *, hooks: bool) -> list[o.ServicePort]:
    others = [
        service_port
        for service_port in service_ports or ()
        if service_port.name not in ("http-metrics", "https-webhook", "webhook-metrics")
    ]
    webhook = [o.ServicePort(name="https-webhook", port=int(WEBHOOK_PORT))] if hooks else []
    return [o.ServicePort(name="http-metrics", port=metrics), *webhook, *others]


def _hashed(inventory: Inventory, to: Release) -> Inventory:
    """With the hash versions that the controller writes on pools, classes and claims."""
    row = find(to)
    pool, node_class = row.hash_versions(to) if row else (None, None)
    versions = {labels.NODEPOOL_HASH_VERSION: pool, labels.EC2_NODE_CLASS_HASH_VERSION: node_class}
    changed: dict[str, Part[Any]] = {}
    for name, keys in HASHES.items():
        part: Any = inventory.part(name)
        versions_by_key = {key: version for key in keys if (version := versions[key])}
        if isinstance(part, Seen) and versions_by_key:
            changed[name] = with_items(part, tuple(_marked(item, versions_by_key) for item in part.items))
    return with_parts(inventory, changed)


def _marked(named_object: o.NamedObject, versions_by_key: dict[str, str]) -> o.NamedObject:
    former = named_object.metadata.annotations or {}
    if all(former.get(key) == version for key, version in versions_by_key.items()):
        return named_object
    return replace(named_object, metadata=replace(named_object.metadata, annotations={**former, **versions_by_key}))
