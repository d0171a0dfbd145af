"""The controller's Deployment as the chart of another release writes it: image, labels, and variables from values."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace

from migrations_app.checks.changes import Body
from migrations_app.inventory.facts.controller import ABSENT, DISABLE_WEBHOOK, FEATURE_GATES, value_at
from migrations_app.inventory.objects import karpenter as o
from migrations_app.karpenter import labels
from migrations_app.karpenter.controller_settings import LAST_READ, SETTINGS, parse_gates, unread_env_names
from migrations_app.karpenter.releases import as_tag, find, metrics_port
from migrations_app.karpenter.tables.env_rows import ENV_NAMES
from migrations_app.karpenter.versions import Release, minor_order, within
from migrations_app.readiness.plan.effects.controller import GATES, container_of, tagged, with_container

FIRST_SET: Final = (0, 32)
"""From this minor on settings are variables."""
LOG_PATHS: Final = (1, 0)
"""From this minor on the chart says where the log goes."""
CLUSTER_DNS: Final = (0, 34)
"""From this minor on the pod asks the cluster's DNS by default."""


def with_environment(
    workload: o.Workload, to: Release, *, values: Body | None, settings: Mapping[str, str]
) -> o.Workload:
    """The Deployment of that release. `values` is None where nobody knows what was given to the chart: then variables
    stay as they are; `settings` is the ConfigMap of the release before."""
    container = container_of(workload)
    if container is None:
        return workload
    marks = {labels.HELM_CHART: f"karpenter-{as_tag(to)}", labels.APP_VERSION: str(to)}
    metadata = replace(workload.metadata, labels={**(workload.metadata.labels or {}), **marks})
    env = _variables(container, to, values=values, settings=settings)
    image = tagged(container.image or "", to)
    whole = with_container(replace(workload, metadata=metadata), replace(container, image=image, env=env))
    spec = whole.spec.template.spec
    if values is None or value_at(values, "dnsPolicy") is ABSENT:
        policy = "ClusterFirst" if minor_order(to.minor) >= CLUSTER_DNS else "Default"
        spec = replace(spec, dns_policy=policy)
    if values is not None and value_at(values, "affinity") is ABSENT:
        spec = replace(spec, affinity=_affinity(spec.affinity, to))
    return replace(whole, spec=replace(whole.spec, template=replace(whole.spec.template, spec=spec)))


def _affinity(affinity: o.Affinity | None, to: Release) -> o.Affinity:
    """That of the chart, which keeps the controller off nodes of its own pools."""
    keys = [labels.PROVISIONER_NAME] if minor_order(to.minor) <= minor_order(LAST_READ) else []
    keys += [labels.NODEPOOL] if minor_order(to.minor) >= FIRST_SET else []
    rows = [o.SelectorExpression(key=key, operator="DoesNotExist") for key in keys]
    terms = o.NodeTerms(node_selector_terms=[o.NodeTerm(match_expressions=rows)])
    nodes = o.NodeAffinity(required_during_scheduling_ignored_during_execution=terms)
    return replace(affinity or o.Affinity(), node_affinity=nodes)


def _variables(
    container: o.Container, to: Release, *, values: Body | None, settings: Mapping[str, str]
) -> list[o.EnvironmentVariable]:
    former = {variable.name: variable for variable in container.env or ()}
    own = _own(values)
    updated = dict(_updated(to, values=values, settings=settings, former=former))
    gone = {unread_env_name.key for unread_env_name in unread_env_names(former, to)} - own
    left = [variable for name, variable in former.items() if name not in gone and name not in updated]
    return [*left, *(o.EnvironmentVariable(name=name, value=text) for name, text in updated.items() if text)]


def _own(values: Body | None) -> set[str]:
    """Variables that somebody gave to the chart by name: these stay whatever the release reads."""
    rows = value_at(values or {}, "controller.env")
    return {str(row.get("name")) for row in rows if isinstance(row, dict)} if isinstance(rows, list) else set()


def _updated(
    to: Release, *, values: Body | None, settings: Mapping[str, str], former: Mapping[str, o.EnvironmentVariable]
) -> Iterator[tuple[str, str]]:
    """The variables that the chart writes anew; empty text for one that it leaves out."""
    if "METRICS_PORT" in former:
        yield "METRICS_PORT", str(metrics_port(to) or "")
    if minor_order(to.minor) < FIRST_SET:
        return
    if minor_order(to.minor) >= LOG_PATHS:
        yield from (("LOG_OUTPUT_PATHS", "stdout"), ("LOG_ERROR_OUTPUT_PATHS", "stderr"))
    gates_variable = former.get(FEATURE_GATES)
    if values is None and gates_variable is not None and gates_variable.value:
        yield FEATURE_GATES, _gates_of(to, parse_gates(gates_variable.value))
    if values is not None or not former.keys() & {FEATURE_GATES, "CLUSTER_NAME"}:
        yield from _settings(to, values=values, settings=settings)
        yield FEATURE_GATES, _gates(to, values or {})
    if values is not None:
        webhook_enabled = value_at(values, "webhook.enabled")
        last = next(row.last for row in ENV_NAMES if row.name == DISABLE_WEBHOOK)
        written = webhook_enabled is not ABSENT and within(to, first="", last=last)
        yield DISABLE_WEBHOOK, _text(webhook_enabled in (False, "false")) if written else ""


def _settings(to: Release, *, values: Body | None, settings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    old = minor_order(to.minor) <= minor_order(LAST_READ)
    known = {row.name for row in ENV_NAMES if within(to, first=row.first, last=row.last)}
    for row in SETTINGS:
        if not row.env or row.env not in known:
            continue
        setting = ABSENT if values is None else value_at(values, row.value)
        if setting is ABSENT and old and values is not None:
            setting = value_at(values, f"settings.{row.key}")
        if setting is ABSENT and values is None:
            setting = settings.get(row.key, ABSENT)
        yield row.env, row.default if setting is ABSENT else _text(setting)


def _gates(to: Release, values: Body) -> str:
    states: dict[str, bool] = {}
    for name in _known_gates(to):
        setting = value_at(values, f"{GATES}{name[:1].lower()}{name[1:]}")
        states |= {} if setting is ABSENT else {name: setting in (True, "true")}
    return _gates_of(to, states)


def _gates_of(to: Release, states: Mapping[str, bool]) -> str:
    """The gates that the release knows, as told or else by default."""
    return ",".join(f"{name}={_text(states.get(name, default))}" for name, default in _known_gates(to).items())


def _known_gates(to: Release) -> dict[str, bool]:
    row = find(to)
    return {gate.name: gate.default for gate in row.gates} if row else {}


def _text(chart_value: Any) -> str:  # noqa: ANN401 - a value of a chart
    return chart_value if isinstance(chart_value, str) else json.dumps(chart_value)
