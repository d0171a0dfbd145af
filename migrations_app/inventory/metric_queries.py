"""Queries over Karpenter's metrics in the cluster: rules of Prometheus and VictoriaMetrics, Grafana dashboards, and
triggers of KEDA.

Only objects that name such a metric are kept, and of these only the queries that name one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec

from migrations_app.inventory.objects.base import NamedObject, Projection
from migrations_app.inventory.objects.karpenter import ConfigMap
from migrations_app.inventory.parse import decoder, read_one
from migrations_app.inventory.parts import Seen, UnparsableObject
from migrations_app.karpenter import kinds
from migrations_app.karpenter.kinds import Kind
from migrations_app.karpenter.metrics import MARK, label_queries, matchers_in, names_in

DASHBOARD_LABEL = "grafana_dashboard"
"""The label by which the sidecar of Grafana's chart finds dashboards; its value does not matter."""

LONGEST_QUERY = 1000
QUERIES_KEPT = 300
OBJECTS_KEPT = 1000
_MARK = MARK.encode()
WORD = b"karpenter"


class Query(Projection, frozen=True):
    """`path` is the place in the object; a text longer than LONGEST_QUERY is reduced to its metric
    names, labels and matchers.
    """

    path: str
    text: str


class MetricUser(NamedObject, frozen=True):
    """A rule, a scaler of KEDA, or a ConfigMap with dashboards, that names metrics of Karpenter."""

    queries: list[Query] = []


class MetricMonitor(MetricUser, frozen=True):
    """A ServiceMonitor or PodMonitor that names Karpenter; its `queries` are the regular expressions of relabelings."""

    numbers: list[int] = []
    """Port numbers that it scrapes; ports given by name are left out."""


class _Relabeling(Projection, frozen=True):
    regex: str | None = None


class _MonitorEndpoint(Projection, frozen=True):
    port: str | int | None = None
    target_port: str | int | None = None
    port_number: int | None = None
    relabelings: list[_Relabeling] | None = None
    metric_relabelings: list[_Relabeling] | None = None


class _MonitorSpec(Projection, frozen=True):
    endpoints: list[_MonitorEndpoint] | None = None
    pod_metrics_endpoints: list[_MonitorEndpoint] | None = None


class Monitor(NamedObject, frozen=True):
    """As defined by the Prometheus operator's CRDs ServiceMonitor and PodMonitor; read but not kept."""

    spec: _MonitorSpec = _MonitorSpec()


class _Rule(Projection, frozen=True):
    alert: str | None = None
    record: str | None = None
    expr: str | float | None = None


class _RuleGroup(Projection, frozen=True):
    name: str = ""
    rules: list[_Rule] | None = None


class _RuleSpec(Projection, frozen=True):
    groups: list[_RuleGroup] | None = None


class PrometheusRule(NamedObject, frozen=True):
    """As defined by the Prometheus operator's CRD; read but not kept."""

    spec: _RuleSpec = _RuleSpec()


class VMRule(PrometheusRule, frozen=True):
    """As defined by VictoriaMetrics' CRD, whose groups of rules are those of Prometheus; read but not kept."""


class _TriggerValues(Projection, frozen=True):
    query: str | None = None


class _Trigger(Projection, frozen=True):
    type: str | None = None
    metadata: _TriggerValues | None = None


class _ScaledSpec(Projection, frozen=True):
    triggers: list[_Trigger] | None = None


class ScaledObject(NamedObject, frozen=True):
    """As defined by KEDA's CRD; read but not kept."""

    spec: _ScaledSpec = _ScaledSpec()


class ScaledJob(ScaledObject, frozen=True):
    """As defined by KEDA's CRD; read but not kept."""


QueryReader = Callable[[msgspec.Raw], MetricUser | UnparsableObject]


@dataclass(slots=True)
class MetricQueryCollector:
    """Takes pages with `add` and returns the part with `seen`. Objects that name no metric are only counted."""

    read: QueryReader
    total: int = 0
    items: list[MetricUser] = field(default_factory=list)
    bad: list[UnparsableObject] = field(default_factory=list)

    def add(self, items: Iterable[msgspec.Raw]) -> None:
        for item in items:
            self.total += 1
            if _MARK in bytes(item):
                self._file(self.read(item))

    def seen(self, served: str) -> Seen[MetricUser]:
        return Seen(tuple(self.items), served, tuple(self.bad), total=self.total)

    def _file(self, item: MetricUser | UnparsableObject) -> None:
        if isinstance(item, UnparsableObject):
            self.bad.append(item)
        elif item.queries and len(self.items) < OBJECTS_KEPT:
            self.items.append(item)
        elif item.queries:
            self.bad.append(UnparsableObject(item.kind, item.namespace, item.name, "$", "too many of them"))


def read_monitor(item: msgspec.Raw, kind: str) -> MetricMonitor | UnparsableObject | None:
    """What a ServiceMonitor or PodMonitor scrapes and keeps; None if it does not name Karpenter."""
    if WORD not in bytes(item):
        return None
    monitor = read_one(item, Monitor, take=decoder(Monitor).decode)
    if isinstance(monitor, UnparsableObject):
        return monitor
    return MetricMonitor(
        kind=kind,
        api_version=monitor.api_version,
        metadata=monitor.metadata,
        queries=list(_of_monitor(monitor))[:QUERIES_KEPT],
        numbers=sorted({number for number in _numbers(monitor) if number is not None}),
    )


def _endpoints(monitor: Monitor) -> Iterator[tuple[str, _MonitorEndpoint]]:
    for name, endpoint_list in (
        ("endpoints", monitor.spec.endpoints),
        ("podMetricsEndpoints", monitor.spec.pod_metrics_endpoints),
    ):
        for place, endpoint in enumerate(endpoint_list or ()):
            yield f"spec.{name}[{place}]", endpoint


def _of_monitor(monitor: Monitor) -> Iterator[Query]:
    for path, endpoint in _endpoints(monitor):
        for place, row in enumerate(endpoint.metric_relabelings or ()):
            if row.regex and names_in(row.regex):
                yield Query(path=f"{path}.metricRelabelings[{place}].regex", text=short(row.regex))


def _numbers(monitor: Monitor) -> Iterator[int | None]:
    for _, endpoint in _endpoints(monitor):
        yield endpoint.port_number
        for port_value in (endpoint.port, endpoint.target_port):
            digits = str(port_value)
            yield int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 5 else None


def rules_collector() -> MetricQueryCollector:
    """A collector for a list of PrometheusRules."""
    return MetricQueryCollector(partial(_read, kind=PrometheusRule, queries=_of_rule))


def other_collectors() -> Mapping[Kind, Callable[[], MetricQueryCollector]]:
    """By kind what makes a collector for a list of its objects."""
    of_triggers = {kinds.SCALED_OBJECT: ScaledObject, kinds.SCALED_JOB: ScaledJob}
    return {
        kinds.VM_RULE: lambda: MetricQueryCollector(partial(_read, kind=VMRule, queries=_of_rule)),
        **{
            kind: partial(MetricQueryCollector, partial(_read, kind=type_of_kind, queries=_of_triggers))
            for kind, type_of_kind in of_triggers.items()
        },
    }


def dashboards_collector() -> MetricQueryCollector:
    """A collector for a list of ConfigMaps with dashboards."""
    return MetricQueryCollector(partial(_read, kind=ConfigMap, queries=dashboard_queries))


def dashboard_queries(config_map: ConfigMap) -> Iterator[Query]:
    """The queries of every file in the ConfigMap, with the titles of their dashboard and panel."""
    for name, text in (config_map.data or {}).items():
        if MARK not in text:
            continue
        for titles, query in _in_file(text):
            query_path = f"data[{name}]" + (f": {' / '.join(titles)}" if titles else "")
            yield Query(path=query_path[:300], text=short(query))


def short(query: str) -> str:
    """The query; if it is too long, the metric names, the labels that end at a release, and the matchers in it."""
    if len(query) <= LONGEST_QUERY:
        return query
    matchers = (f'{label}="{value}"' for label, value in matchers_in(query))
    return " ".join((*names_in(query), *label_queries(query), *matchers))[:LONGEST_QUERY]


def _read(
    item: msgspec.Raw, *, kind: type[NamedObject], queries: Callable[[Any], Iterator[Query]]
) -> MetricUser | UnparsableObject:
    item_or_fault = read_one(item, kind, take=decoder(kind).decode)
    if isinstance(item_or_fault, UnparsableObject):
        return item_or_fault
    kept_queries: list[Query] = []
    for query in queries(item_or_fault):
        if len(kept_queries) == QUERIES_KEPT:
            return UnparsableObject(
                kind.__name__, item_or_fault.namespace, item_or_fault.name, query.path, "too many queries"
            )
        kept_queries.append(query)
    return MetricUser(
        kind=kind.__name__, api_version=item_or_fault.api_version, metadata=item_or_fault.metadata, queries=kept_queries
    )


def _of_rule(prometheus_rule: PrometheusRule) -> Iterator[Query]:
    for group in prometheus_rule.spec.groups or ():
        for rule in group.rules or ():
            text = str(rule.expr)
            if names_in(text):
                path = f"spec.groups[{group.name}].rules[{rule.alert or rule.record or ''}].expr"
                yield Query(path=path[:300], text=short(text))


def _of_triggers(scaled: ScaledObject) -> Iterator[Query]:
    """The queries of a trigger: of Prometheus, or of what answers in its language."""
    for place, trigger in enumerate(scaled.spec.triggers or ()):
        query = trigger.metadata.query if trigger.metadata else None
        if query and names_in(query):
            yield Query(path=f"spec.triggers[{place}].metadata.query", text=short(query))


def _in_file(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each string of a dashboard that names a metric, with the titles above it; the whole text if it is not JSON."""
    try:
        tree = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        yield (), text
        return
    waiting: list[tuple[tuple[str, ...], Any]] = [((), tree)]
    while waiting:
        titles, value = waiting.pop()
        if isinstance(value, str):
            if names_in(value):
                yield titles, value
        elif isinstance(value, list):
            waiting += [(titles, inner_value) for inner_value in reversed(value)]
        elif isinstance(value, dict):
            inner = _titled(titles, value)
            waiting += [(inner, inner_value) for inner_value in reversed(value.values())]


def _titled(titles: tuple[str, ...], value: dict[str, Any]) -> tuple[str, ...]:
    title = value.get("title")
    return (*titles, title[:100]) if isinstance(title, str) and title and len(titles) < 5 else titles
