"""Headers of every response: the content security policy, and no caching of pages that require sign-in."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'{styles}; img-src 'self'{images}; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
DOCS = "/api/v1/docs/"


class ContentSecurityPolicy:
    """Allows no external and no inline content; only the Swagger page may use inline styles."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        docs = request.path == DOCS
        policy = POLICY.format(styles=" 'unsafe-inline'" if docs else "", images=" data:" if docs else "")
        response.headers.setdefault("Content-Security-Policy", policy)
        if not request.path.startswith("/static/"):
            response.headers.setdefault("Cache-Control", "no-store")
        return response
