"""Mounts the browser at /, the API at /api/v1/, and the health pages."""

from django.urls import URLPattern, URLResolver, path

from karpdash import health

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", health.healthz),
    path("readyz", health.readyz),
]
