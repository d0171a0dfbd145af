"""Headers on every answer: the content security policy, and no caching of what only signed-in people may see."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'{styles}; img-src 'self'{images}; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
DOCS = "/api/v1/docs/"


class ContentSecurityPolicy:
    """Nothing from outside and nothing inline; Swagger's page alone may style itself."""

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
