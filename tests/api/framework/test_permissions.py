"""The self-check of T13: a route without a declared need does not start."""

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.framework.permissions import READ, EndpointPermission, refuse_undeclared, undeclared_operations
from migrations_app.api.framework.views import Endpoint
from migrations_app.api.urls import urlpatterns


class Good(Endpoint):
    needs = {"GET": READ}

    def get(self, request: Request) -> Response:
        return Response()


class Forgotten(Good):
    def post(self, request: Request) -> Response:
        return Response()


class Misspelt(Good):
    needs = {"GET": EndpointPermission("reed")}


class Open(Good):
    permission_classes = []


def plain(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


@pytest.mark.parametrize(
    ("view", "told"),
    [
        (Good.as_view(), []),
        (Forgotten.as_view(), ["POST a"]),
        (Misspelt.as_view(), ["GET a"]),
        (Open.as_view(), ["a: not one of our endpoints"]),
        (plain, ["a: not one of our endpoints"]),
    ],
)
def test_what_is_not_declared_is_named(view: object, told: list[str]) -> None:
    assert list(undeclared_operations([path("a", view)])) == told  # type: ignore[call-overload]  # any callable


def test_nested_routes_are_looked_at() -> None:
    assert list(undeclared_operations([path("x/", include([path("a", Forgotten.as_view())]))])) == ["POST a"]


def test_start_is_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match="routes without a declared permission: POST a"):
        refuse_undeclared([path("a", Forgotten.as_view())])


def test_our_own_routes_are_declared() -> None:
    assert (list(undeclared_operations(urlpatterns)), len(urlpatterns) > 20) == ([], True)
