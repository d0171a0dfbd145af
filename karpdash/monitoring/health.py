"""Health endpoints: liveness and readiness of karpdash itself."""

from django.db import Error, connection
from django.http import HttpRequest, HttpResponse, JsonResponse

from karpdash.monitoring.broker import broker_answers
from karpdash.monitoring.schema import schema_fit
from migrations_app.queries.worker_health import WORKED_QUEUES, queues_without_worker
from migrations_app.use_cases.runtime.disk_space import why_full

_MISFITS = {
    "behind": "the tables lack steps of this release",
    "ahead": "a newer release has taken away tables or columns that this one needs",
}
NEEDED_FOR_PAGES = ("database", "schema")
BEAT = "beat"
COMPONENTS = ("schema", "broker", "disk", *(BEAT if name == BEAT else f"worker:{name}" for name in WORKED_QUEUES))
"""Everything that may be missing while the database answers."""


def healthz(_request: HttpRequest) -> HttpResponse:
    """200 as soon as pages can be served."""
    return HttpResponse("ok\n", content_type="text/plain; charset=utf-8")


def readyz(request: HttpRequest) -> JsonResponse:
    """200 if nothing is missing, otherwise 503 with the names: database, schema, broker, disk, worker:<queue>,
    beat.

    With `?for=web` only what pages need counts, so that a load balancer still sends requests if only workers are down.
    """
    reasons = missing()
    needed = {name for name in reasons if name in NEEDED_FOR_PAGES} if request.GET.get("for") == "web" else set(reasons)
    document = {"ready": not needed, "missing": sorted(reasons), "why": reasons}
    return JsonResponse(document, status=503 if needed else 200)


def missing() -> dict[str, str]:
    """Returns the missing components, each with the reason as text."""
    reasons = _database()
    if "database" not in reasons and "schema" not in reasons:
        reasons |= _queues() | _disk()
    return reasons if broker_answers() else reasons | {"broker": "the broker does not answer"}


def _database() -> dict[str, str]:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        fit = schema_fit()
    except Error:
        return {"database": "the database does not answer"}
    return {"schema": _MISFITS[fit]} if fit else {}


def _queues() -> dict[str, str]:
    silent = queues_without_worker()
    return {
        queue if queue == BEAT else f"worker:{queue}": "no heartbeat for a minute" for queue in silent
    }  # beat is not a worker


def _disk() -> dict[str, str]:
    reason = why_full()
    return {"disk": reason} if reason else {}
