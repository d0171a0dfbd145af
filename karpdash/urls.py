"""URL routes: web pages at /, the API at /api/v1/, SCIM at /scim/v2/, health checks and metrics."""

from importlib.util import find_spec

from django.urls import URLPattern, URLResolver, include, path

from karpdash.monitoring import health
from karpdash.monitoring.metrics import metrics

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("metrics", metrics),
    path("", include("migrations_app.web.urls")),
]
if find_spec("migrations_app.api.urls"):
    urlpatterns.insert(3, path("api/v1/", include("migrations_app.api.urls")))
    urlpatterns.insert(4, path("scim/v2/", include("migrations_app.api.scim.urls")))
handler400 = "karpdash.middleware.failures.refused"
handler500 = "karpdash.middleware.failures.failed"
