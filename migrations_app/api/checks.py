"""checks: the catalogue, the same for every cluster."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.described import described
from migrations_app.api.endpoint import Endpoint, asked
from migrations_app.api.fields import Strict, Told
from migrations_app.api.rights import READ
from migrations_app.checks.base import Check as CatalogueCheck
from migrations_app.checks.registry import all_checks
from migrations_app.errors import NotFound


class CheckRow(serializers.Serializer[Any]):
    """One check. `hops` are hop ids, or * for every hop; `severity_at` overrides `severity` at a hop."""

    id = Told()
    title = Told()
    phase = Told()
    severity = Told()
    severity_at = serializers.DictField(child=Told())
    hops = serializers.ListField(child=Told())
    why = Told()
    reads = serializers.ListField(child=Told())
    resolved_by = serializers.ListField(child=Told())
    sources = serializers.ListField(child=Told())
    formerly = serializers.ListField(child=Told())


class CheckList(serializers.Serializer[Any]):
    results = CheckRow(many=True)


class Checks(Endpoint):
    """The catalogue of checks."""

    needs = {"GET": READ}

    @described("GET", id="checks_list", tag="checks", answers={200: CheckList})
    def get(self, request: Request) -> Response:
        """Every check, by id."""
        asked(request, Strict)
        return Response({"results": CheckRow(all_checks(), many=True).data})


class Check(Endpoint):
    """One check."""

    needs = {"GET": READ}

    @described("GET", id="checks_read", tag="checks", named=True, answers={200: CheckRow})
    def get(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the address
        """The check of that id, or of that former id."""
        asked(request, Strict)
        return Response(CheckRow(_found(id)).data)


def _found(name: str) -> CatalogueCheck:
    for check in all_checks():
        if name == check.id or name in check.formerly:
            return check
    raise NotFound("no such check")
