"""Computes the controller's Deployment after a change of its chart values or of its release."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from migrations_app.checks.changes import HelmValue
from migrations_app.conversion.chart_values.trees import steps_of
from migrations_app.inventory.facts.controller import ABSENT, value_at
from migrations_app.inventory.objects import karpenter as o
from migrations_app.karpenter import labels
from migrations_app.karpenter.controller_settings import (
    LAST_READ,
    SETTINGS,
    parse_gates,
    unknown_helm_keys,
    unread_helm_keys,
)
from migrations_app.karpenter.detection import image_release
from migrations_app.karpenter.releases import as_tag, find
from migrations_app.karpenter.tables.env_rows import ENV_NAMES
from migrations_app.karpenter.versions import Release, minor_order
from migrations_app.manifests import JsonMap
from migrations_app.readiness.runbook.effects.unknown_effect import NotShown

POD_FIELDS: Final = ("dnsPolicy", "hostNetwork", "nodeSelector", "tolerations", "affinity", "topologySpreadConstraints")
"""Chart values that set the pod field of the same name."""
WITHOUT_EFFECT: Final = (
    "controller.containerName",
    "controller.image",  # named for the upgrade, which sets the image of its release
    "controller.logEncoding",
    "controller.logLevel",
    "controller.securityContext",
    "extraObjects",
    "global",
    "imagePullPolicy",
    "imagePullSecrets",
    "logConfig",
    "logEncoding",
    "logLevel",
    "nameOverride",
    "podDisruptionBudget",
    "podSecurityContext",
    "priorityClassName",
    "revisionHistoryLimit",
    "schedulerName",
    "service.annotations",
    "serviceMonitor",
    "strategy",
    "webhook.logLevel",
)
"""Chart values, with all keys below them, that change no field of the controller in an inventory."""
PORT_VARIABLES: Final = {"webhook.port": "WEBHOOK_PORT", "webhook.metrics.port": "WEBHOOK_METRICS_PORT"}
"""Chart values whose effect is known only when they are removed: setting one changes the Service too."""
GATE_PREFIX: Final = "settings.featureGates."
_WORD_START = re.compile(r"(?<=[a-z])(?=[A-Z])")
_TAG = re.compile(r":[^:/@]+(?:@.*)?$")


def release_of(workload: o.Workload) -> Release | None:
    """The release of the controller's image; None if the tag does not tell."""
    container = container_of(workload)
    return image_release((container.image if container else None) or "")


def container_of(workload: o.Workload) -> o.Container | None:
    """The container `controller`, or else the first one; None if there is none."""
    containers = workload.template.spec.containers or ()
    return next((container for container in containers if container.name == "controller"), next(iter(containers), None))


def with_tag(image: str, to: Release) -> str:
    """The image with the tag of release `to`, without a digest."""
    return f"{_TAG.sub('', image)}:{as_tag(to)}"


def with_release(workload: o.Workload, to: Release) -> o.Workload | NotShown:
    """The Deployment with the image and labels of release `to`, which has to be of the running minor.

    NotShown `value_not_applied` for another minor: its chart changes more than the image.
    """
    container, running = container_of(workload), release_of(workload)
    if container is None or running is None:
        return NotShown("release_not_known", container.image or "" if container else "")
    if running.minor != to.minor:
        return NotShown("value_not_applied", f"{running} to {to}")
    image = with_tag(container.image or "", to)
    marks = {labels.HELM_CHART: f"karpenter-{as_tag(to)}", "app.kubernetes.io/version": str(to)}
    metadata = replace(workload.metadata, labels={**(workload.metadata.labels or {}), **marks})
    return with_container(replace(workload, metadata=metadata), replace(container, image=image))


def with_container(workload: o.Workload, container: o.Container) -> o.Workload:
    """The Deployment with this container in place of the one that `container_of` returns."""
    replaced = container_of(workload)
    containers = [
        container if existing is replaced else existing for existing in workload.template.spec.containers or ()
    ]
    return _with_pod(workload, containers=containers)


def _with_pod(workload: o.Workload, **fields: Any) -> o.Workload:  # noqa: ANN401 - fields of the pod by their names
    spec = replace(workload.spec.template.spec, **fields)
    return replace(workload, spec=replace(workload.spec, template=replace(workload.spec.template, spec=spec)))


def with_value(workload: o.Workload, value: HelmValue, *, before: JsonMap, after: JsonMap) -> o.Workload | NotShown:
    """The Deployment after this value was changed; `before` and `after` are all values. A value that the running
    release does not read changes nothing."""
    running = release_of(workload)
    if running is None:
        return NotShown("release_not_known", workload.name)
    if _is_unread(value.key, running) or any(_is_within(value.key, prefix) for prefix in WITHOUT_EFFECT):
        return workload
    if value.key in PORT_VARIABLES and not value.text:
        return _with_variables(workload, {}, removed=(PORT_VARIABLES[value.key],))
    if value.key.startswith(GATE_PREFIX) and minor_order(running.minor) >= (0, 32):
        return _with_gate(workload, value, running=running)
    variable = _variable(value.key, running)
    if variable is not None:
        return _with_variable(workload, variable, value=value)
    if minor_order(running.minor) <= minor_order(LAST_READ) and value.key.startswith("settings."):
        return workload  # only the ConfigMap has this setting
    if value.key == "controller.env":
        return _with_env(workload, before=before, after=after)
    return _with_field(workload, value, after=after)


def _is_within(key: str, prefix: str) -> bool:
    return key == prefix or key.startswith(f"{prefix}.")


def _is_unread(key: str, running: Release) -> bool:
    values: Any = True
    for name in reversed(steps_of(key)):
        values = {name: values}
    return bool(unread_helm_keys(values, running) or unknown_helm_keys(values))


def _variable(key: str, running: Release) -> str | None:
    """The environment variable that the chart of the running release sets from this value; None if there is none."""
    if minor_order(running.minor) < (0, 32):
        return None
    if key == "webhook.enabled":
        return "DISABLE_WEBHOOK"
    current_key = key.replace("settings.aws.", "settings.")
    variable = next((row.env for row in SETTINGS if row.env and row.value == current_key), "")
    name = variable or _WORD_START.sub("_", key.rpartition(".")[2]).upper()
    is_read = variable or any(row.name == name and key.startswith(("settings.", "log")) for row in ENV_NAMES)
    return name if is_read else None


def _with_variable(workload: o.Workload, name: str, *, value: HelmValue) -> o.Workload:
    setting = json.loads(value.text) if value.text else None
    if name == "DISABLE_WEBHOOK":
        setting = None if setting is None else not setting
    default = next((row.default for row in SETTINGS if row.env == name), "")
    text = (setting if isinstance(setting, str) else json.dumps(setting)) if setting is not None else default
    return _with_variables(workload, {name: text} if text else {}, removed=(name,))


def _with_variables(workload: o.Workload, variables: Mapping[str, str], *, removed: tuple[str, ...]) -> o.Workload:
    """With these variables in their old place, or at the end; without those of `removed` that `variables` lacks."""
    container = container_of(workload)
    if container is None:
        return workload
    env, missing = [], dict(variables)
    for variable in container.env or ():
        if variable.name in missing:
            env.append(o.EnvironmentVariable(name=variable.name, value=missing.pop(variable.name)))
        elif variable.name not in removed:
            env.append(variable)
    env += [o.EnvironmentVariable(name=name, value=text) for name, text in missing.items()]
    return with_container(workload, replace(container, env=env))


def _with_gate(workload: o.Workload, value: HelmValue, *, running: Release) -> o.Workload | NotShown:
    container, row = container_of(workload), find(running)
    name = value.key.removeprefix(GATE_PREFIX)
    gate = name[:1].upper() + name[1:]
    default = row.gate_default(gate) if row else None
    if default is None or container is None:
        return NotShown("value_not_applied", value.key)
    gate_list = next((variable.value or "" for variable in container.env or () if variable.name == "FEATURE_GATES"), "")
    enabled = json.loads(value.text) if value.text else default
    gates = parse_gates(gate_list) | {gate: enabled is True or enabled == "true"}
    text = ",".join(f"{gate_name}={str(state).lower()}" for gate_name, state in gates.items())
    return _with_variables(workload, {"FEATURE_GATES": text}, removed=())


def _with_env(workload: o.Workload, *, before: JsonMap, after: JsonMap) -> o.Workload:
    former, variables = _env_values(before), _env_values(after)
    return _with_variables(workload, variables, removed=tuple(former))


def _env_values(values: JsonMap) -> dict[str, str]:
    env_rows = value_at(values, "controller.env")
    rows = env_rows if isinstance(env_rows, list) else []
    return {row["name"]: str(row["value"]) for row in rows if isinstance(row, dict) and {"name", "value"} <= row.keys()}


def _with_field(workload: o.Workload, value: HelmValue, *, after: JsonMap) -> o.Workload | NotShown:
    top = value.key.partition(".")[0]
    if value.key.startswith("controller.resources"):
        return _with_resources(workload, value_at(after, "controller.resources"))
    setting = value_at(after, top)
    if setting is ABSENT:
        return NotShown("value_not_applied", value.key)
    if top == "replicas":
        is_number = isinstance(setting, int) and not isinstance(setting, bool)
        spec = replace(workload.spec, replicas=setting)
        return replace(workload, spec=spec) if is_number else NotShown("refused", top)
    if top not in POD_FIELDS:
        return NotShown("value_not_applied", value.key)
    fields = {field.encode_name: field for field in msgspec.structs.fields(o.ControllerPlacement)}
    try:
        return _with_pod(workload, **{fields[top].name: msgspec.convert(setting, fields[top].type)})
    except msgspec.ValidationError:
        return NotShown("refused", value.key)


def _with_resources(workload: o.Workload, setting: object) -> o.Workload | NotShown:
    container = container_of(workload)
    if container is None:
        return NotShown("target_gone", workload.name)
    try:
        resources = None if setting is ABSENT else msgspec.convert(setting, o.Resources)
    except msgspec.ValidationError:
        return NotShown("refused", "controller.resources")
    return with_container(workload, replace(container, resources=resources))
