"""The controller's Deployment after a value of its chart, or its release, has changed."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from migrations_app.checks.changes import Body, HelmValue
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
from migrations_app.readiness.plan.effects.not_shown import NotShown

PLACED: Final = ("dnsPolicy", "hostNetwork", "nodeSelector", "tolerations", "affinity", "topologySpreadConstraints")
"""Values that are fields of the pod by the same name."""
SILENT: Final = (
    "controller.containerName",
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
"""Values, each with all below it, that change nothing of what an inventory keeps of the controller."""
PORTS: Final = {"webhook.port": "WEBHOOK_PORT", "webhook.metrics.port": "WEBHOOK_METRICS_PORT"}
"""Values that are followed only where they are taken out: one that is set changes the Service too."""
GATES: Final = "settings.featureGates."
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_TAG = re.compile(r":[^:/@]+(?:@.*)?$")


def release_of(workload: o.Workload) -> Release | None:
    """The release of its image; None where the tag does not say."""
    container = container_of(workload)
    return image_release((container.image if container else None) or "")


def container_of(workload: o.Workload) -> o.Container | None:
    every = workload.template.spec.containers or ()
    return next((container for container in every if container.name == "controller"), next(iter(every), None))


def tagged(image: str, to: Release) -> str:
    """The image with the tag of that release; a digest is left out."""
    return f"{_TAG.sub('', image)}:{as_tag(to)}"


def brought_to(workload: o.Workload, to: Release) -> o.Workload | NotShown:
    """The Deployment with the image and the labels of that release of the chart.

    `value_not_applied` where another minor is meant: what its chart makes of the values is more than an image.
    """
    container, running = container_of(workload), release_of(workload)
    if container is None or running is None:
        return NotShown("release_not_known", container.image or "" if container else "")
    if running.minor != to.minor:
        return NotShown("value_not_applied", f"{running} to {to}")
    image = tagged(container.image or "", to)
    marks = {labels.HELM_CHART: f"karpenter-{as_tag(to)}", "app.kubernetes.io/version": str(to)}
    metadata = replace(workload.metadata, labels={**(workload.metadata.labels or {}), **marks})
    return with_container(replace(workload, metadata=metadata), replace(container, image=image))


def with_container(workload: o.Workload, container: o.Container) -> o.Workload:
    old = container_of(workload)
    every = [container if former is old else former for former in workload.template.spec.containers or ()]
    return _with_pod(workload, containers=every)


def _with_pod(workload: o.Workload, **fields: Any) -> o.Workload:  # noqa: ANN401 - fields of the pod by their names
    spec = replace(workload.spec.template.spec, **fields)
    return replace(workload, spec=replace(workload.spec, template=replace(workload.spec.template, spec=spec)))


def with_value(workload: o.Workload, value: HelmValue, *, before: Body, after: Body) -> o.Workload | NotShown:
    """The Deployment after that value; `before` and `after` are all values. What the running release does not read
    changes nothing of it."""
    running = release_of(workload)
    if running is None:
        return NotShown("release_not_known", workload.name)
    if _unread(value.key, running) or any(_lies_in(value.key, prefix) for prefix in SILENT):
        return workload
    if value.key in PORTS and not value.text:
        return _set(workload, {}, gone=(PORTS[value.key],))
    if value.key.startswith(GATES) and minor_order(running.minor) >= (0, 32):
        return _with_gate(workload, value, running=running)
    variable = _variable(value.key, running)
    if variable is not None:
        return _with_variable(workload, variable, value=value)
    if minor_order(running.minor) <= minor_order(LAST_READ) and value.key.startswith("settings."):
        return workload  # the ConfigMap alone has it
    if value.key == "controller.env":
        return _with_env(workload, before=before, after=after)
    return _with_field(workload, value, after=after)


def _lies_in(key: str, value: str) -> bool:
    return key == value or key.startswith(f"{value}.")


def _unread(key: str, running: Release) -> bool:
    tree: Any = True
    for step in reversed(key.split(".")):
        tree = {step: tree}
    return bool(unread_helm_keys(tree, running) or unknown_helm_keys(tree))


def _variable(key: str, running: Release) -> str | None:
    """The variable that the chart of that release fills from the value; None where it fills none."""
    if minor_order(running.minor) < (0, 32):
        return None
    if key == "webhook.enabled":
        return "DISABLE_WEBHOOK"
    bare = key.replace("settings.aws.", "settings.")
    variable = next((row.env for row in SETTINGS if row.env and row.value == bare), "")
    name = variable or _HUMP.sub("_", key.rpartition(".")[2]).upper()
    known = variable or any(row.name == name and key.startswith(("settings.", "log")) for row in ENV_NAMES)
    return name if known else None


def _with_variable(workload: o.Workload, name: str, *, value: HelmValue) -> o.Workload:
    setting = json.loads(value.text) if value.text else None
    if name == "DISABLE_WEBHOOK":
        setting = None if setting is None else not setting
    default = next((row.default for row in SETTINGS if row.env == name), "")
    text = (setting if isinstance(setting, str) else json.dumps(setting)) if setting is not None else default
    return _set(workload, {name: text} if text else {}, gone=(name,))


def _set(workload: o.Workload, variables: Mapping[str, str], *, gone: tuple[str, ...]) -> o.Workload:
    """With these variables where they stood, or at the end; those of `gone` that are not given are taken away."""
    container = container_of(workload)
    if container is None:
        return workload
    env, left = [], dict(variables)
    for variable in container.env or ():
        if variable.name in left:
            env.append(o.EnvironmentVariable(name=variable.name, value=left.pop(variable.name)))
        elif variable.name not in gone:
            env.append(variable)
    env += [o.EnvironmentVariable(name=name, value=text) for name, text in left.items()]
    return with_container(workload, replace(container, env=env))


def _with_gate(workload: o.Workload, value: HelmValue, *, running: Release) -> o.Workload | NotShown:
    container, row = container_of(workload), find(running)
    name = value.key.removeprefix(GATES)
    gate = name[:1].upper() + name[1:]
    default = row.gate_default(gate) if row else None
    if default is None or container is None:
        return NotShown("value_not_applied", value.key)
    gate_list = next((variable.value or "" for variable in container.env or () if variable.name == "FEATURE_GATES"), "")
    on = json.loads(value.text) if value.text else default
    gates = parse_gates(gate_list) | {gate: on is True or on == "true"}
    text = ",".join(f"{gate_name}={str(state).lower()}" for gate_name, state in gates.items())
    return _set(workload, {"FEATURE_GATES": text}, gone=())


def _with_env(workload: o.Workload, *, before: Body, after: Body) -> o.Workload:
    old, new = _rows(before), _rows(after)
    return _set(workload, new, gone=tuple(old))


def _rows(values: Body) -> dict[str, str]:
    env_rows = value_at(values, "controller.env")
    rows = env_rows if isinstance(env_rows, list) else []
    return {row["name"]: str(row["value"]) for row in rows if isinstance(row, dict) and {"name", "value"} <= row.keys()}


def _with_field(workload: o.Workload, value: HelmValue, *, after: Body) -> o.Workload | NotShown:
    top = value.key.partition(".")[0]
    if value.key.startswith("controller.resources"):
        return _with_resources(workload, value_at(after, "controller.resources"))
    setting = value_at(after, top)
    if setting is ABSENT:
        return NotShown("value_not_applied", value.key)
    if top == "replicas":
        whole = isinstance(setting, int) and not isinstance(setting, bool)
        spec = replace(workload.spec, replicas=setting)
        return replace(workload, spec=spec) if whole else NotShown("refused", top)
    if top not in PLACED:
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
