"""Mounts the browser at /, the API at /api/v1/, and the health pages."""

from importlib.util import find_spec

from django.urls import URLPattern, URLResolver, include, path

from karpdash import health

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("", include("migrations_app.web.urls")),
]
if find_spec("migrations_app.api.urls"):
    urlpatterns.insert(2, path("api/v1/", include("migrations_app.api.urls")))
