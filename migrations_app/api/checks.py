"""checks: the catalogue, the same for every cluster."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.framework.fields import Strict, Told
from migrations_app.api.framework.permissions import READ
from migrations_app.api.framework.schema import described
from migrations_app.api.framework.views import Endpoint, asked
from migrations_app.checks.base import Check as CatalogueCheck
from migrations_app.checks.registry import RETIRED, about, all_checks
from migrations_app.errors import NotFound


class CoveredRow(serializers.Serializer[Any]):
    """A change of a release or a known pain; `release` is empty for a pain."""

    id = Told()
    subject = Told()
    release = Told()


class CheckRow(serializers.Serializer[Any]):
    """One check. `hops` are hop ids, or * for every hop; `severity_at` overrides `severity` at a hop.

    `remedies` are the tools that a remedy may be for, `introduced_by` is the Karpenter minor that brought the rule,
    `since` the release of karpdash that first asked it.
    """

    id = Told()
    title = Told()
    phase = Told()
    severity = Told()
    severity_at = serializers.DictField(child=Told())
    hops = serializers.ListField(child=Told())
    why = Told()
    how = Told()
    reads = serializers.ListField(child=Told())
    remedies = serializers.ListField(child=Told())
    resolved_by = serializers.ListField(child=Told())
    covers = CoveredRow(many=True)
    introduced_by = Told()
    sources = serializers.ListField(child=Told())
    since = Told()
    formerly = serializers.ListField(child=Told())


class RetiredRow(serializers.Serializer[Any]):
    """A check that is not asked any more; `instead` names those that took its place."""

    id = Told()
    title = Told()
    since = Told()
    until = Told()
    why = Told()
    instead = serializers.ListField(child=Told())


class CheckList(serializers.Serializer[Any]):
    results = CheckRow(many=True)
    retired = RetiredRow(many=True)


class Checks(Endpoint):
    """The catalogue of checks."""

    needs = {"GET": READ}

    @described("GET", id="checks_list", tag="checks", answers={200: CheckList})
    def get(self, request: Request) -> Response:
        """Every check, by id."""
        asked(request, Strict)
        rows = [_told(check) for check in all_checks()]
        return Response({"results": CheckRow(rows, many=True).data, "retired": RetiredRow(RETIRED, many=True).data})


class Check(Endpoint):
    """One check."""

    needs = {"GET": READ}

    @described("GET", id="checks_read", tag="checks", named=True, answers={200: CheckRow})
    def get(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the address
        """The check of that id, or of that former id."""
        asked(request, Strict)
        return Response(CheckRow(_told(_found(id))).data)


def _told(check: CatalogueCheck) -> dict[str, Any]:
    """What the check declares, and what is worked out about it."""
    told = about(check)
    own = {name: getattr(check, name, None) for name in CheckRow().get_fields()}
    covers = [one._asdict() for one in told.covers]
    return own | {"remedies": told.remedies, "covers": covers, "introduced_by": told.introduced_by}


def _found(name: str) -> CatalogueCheck:
    for check in all_checks():
        if name == check.id or name in check.formerly:
            return check
    raise NotFound("no such check")
