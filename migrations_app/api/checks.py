"""Resource checks: the catalogue of checks, which is the same for every cluster."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.framework.fields import OutputText, StrictSerializer
from migrations_app.api.framework.operations import Operation
from migrations_app.api.framework.permissions import READ
from migrations_app.api.framework.views import Endpoint, query_params
from migrations_app.checks.base import Check as CatalogueCheck
from migrations_app.checks.registry import RETIRED, all_checks, describe
from migrations_app.errors import NotFound
from migrations_app.karpenter.coverage.entries import CHANGES, KNOWN_PROBLEMS, counted
from migrations_app.karpenter.coverage.entry import EXTENTS, Coverage


class CoveredRowSerializer(serializers.Serializer[Any]):
    """A breaking change of a release, or a known problem (`release` is empty). `extent` is judged, partly, person (a
    person has to check) or not_looked; `proven`: a test plants it into a clean cluster.
    """

    id = OutputText()
    subject = OutputText()
    release = OutputText()
    extent = serializers.ChoiceField(choices=tuple(EXTENTS))
    proven = serializers.BooleanField()


class ExtentCountSerializer(serializers.Serializer[Any]):
    extent = serializers.ChoiceField(choices=tuple(EXTENTS))
    entries = serializers.IntegerField()
    proven = serializers.IntegerField()


class CoverageCountsSerializer(serializers.Serializer[Any]):
    """How far the known changes and problems are covered, by all checks together."""

    changes = ExtentCountSerializer(many=True)
    pains = ExtentCountSerializer(many=True)


class CheckRowSerializer(serializers.Serializer[Any]):
    """One check. `hops` are hop ids, or * for every hop; `severity_at` overrides `severity` at a hop.

    `remedies` are the tools that a remedy may be for, `introduced_by` is the Karpenter minor since which the check is
    needed, `since` the release of karpdash that first had it.
    """

    id = OutputText()
    title = OutputText()
    phase = OutputText()
    severity = OutputText()
    severity_at = serializers.DictField(child=OutputText())
    hops = serializers.ListField(child=OutputText())
    why = OutputText()
    how = OutputText()
    reads = serializers.ListField(child=OutputText())
    remedies = serializers.ListField(child=OutputText())
    resolved_by = serializers.ListField(child=OutputText())
    covers = CoveredRowSerializer(many=True)
    introduced_by = OutputText()
    sources = serializers.ListField(child=OutputText())
    since = OutputText()
    formerly = serializers.ListField(child=OutputText())


class RetiredRowSerializer(serializers.Serializer[Any]):
    """A check that was removed; `instead` names the checks that replace it."""

    id = OutputText()
    title = OutputText()
    since = OutputText()
    until = OutputText()
    why = OutputText()
    instead = serializers.ListField(child=OutputText())


class CheckListSerializer(serializers.Serializer[Any]):
    results = CheckRowSerializer(many=True)
    retired = RetiredRowSerializer(many=True)
    coverage = CoverageCountsSerializer()


class ChecksView(Endpoint):
    """The catalogue of checks."""

    needs = {"GET": READ}
    operations = {
        "GET": Operation("checks_list", answer=CheckListSerializer),
    }

    def get(self, request: Request) -> Response:
        """Every check, by id."""
        query_params(request, StrictSerializer)
        rows = [_check_fields(check) for check in all_checks()]
        return Response(
            {
                "results": CheckRowSerializer(rows, many=True).data,
                "retired": RetiredRowSerializer(RETIRED, many=True).data,
                "coverage": {"changes": _counts(CHANGES), "pains": _counts(KNOWN_PROBLEMS)},
            }
        )


class CheckView(Endpoint):
    """One check."""

    needs = {"GET": READ}
    operations = {
        "GET": Operation("checks_read", answer=CheckRowSerializer),
    }

    def get(self, request: Request, id: str) -> Response:  # noqa: A002 - the name in the address
        """The check with that id or former id."""
        query_params(request, StrictSerializer)
        return Response(CheckRowSerializer(_check_fields(_check_of(id))).data)


def _counts(entries: tuple[Coverage, ...]) -> list[dict[str, Any]]:
    return [extent_count._asdict() for extent_count in counted(entries)]


def _check_fields(check: CatalogueCheck) -> dict[str, Any]:
    """Returns what the check declares and what is derived from that."""
    description = describe(check)
    declared = {name: getattr(check, name, None) for name in CheckRowSerializer().get_fields()}
    covers = [cover._asdict() for cover in description.covers]
    return declared | {"remedies": description.remedies, "covers": covers, "introduced_by": description.introduced_by}


def _check_of(name: str) -> CatalogueCheck:
    for check in all_checks():
        if name == check.id or name in check.formerly:
            return check
    raise NotFound("no such check")
