"""Resource conversions: converts manifests to their next generation, with what could not be carried over. Nothing is
stored or changed.
"""

from collections.abc import Iterable
from typing import Any, get_args

from django.core.validators import RegexValidator
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.framework.fields import StrictSerializer, Text
from migrations_app.api.framework.idempotency import idempotent
from migrations_app.api.framework.operations import Operation
from migrations_app.api.framework.permissions import READ
from migrations_app.api.framework.views import MIB, Endpoint, body_params
from migrations_app.conversion.findings import SEVERITIES
from migrations_app.conversion.objects import Options, TargetVersion
from migrations_app.conversion.reports.report import ConversionReport, LocatedFinding, convert_texts

FIELD = "manifests"
MEANINGS = {
    0: "everything is converted; nothing is left for a person",
    1: "an object has an error and is not among the results, or a person has to decide something before applying",
}


class StrictBoolean(serializers.BooleanField):
    """Only true or false; texts and numbers that look like a boolean are refused."""

    def to_internal_value(self, data: Any) -> bool:  # noqa: ANN401 - whatever the client sent
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


class NewConversionSerializer(StrictSerializer):
    """Manifests and how to convert them. Without `to` every object goes to its own next generation."""

    manifests = Text(
        max_length=MIB, trim_whitespace=False, help_text="YAML or JSON: documents, Lists, what kubectl get prints."
    )
    to = serializers.ChoiceField(choices=get_args(TargetVersion), required=False, allow_null=True, default=None)
    ignore_defaults = StrictBoolean(
        required=False, default=False, help_text="Omit the requirements that the alpha webhook added."
    )
    node_role = Text(
        required=False,
        max_length=200,
        validators=[RegexValidator(r"^[A-Za-z0-9+=,.@_:/-]+$", "No name of a role.")],
        help_text="Name of the IAM role of the nodes; without it a placeholder is used if the object names none.",
    )
    keep_instance_profile = StrictBoolean(
        required=False, default=False, help_text="Keep the instance profile instead of asking for a role."
    )


class FindingObjectSerializer(serializers.Serializer[Any]):
    """The object that a finding is about; both empty when it is about none."""

    kind = serializers.CharField(allow_blank=True)
    name = serializers.CharField(allow_blank=True)


class ConversionFindingSerializer(serializers.Serializer[Any]):
    """What was lost, made explicit or has to be decided by a person. `code` is stable; document and line are 0 where
    unknown.
    """

    severity = serializers.ChoiceField(choices=SEVERITIES)
    code = serializers.CharField()
    object = FindingObjectSerializer()
    path = serializers.CharField(allow_blank=True)
    what = serializers.CharField()
    why = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment]  # the metaclass takes fields away before the name could clash
    proposal = serializers.JSONField(help_text="Data that may help to decide, or null.")
    file = serializers.CharField()
    document = serializers.IntegerField()
    item = serializers.IntegerField(allow_null=True)
    line = serializers.IntegerField()


class ConvertedSerializer(serializers.Serializer[Any]):
    """The results in input order. `exit_code` is that of `karpdash convert`, `meaning` is its text."""

    exit_code = serializers.IntegerField(min_value=0, max_value=1)
    meaning = serializers.CharField()
    yaml = serializers.CharField(allow_blank=True)
    objects = serializers.ListField(child=serializers.DictField())
    findings = ConversionFindingSerializer(many=True)


class ConversionsView(Endpoint):
    """Conversion of manifests."""

    needs = {"POST": READ}
    operations = {
        "POST": Operation("conversions_create", body=NewConversionSerializer, answer=ConvertedSerializer),
    }

    @idempotent
    def post(self, request: Request) -> Response:
        """Converts Karpenter manifests, keeping their behaviour. If nothing could be converted, the status is 400."""
        body = body_params(request, NewConversionSerializer)
        manifests = body.pop(FIELD)
        report = convert_texts([(FIELD, manifests)], Options(**body))
        if not report.objects and report.worst == "error":
            raise ValidationError({FIELD: list(_errors_of(report.findings))})
        return Response(_body(report))


def _body(report: ConversionReport) -> dict[str, Any]:
    return {
        "exit_code": report.exit_code,
        "meaning": MEANINGS[report.exit_code],
        "yaml": report.as_yaml(),
        "objects": report.objects,
        "findings": [finding.as_dict() for finding in report.findings],
    }


def _errors_of(findings: Iterable[LocatedFinding]) -> Iterable[ErrorDetail]:
    """Returns the errors, each with object, document, line and field in its text and the finding's own code."""
    for finding in findings:
        loss = finding.loss
        if loss.severity == "error":
            parts = (finding.place.removeprefix(f"{FIELD}, "), loss.object.strip("-"), loss.path, loss.what)
            yield ErrorDetail(": ".join(part for part in parts if part and part != FIELD), code=loss.code)
