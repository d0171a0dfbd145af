"""Computes the inventory after a Helm upgrade of one of the two charts: Helm's record, and the objects that the chart
makes, as the release tables describe them."""

import copy
import json
from dataclasses import replace as with_fields
from typing import Any

from msgspec.structs import replace

from migrations_app.checks.changes import HelmChange
from migrations_app.conversion.chart_values.trees import laid
from migrations_app.inventory.facts.controller import (
    CHART,
    CRD_CHART,
    given_values,
    helm_release,
    installation,
    webhooks_off,
)
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import karpenter as o
from migrations_app.inventory.parts import Seen, Unseen
from migrations_app.karpenter.controller_settings import GLOBAL_SETTINGS, LAST_READ, setting_row
from migrations_app.karpenter.releases import find
from migrations_app.karpenter.versions import Release, minor_order, parse
from migrations_app.manifests import JsonMap
from migrations_app.readiness.runbook.effects.chart_upgrade import with_service_ports
from migrations_app.readiness.runbook.effects.controller import release_of, with_release, with_value
from migrations_app.readiness.runbook.effects.controller_work import with_controller_work
from migrations_app.readiness.runbook.effects.crd_upgrade import with_crds_of_release
from migrations_app.readiness.runbook.effects.object_lookup import with_items, with_parts
from migrations_app.readiness.runbook.effects.unknown_effect import NotShown

CONVERSION_FIELDS = {
    "webhook.enabled": "strategy",
    "webhook.serviceName": "name",
    "webhook.serviceNamespace": "namespace",
    "webhook.port": "port",
}
"""By value of the CRD chart the field of the CRDs' conversion that the value sets."""
CONVERSION_TYPES = {"strategy": bool, "name": str, "namespace": str, "port": int}


def with_helm_upgrade(inventory: Inventory, change: HelmChange) -> Inventory | NotShown:
    """The inventory after one Helm upgrade of the release with these values and, if given, this version."""
    if change.when == "person":
        return NotShown("for_a_person", change.release)
    if (
        bad_key := next((helm_value.key for helm_value in change.values if not _is_json(helm_value.text)), None)
    ) is not None:
        return NotShown("refused", bad_key)
    to = parse(change.version) if change.version else None
    if change.version and (to is None or find(to) is None):
        return NotShown("release_not_known", change.version)
    recorded = _with_record(inventory, change, to=to)
    if isinstance(recorded, NotShown):
        return recorded
    if change.chart == CRD_CHART:
        return with_crds_of_release(recorded, to) if to else _with_conversion_values(recorded, change)
    return _with_controller(inventory, recorded, change=change, to=to)


def _is_json(text: str) -> bool:
    try:
        json.loads(text or "null")
    except ValueError:
        return False
    return True


def _with_controller(
    before: Inventory, recorded: Inventory, *, change: HelmChange, to: Release | None
) -> Inventory | NotShown:
    running_controller = installation(recorded)
    if running_controller is None:
        return NotShown("target_gone" if isinstance(recorded.controller, Seen) else "part_not_read", CHART)
    values_before, values_after = given_values(before), given_values(recorded)
    after: o.Workload | NotShown = with_release(running_controller.workload, to) if to else running_controller.workload
    for value in change.values:
        if isinstance(after, NotShown):
            return after
        after = with_value(
            after,
            value,
            before=values_before.tree if values_before else {},
            after=values_after.tree if values_after else {},
        )
    if isinstance(after, NotShown):
        return after
    with_deployment = _with_settings(
        _with_deployment(recorded, running_controller.workload, after=after), change, running=release_of(after)
    )
    if to is None:
        return with_controller_work(with_deployment)
    crds = _crds_beside(_with_webhook_port(with_deployment, before=before, to=to), change, to=to)
    return crds if isinstance(crds, NotShown) else with_controller_work(crds)


def _with_webhook_port(inventory: Inventory, *, before: Inventory, to: Release) -> Inventory:
    """With the ports of the new release on the Service, if the chart of this patch turns the webhook on or off."""
    former = installation(before)
    was_off = webhooks_off(former, release_of(former.workload)) if former else True
    is_off = webhooks_off(installation(inventory), to)
    return inventory if was_off == is_off else with_service_ports(inventory, to)


def _crds_beside(inventory: Inventory, change: HelmChange, *, to: Release) -> Inventory | NotShown:
    """The inventory with the CRDs of that release: a plan upgrades these first if they have a chart of their own."""
    record = helm_release(inventory, chart=CRD_CHART)
    if record is None:
        return inventory
    own = replace(change, chart=CRD_CHART, release=record.name, namespace=record.namespace, values=())
    recorded = _with_record(inventory, own, to=to)
    return recorded if isinstance(recorded, NotShown) else with_crds_of_release(recorded, to)


def _with_settings(inventory: Inventory, change: HelmChange, *, running: Release | None) -> Inventory:
    """The inventory with the values in the ConfigMap of settings, if the running release reads the ConfigMap."""
    part = inventory.settings
    if isinstance(part, Unseen) or running is None or minor_order(running.minor) > minor_order(LAST_READ):
        return inventory
    new_settings = {
        helm_value.key.removeprefix("settings."): helm_value.text
        for helm_value in change.values
        if helm_value.key.startswith("settings.")
    }
    items = tuple(
        _with_data(config_map, new_settings) if config_map.name == GLOBAL_SETTINGS else config_map
        for config_map in part.items
    )
    return with_fields(inventory, settings=with_items(part, items))


def _with_data(config_map: o.ConfigMap, settings: JsonMap) -> o.ConfigMap:
    data = dict(config_map.data or {})
    for key, text in settings.items():
        row = setting_row(key)
        setting = json.loads(text) if text else (row.default if row else "")
        data.pop(key, None)
        if setting != "":
            data[key] = setting if isinstance(setting, str) else json.dumps(setting)
    return replace(config_map, data=data)


def _with_deployment(inventory: Inventory, before: o.Workload, *, after: o.Workload) -> Inventory:
    if after == before:
        return inventory
    changed = {}
    for name in ("controller", "deployments"):
        part: Any = inventory.part(name)
        if isinstance(part, Seen) and before in part.items:
            changed[name] = with_items(part, tuple(after if item == before else item for item in part.items))
    return with_parts(inventory, changed)


def _with_record(inventory: Inventory, change: HelmChange, *, to: Release | None) -> Inventory | NotShown:
    """The inventory with the values in Helm's record or, if there is none, in the GitOps delivery that holds them."""
    part = inventory.helm_releases
    of_name = [one for one in part.items if (one.name, one.chart) == (change.release, change.chart)]
    # Two namespaces may have a release of one name.
    record = next(iter(sorted(of_name, key=lambda one: one.namespace != change.namespace)), None)
    if record is None or isinstance(part, Unseen):
        return _with_delivery_values(inventory, change)
    versions = {"chart_version": str(to), "app_version": str(to)} if to else {}
    updated = replace(record, config=laid(record.config, change.given.items()), **versions)
    return with_fields(
        inventory,
        helm_releases=with_items(part, tuple(updated if one is record else one for one in part.items)),
    )


def _with_delivery_values(inventory: Inventory, change: HelmChange) -> Inventory | NotShown:
    part = inventory.deliveries
    delivered_values = given_values(inventory, chart=change.chart)
    if (delivered_values is None or not isinstance(part, Seen)) and isinstance(inventory.helm_releases, Unseen):
        return NotShown("part_not_read", "helm_releases")
    if delivered_values is None or not isinstance(part, Seen):
        return NotShown("record_not_read", f"{change.chart} {change.release}")
    items = tuple(
        _with_spec(delivery, delivered_values.path, tree=laid(delivered_values.tree, change.given.items()))
        if (delivery.kind, delivery.namespace, delivery.name)
        == (delivered_values.kind, delivered_values.namespace, delivered_values.name)
        else delivery
        for delivery in part.items
    )
    return with_fields(inventory, deliveries=with_items(part, items))


def _with_spec(delivery: o.GitOpsDelivery, path: str, *, tree: JsonMap) -> o.GitOpsDelivery:
    """The delivery with these values at that path; text stays text, as JSON, which is YAML."""
    spec = copy.deepcopy(delivery.spec or {})
    *parents, last = path.removeprefix("spec.").split(".")
    holder: Any = spec
    for step in parents:
        name, _, place = step.removesuffix("]").partition("[")
        holder = holder.setdefault(name, {})
        holder = holder[int(place)] if place else holder
    holder[last] = json.dumps(tree) if isinstance(holder.get(last), str) else tree
    return replace(delivery, spec=spec)


def _with_conversion_values(inventory: Inventory, change: HelmChange) -> Inventory | NotShown:
    """The inventory with the conversion that these values of the CRD chart set in CRDs that serve several versions."""
    part = inventory.crds
    unknown_key = next(
        (helm_value.key for helm_value in change.values if helm_value.text and helm_value.key not in CONVERSION_FIELDS),
        None,
    )
    if unknown_key is not None:
        return NotShown("value_not_applied", unknown_key)
    if isinstance(part, Unseen):
        return NotShown("part_not_read", "crds")
    webhook_values = {
        CONVERSION_FIELDS[helm_value.key]: json.loads(helm_value.text)
        for helm_value in change.values
        if helm_value.text
    }
    if not webhook_values:
        return inventory
    bad_key = next((key for key, value in webhook_values.items() if not isinstance(value, CONVERSION_TYPES[key])), "")
    if bad_key:
        return NotShown("refused", bad_key)
    items = tuple(_with_conversion(crd, webhook_values) if len(crd.served) > 1 else crd for crd in part.items)
    return with_fields(inventory, crds=with_items(part, items))


def _with_conversion(crd: o.CRD, webhook_values: JsonMap) -> o.CRD:
    if webhook_values.get("strategy") is False:
        return replace(crd, spec=replace(crd.spec, conversion=o.CrdConversion(strategy="None")))
    webhook_before = crd.spec.conversion.webhook if crd.spec.conversion else None
    target = webhook_before.client_config.service if webhook_before and webhook_before.client_config else None
    base = target or o.ServiceReference(name="karpenter", namespace="kube-system", port=8443)
    service = replace(base, **{key: value for key, value in webhook_values.items() if key != "strategy"})
    webhook = o.ConversionWebhook(client_config=o.WebhookTarget(service=service))
    return replace(crd, spec=replace(crd.spec, conversion=o.CrdConversion(strategy="Webhook", webhook=webhook)))
