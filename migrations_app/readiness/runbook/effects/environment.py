"""Computes the controller's Deployment as the chart of another release writes it, such as its image and variables."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace

from migrations_app.inventory.facts.controller import ABSENT, DISABLE_WEBHOOK, FEATURE_GATES, value_at
from migrations_app.inventory.objects import karpenter as o
from migrations_app.karpenter import labels
from migrations_app.karpenter.controller_settings import LAST_READ, SETTINGS, parse_gates, unread_env_names
from migrations_app.karpenter.releases import as_tag, find, metrics_port
from migrations_app.karpenter.tables.env_rows import ENV_NAMES
from migrations_app.karpenter.versions import Release, minor_order, within
from migrations_app.manifests import JsonMap
from migrations_app.readiness.runbook.effects.controller import GATE_PREFIX, container_of, with_container, with_tag

FIRST_WITH_VARIABLES: Final = (0, 32)
"""The first minor whose settings are environment variables."""
FIRST_WITH_LOG_PATHS: Final = (1, 0)
"""The first minor whose chart sets the paths of the log."""
FIRST_WITH_CLUSTER_DNS: Final = (0, 34)
"""The first minor whose pods use the DNS of the cluster by default."""


def with_environment(
    workload: o.Workload, to: Release, *, values: JsonMap | None, settings: Mapping[str, str]
) -> o.Workload:
    """The Deployment of release `to`. `values` are those given to the chart; None if not known, and then the
    present variables stay. `settings` is the ConfigMap of the release before."""
    container = container_of(workload)
    if container is None:
        return workload
    marks = {labels.HELM_CHART: f"karpenter-{as_tag(to)}", labels.APP_VERSION: str(to)}
    metadata = replace(workload.metadata, labels={**(workload.metadata.labels or {}), **marks})
    env = _variables(container, to, values=values, settings=settings)
    image = with_tag(container.image or "", to)
    deployment = with_container(replace(workload, metadata=metadata), replace(container, image=image, env=env))
    spec = deployment.spec.template.spec
    if values is None or value_at(values, "dnsPolicy") is ABSENT:
        policy = "ClusterFirst" if minor_order(to.minor) >= FIRST_WITH_CLUSTER_DNS else "Default"
        spec = replace(spec, dns_policy=policy)
    if values is not None and value_at(values, "affinity") is ABSENT:
        spec = replace(spec, affinity=_affinity(spec.affinity, to))
    return replace(deployment, spec=replace(deployment.spec, template=replace(deployment.spec.template, spec=spec)))


def _affinity(affinity: o.Affinity | None, to: Release) -> o.Affinity:
    """The affinity with the chart's node affinity, which keeps the controller off nodes of its own NodePools."""
    keys = [labels.PROVISIONER_NAME] if minor_order(to.minor) <= minor_order(LAST_READ) else []
    keys += [labels.NODEPOOL] if minor_order(to.minor) >= FIRST_WITH_VARIABLES else []
    rows = [o.SelectorExpression(key=key, operator="DoesNotExist") for key in keys]
    terms = o.NodeTerms(node_selector_terms=[o.NodeTerm(match_expressions=rows)])
    nodes = o.NodeAffinity(required_during_scheduling_ignored_during_execution=terms)
    return replace(affinity or o.Affinity(), node_affinity=nodes)


def _variables(
    container: o.Container, to: Release, *, values: JsonMap | None, settings: Mapping[str, str]
) -> list[o.EnvironmentVariable]:
    former = {variable.name: variable for variable in container.env or ()}
    custom = _custom_variables(values)
    updated = dict(_chart_variables(to, values=values, settings=settings, former=former))
    removed = {unread_env_name.key for unread_env_name in unread_env_names(former, to)} - custom
    kept = [variable for name, variable in former.items() if name not in removed and name not in updated]
    return [*kept, *(o.EnvironmentVariable(name=name, value=text) for name, text in updated.items() if text)]


def _custom_variables(values: JsonMap | None) -> set[str]:
    """The variables that the chart values name: they stay, even if the release does not read them."""
    rows = value_at(values or {}, "controller.env")
    return {str(row.get("name")) for row in rows if isinstance(row, dict)} if isinstance(rows, list) else set()


def _chart_variables(
    to: Release, *, values: JsonMap | None, settings: Mapping[str, str], former: Mapping[str, o.EnvironmentVariable]
) -> Iterator[tuple[str, str]]:
    """Yields name and value of each variable that the chart writes; the value is empty if the chart leaves it out."""
    if "METRICS_PORT" in former:
        yield "METRICS_PORT", str(metrics_port(to) or "")
    if minor_order(to.minor) < FIRST_WITH_VARIABLES:
        return
    if minor_order(to.minor) >= FIRST_WITH_LOG_PATHS:
        yield from (("LOG_OUTPUT_PATHS", "stdout"), ("LOG_ERROR_OUTPUT_PATHS", "stderr"))
    gates_variable = former.get(FEATURE_GATES)
    if values is None and gates_variable is not None and gates_variable.value:
        yield FEATURE_GATES, _gates_text(to, parse_gates(gates_variable.value))
    if values is not None or not former.keys() & {FEATURE_GATES, "CLUSTER_NAME"}:
        yield from _settings(to, values=values, settings=settings)
        yield FEATURE_GATES, _gates(to, values or {})
    if values is not None:
        webhook_enabled = value_at(values, "webhook.enabled")
        last = next(row.last for row in ENV_NAMES if row.name == DISABLE_WEBHOOK)
        written = webhook_enabled is not ABSENT and within(to, first="", last=last)
        yield DISABLE_WEBHOOK, _text(webhook_enabled in (False, "false")) if written else ""


def _settings(to: Release, *, values: JsonMap | None, settings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    reads_config_map = minor_order(to.minor) <= minor_order(LAST_READ)
    read_variables = {row.name for row in ENV_NAMES if within(to, first=row.first, last=row.last)}
    for row in SETTINGS:
        if not row.env or row.env not in read_variables:
            continue
        setting = ABSENT if values is None else value_at(values, row.value)
        if setting is ABSENT and reads_config_map and values is not None:
            setting = value_at(values, f"settings.{row.key}")
        if setting is ABSENT and values is None:
            setting = settings.get(row.key, ABSENT)
        yield row.env, row.default if setting is ABSENT else _text(setting)


def _gates(to: Release, values: JsonMap) -> str:
    states: dict[str, bool] = {}
    for name in _known_gates(to):
        setting = value_at(values, f"{GATE_PREFIX}{name[:1].lower()}{name[1:]}")
        states |= {} if setting is ABSENT else {name: setting in (True, "true")}
    return _gates_text(to, states)


def _gates_text(to: Release, states: Mapping[str, bool]) -> str:
    """The feature gates that the release knows, as text, with their states or else their defaults."""
    return ",".join(f"{name}={_text(states.get(name, default))}" for name, default in _known_gates(to).items())


def _known_gates(to: Release) -> dict[str, bool]:
    row = find(to)
    return {gate.name: gate.default for gate in row.gates} if row else {}


def _text(chart_value: Any) -> str:  # noqa: ANN401 - a value of a chart
    return chart_value if isinstance(chart_value, str) else json.dumps(chart_value)
