"""`/metrics` for Prometheus: computed from the database at each scrape, so that any web process can answer."""

from collections.abc import Iterable, Iterator, Mapping
from typing import get_args

from django.conf import settings
from django.db import Error, OperationalError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from karpdash.monitoring.health import COMPONENTS, missing
from migrations_app.queries.fleet.metrics import Cell, Duration, FleetNumbers, numbers
from migrations_app.queries.visibility import ALL, VisibilityScope, permissions_of, visibility_scope
from migrations_app.readiness.report import Verdict
from migrations_app.use_cases.accounts.service_tokens import authenticate
from migrations_app.use_cases.accounts.tokens import TokenUse
from migrations_app.use_cases.audit.delivery_lag import why_blocked
from migrations_app.use_cases.runtime.counters import BEYOND, BUCKETS

SCOPE = "metrics"
TEXT = "text/plain; version=0.0.4; charset=utf-8"
PLAIN = "text/plain; charset=utf-8"
VERDICTS: tuple[str, ...] = get_args(Verdict)


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """All metrics as text; 401 without a token, 403 for a token without the scope, 503 without the database."""
    try:
        if settings.ENV.metrics_open:
            return _metrics_response(ALL)
        use = _use(request)
        return use if isinstance(use, HttpResponse) else _metrics_response(VisibilityScope(permissions_of(use.owner)))
    except Error:
        return HttpResponse("the database does not answer\n", status=503, content_type=PLAIN)


def _metrics_response(scope: VisibilityScope) -> HttpResponse:
    with visibility_scope(scope):
        fleet = numbers(now=timezone.now())
        return HttpResponse(generate_latest(registry(fleet, missing_components())), content_type=TEXT)


def missing_components() -> Mapping[str, bool]:
    """Returns each component of karpdash and whether it is missing; without those that were not looked at, because the
    schema does not fit. Raises django.db.Error.
    """
    reasons = missing()
    if "database" in reasons:
        raise OperationalError("the database does not answer")
    seen = COMPONENTS if "schema" not in reasons else ("schema", "broker")
    return {name: name in reasons for name in seen} | {"audit_sink": bool(why_blocked())}


def _use(request: HttpRequest) -> TokenUse | HttpResponse:
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    address = str(getattr(request, "client_address", ""))
    use = authenticate(secret.strip(), address=address) if scheme.lower() == "bearer" else None
    if use is None:
        headers = {"WWW-Authenticate": 'Bearer realm="karpdash"'}
        return HttpResponse("a token is needed\n", status=401, headers=headers, content_type=PLAIN)
    if SCOPE not in use.scopes:
        return HttpResponse(f"the token lacks the scope {SCOPE}\n", status=403, content_type=PLAIN)
    return use


def registry(fleet: FleetNumbers, components: Mapping[str, bool]) -> CollectorRegistry:
    """Returns a registry with these metrics alone, without process metrics."""
    collector_registry = CollectorRegistry(auto_describe=False)
    collector_registry.register(_FleetCollector(fleet, components))
    return collector_registry


class _FleetCollector(Collector):
    def __init__(self, fleet: FleetNumbers, components: Mapping[str, bool]) -> None:
        self._numbers, self._components = fleet, components

    def collect(self) -> Iterable[Metric]:
        yield from families(self._numbers)
        yield from health_families(self._numbers, self._components)


def health_families(fleet: FleetNumbers, components: Mapping[str, bool]) -> Iterator[Metric]:
    """Returns the metrics about karpdash itself."""
    yield _filled(_gauge("missing", "Whether that part of karpdash is missing.", "component"), components.items())
    failing = _gauge("channels_failing", "Channels that did not receive their last message.")
    failing.add_metric([], float(fleet.channels_failing))
    yield failing


def families(fleet: FleetNumbers) -> Iterator[Metric]:
    """Returns each metric with its labels; the names are those in the docs."""
    verdict = _gauge("hop_verdict", "Whether that is the verdict on the hop.", "cluster", "hop", "verdict")
    for cluster, hop, word in fleet.verdicts:
        for value in VERDICTS:
            verdict.add_metric((cluster, hop, value), float(value == word))
    yield verdict
    yield _filled(
        _gauge("checks", "Findings of the newest scan.", "cluster", "hop", "severity", "status"), fleet.checks
    )
    yield _filled(_gauge("objects", "Objects of Karpenter.", "cluster", "kind", "api_version"), fleet.objects)
    yield _filled(_gauge("legacy_nodes", "Nodes of v1alpha5 that are left.", "cluster"), fleet.legacy_nodes)
    yield _duration(fleet.duration)
    description = "Time since the last scan that succeeded; without one, since the registration."
    yield _filled(_gauge("scan_age_seconds", description, "cluster"), fleet.ages)
    description = "Age from which a result is out of date."
    yield _filled(_gauge("scan_stale_after_seconds", description, "cluster"), fleet.stale_after)
    yield _filled(_gauge("result_stale", "Whether the result is out of date.", "cluster"), fleet.stale)
    yield _filled(_counter("scan_errors", "Scans without a result.", "cluster", "class"), fleet.errors)
    description = "Requests to the cluster's API server."
    yield _filled(_counter("apiserver_requests", description, "cluster", "verb", "code"), fleet.requests)
    description = "Measures of ended rollouts beside their rehearsal."
    yield _filled(_counter("rehearsal_forecasts", description, "cluster", "measure", "agreement"), fleet.forecasts)
    yield _filled(_gauge("rollout_state", "Rollouts in that state.", "cluster", "state"), fleet.rollouts)
    description = "Accepted failures in that state; `ending` hold for two weeks more at most."
    yield _filled(_gauge("waivers", description, "state"), fleet.waivers)


def _gauge(name: str, description: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"karpdash_{name}", description, labels=labels)


def _counter(name: str, description: str, *labels: str) -> CounterMetricFamily:
    return CounterMetricFamily(f"karpdash_{name}", description, labels=labels)


def _filled(family: GaugeMetricFamily | CounterMetricFamily, cells: Iterable[Cell]) -> Metric:
    for *labels, number in cells:
        family.add_metric([str(label) for label in labels], float(number))
    return family


def _duration(duration: Duration) -> HistogramMetricFamily:
    ends = [*(f"{end:g}" for end in BUCKETS), BEYOND]
    reached = 0
    buckets: list[tuple[str, float]] = []
    for end in ends:
        reached += duration.buckets.get(end, 0)
        buckets.append((str(float(end)) if end != BEYOND else end, float(reached)))
    family = HistogramMetricFamily("karpdash_scan_duration_seconds", "How long scans took, whatever came of them.")
    family.add_metric([], buckets, duration.seconds)
    return family
