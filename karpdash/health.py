"""Is karpdash itself alive and ready."""

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from redis import Redis
from redis.exceptions import RedisError

from karpdash.env import current


def healthz(_request: HttpRequest) -> HttpResponse:
    """200 as soon as pages can be answered."""
    return HttpResponse("ok\n", content_type="text/plain")


def readyz(_request: HttpRequest) -> JsonResponse:
    """200 when database and broker answer, else 503 naming what is missing."""
    missing = [name for name, works in (("database", _database()), ("broker", _broker())) if not works]
    return JsonResponse({"ready": not missing, "missing": missing}, status=503 if missing else 200)


def _database() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM migrations_app_cluster LIMIT 1")
    except DatabaseError:
        return False
    return True


def _broker() -> bool:
    url = current().broker_url
    if url.startswith("memory"):
        return True
    try:
        return bool(_client(url).ping())
    except RedisError:
        return False


def _client(url: str) -> Redis:
    plain = url.replace("redis+socket://", "unix://").replace("virtual_host=", "db=")
    return Redis.from_url(plain, socket_timeout=1, socket_connect_timeout=1)
