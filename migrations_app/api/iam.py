"""Serializers of IAM evaluations, for requests and answers.

Resource iam: the IAM sheet of a cluster, and policy documents judged for a release. Nothing of a request is stored.
"""

import io
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, NoReturn

import msgspec
from django.core.validators import RegexValidator
from django.http import HttpResponse
from django.utils.http import http_date
from drf_spectacular.utils import OpenApiResponse, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ParseError, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.conversions import StrictBoolean
from migrations_app.api.framework import etags
from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.fields import OutputText, StrictJsonParser, StrictSerializer, Text
from migrations_app.api.framework.idempotency import idempotent
from migrations_app.api.framework.operations import IF_NONE_MATCH, Operation
from migrations_app.api.framework.permissions import READ
from migrations_app.api.framework.views import Endpoint, body_params, query_params
from migrations_app.errors import InvalidInput
from migrations_app.iam.evaluate import RequestVerdict
from migrations_app.iam.policy import MAX_BYTES, IamPolicy, parse_policy
from migrations_app.iam.requirements.evaluation import (
    CHOSEN,
    NAME_FORMS,
    EvaluationRequest,
    EvaluationResult,
    evaluate_request,
    slow_patterns,
)
from migrations_app.iam.requirements.features import Feature
from migrations_app.iam.requirements.gaps import Gap
from migrations_app.iam.requirements.output import NEWEST_MODULE, REMEDY_FORMS, Form, PolicyRemedy, remedy
from migrations_app.iam.requirements.remedies import removable
from migrations_app.manifests.nesting import NestedTooDeep, parse_json
from migrations_app.queries.clusters.reports import newest_sheet
from migrations_app.readiness.iam_sheet.values import IamRemoval

MAX_DOCUMENTS = 40
MAX_LISTED = 50
GAP_VERDICTS = tuple(verdict.value for verdict in RequestVerdict if verdict is not RequestVerdict.ALLOWED)
_POLICY = {
    "type": "object",
    "required": ["Statement"],
    "properties": {"Version": {"type": "string", "enum": ["2012-10-17", "2008-10-17"]}},
    "description": "A policy document as IAM takes it.",
}
_NAMED = {
    "type": "object",
    "required": ["document"],
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 128, "description": "Stands in every reason."},
        "document": {
            "anyOf": [_POLICY, {"type": "string", "maxLength": MAX_BYTES, "description": "The same as text."}]
        },
    },
    "additionalProperties": False,
}


class PolicyJsonParser(StrictJsonParser):
    """Refuses what a document of a policy cannot hold: deep nesting, and numbers of thousands of digits."""

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - plain JSON
        """Returns plain JSON. Raises ParseError naming the element."""
        body = stream.read()
        document = super().parse(io.BytesIO(body), media_type, parser_context)
        try:
            parse_json(body)
        except NestedTooDeep:
            raise ParseError("the body is nested too deeply") from None
        except ValueError as error:
            raise ParseError(f"the body cannot be used: {error}") from None
        return document


@extend_schema_field({"anyOf": [_POLICY, _NAMED]})
class PolicyDocumentField(serializers.Field[Any, Any, Any, Any]):
    """A policy document, or a policy document with a name; the value is the name, possibly empty, and the text."""

    default_error_messages = {
        "not_object": "Not an object.",
        "strange": "Unknown field {name}.",
        "name": "The name is not a text of 1 to 128 characters.",
        "document": "The document is neither an object nor a text.",
    }

    def to_internal_value(self, data: Any) -> tuple[str, str]:  # noqa: ANN401 - whatever the client sent
        if not isinstance(data, dict):
            self.fail("not_object")
        if "document" not in data:
            return "", json.dumps(data)
        if strange := sorted(set(data) - {"name", "document"}):
            self.fail("strange", name=strange[0][:60])
        name, document = data.get("name", ""), data["document"]
        if "name" in data and (not isinstance(name, str) or not 1 <= len(name) <= 128):
            self.fail("name")
        if not isinstance(document, str | dict):
            self.fail("document")
        return name, document if isinstance(document, str) else json.dumps(document)

    def to_representation(self, value: Any) -> Any:  # noqa: ANN401 - never an answer
        return value


def _form(field: str) -> dict[str, Any]:
    validator = RegexValidator(f"^(?:{NAME_FORMS[field]})$", "The value has the wrong form.")
    return {"required": False, "max_length": 700, "trim_whitespace": False, "validators": [validator]}


class NewEvaluationSerializer(StrictSerializer):
    """Documents, the release that they are evaluated for, and the account, region and names. A name that is left out is
    read from the documents if they contain exactly one."""

    policies = serializers.ListField(
        child=PolicyDocumentField(),
        min_length=1,
        max_length=MAX_DOCUMENTS,
        help_text="Every policy of the controller's role.",
    )
    release = Text(max_length=40, help_text="Such as 0.32 or 1.0.14.")
    boundary = PolicyDocumentField(
        required=False, allow_null=True, default=None, help_text="The role's permissions boundary."
    )
    cluster_name = Text(**_form("cluster_name"))
    account = Text(**_form("account"))
    region = Text(**_form("region"))
    partition = Text(**_form("partition"))
    queue = Text(**_form("queue"), help_text="Name or ARN of the interruption queue.")
    assume_role_arn = Text(**_form("assume_role_arn"), help_text="Role that the controller assumes (0.30 to 0.37).")
    node_roles = serializers.ListField(
        child=Text(**_form("node_role") | {"required": True}), required=False, max_length=MAX_LISTED
    )
    tags = serializers.ListField(
        child=Text(**_form("tag") | {"required": True}),
        required=False,
        max_length=MAX_LISTED,
        help_text="KEY=VALUE, as in spec.tags of the node classes.",
    )
    with_settings = serializers.ListField(
        child=serializers.ChoiceField(choices=[one.value for one in CHOSEN]), required=False, max_length=MAX_LISTED
    )
    without_settings = serializers.ListField(
        child=serializers.ChoiceField(choices=[one.value for one in CHOSEN]), required=False, max_length=MAX_LISTED
    )
    remedies = serializers.ListField(
        child=serializers.ChoiceField(choices=REMEDY_FORMS), required=False, max_length=MAX_LISTED, default=list
    )
    module_version = Text(
        required=False, max_length=20, default=NEWEST_MODULE, help_text="Of the Terraform EKS module, for `module`."
    )
    after_hop = StrictBoolean(required=False, default=False, help_text="Also list what the release no longer needs.")


class GapLineSerializer(StructSerializer):
    """One action that is refused. `required` is conditional if it depends on a setting that is not assumed."""

    struct = Gap
    leave_out = (
        "severity",
        "causes",
        "logs",
        "refusals",
    )

    verdict = serializers.ChoiceField(choices=GAP_VERDICTS)


class RemedyLineSerializer(serializers.Serializer[Any]):
    """What closes the gaps, in one form. `documents` is empty in forms other than JSON documents."""

    form = serializers.ChoiceField(choices=REMEDY_FORMS)
    text = OutputText()
    documents = serializers.ListField(child=serializers.DictField())


class RemovalLineSerializer(StructSerializer):
    """A statement that the release no longer needs; with `actions`, only those of it."""

    struct = IamRemoval


class EvaluationNamesSerializer(serializers.Serializer[Any]):
    """The names in requests and placeholders. `read` lists those that were read from the documents."""

    cluster = OutputText()
    account = OutputText()
    region = OutputText()
    partition = OutputText()
    queue = OutputText()
    node_roles = serializers.ListField(child=OutputText())
    read = serializers.ListField(child=OutputText())


class EvaluationSerializer(serializers.Serializer[Any]):
    """The document `karpdash/iam/v1` as the command prints it, then what the command prints beside it."""

    schema = serializers.ChoiceField(choices=("karpdash/iam/v1",))
    release = OutputText()
    gaps = GapLineSerializer(many=True)
    legacy_gaps = GapLineSerializer(many=True, help_text="Gaps for capacity that Provisioners still own; 0.32 only.")
    ok = serializers.BooleanField()
    names = EvaluationNamesSerializer()
    remarks = serializers.ListField(
        child=OutputText(), help_text="What has no effect on the result, and what to know before use."
    )
    remedies = RemedyLineSerializer(many=True)
    removable = RemovalLineSerializer(many=True, allow_null=True, help_text="Null without after_hop.")


SHEET = {"$ref": "#/components/schemas/IamSheet"}
MAX_CHARACTERS = 160_000
"""The limit of all documents together. A role takes ten managed policies of 6,144 characters, twenty if AWS raised the
quota, and 10,240 inline; each request of a release is evaluated on each document."""
MAX_SLOW_PATTERNS, MAX_SLOW_CHARACTERS = 4_000, 40_000
"""The limit of `slow_patterns` of all documents, and of their characters. 160,000 such characters took 17 seconds of
processor time; the official policies of a release have fewer than 10,000."""
NAMES = ("cluster_name", "account", "region", "partition", "queue", "assume_role_arn")


class ClusterIamView(Endpoint):
    """The IAM permissions of one cluster."""

    needs = {"GET": READ}
    tag = "iam"
    operations = {
        "GET": Operation(
            id="cluster_iam_read",
            answer={(200, "application/json"): SHEET, 304: OpenApiResponse(description="Nothing has changed")},
            more=[IF_NONE_MATCH],
        ),
    }

    def get(self, request: Request, id: uuid.UUID) -> HttpResponse:  # noqa: A002 - the name in the address
        """What each release of the path needs, what the controller's roles allow, and what closes the gaps.

        From the newest snapshot, whose time is in Last-Modified. 404 also if no Karpenter runs.
        """
        query_params(request, StrictSerializer)
        newest = newest_sheet(id)
        body = msgspec.json.encode(newest.sheet)
        tag = etags.of_bytes(body)
        is_unchanged = etags.unchanged(request, tag)
        answer = HttpResponse(status=304) if is_unchanged else HttpResponse(body, content_type="application/json")
        answer["ETag"] = tag
        answer["Last-Modified"] = http_date(newest.scanned_at.timestamp())
        answer["Cache-Control"] = "private, no-cache"
        answer["Vary"] = "Authorization, Cookie"
        return answer


class EvaluationsView(Endpoint):
    """Evaluation of policies without a cluster."""

    needs = {"POST": READ}
    operations = {
        "POST": Operation("iam_evaluations_create", body=NewEvaluationSerializer, answer=EvaluationSerializer),
    }
    parser_classes = [PolicyJsonParser]

    @idempotent
    def post(self, request: Request) -> Response:
        """What policies lack for a release of Karpenter, as `karpdash iam` prints it, and what closes the gaps."""
        body = body_params(request, NewEvaluationSerializer)
        question = _request_of(body)
        with _at_field("release"):
            answer = evaluate_request(question)
        added = remedy(answer.report, answer.site, policies=answer.policies)
        remedies = [
            _remedy_body(added, form, version=body["module_version"]) for form in dict.fromkeys(body["remedies"])
        ]
        return Response(
            answer.report.as_json()
            | {
                "names": _names(answer),
                "remarks": [*answer.odd, *added.remarks()],
                "remedies": remedies,
                "removable": _removable(answer) if body["after_hop"] else None,
            }
        )


def _request_of(body: dict[str, Any]) -> EvaluationRequest:
    documents, boundary = body["policies"], body["boundary"]
    if sum(len(text) for _, text in (*documents, *([boundary] if boundary else []))) > MAX_CHARACTERS:
        _refuse("policies", f"more than {MAX_CHARACTERS:,} characters: a role cannot have more", code="too_large")
    question = EvaluationRequest(
        release=body["release"],
        policies=tuple(_policy_of(text, name, field="policies", place=n) for n, (name, text) in enumerate(documents)),
        boundary=(_policy_of(boundary[1], boundary[0], field="boundary"),) if boundary else None,
        **{name: body.get(name, "") for name in NAMES},
        node_role=tuple(body.get("node_roles", ())),
        tag=tuple(body.get("tags", ())),
        turned_on=frozenset(map(Feature, body.get("with_settings", ()))),
        turned_off=frozenset(map(Feature, body.get("without_settings", ()))),
    )
    _refuse_slow((*question.policies, *(question.boundary or ())))
    for name, _ in question.wrong():
        _refuse(
            {"node_role": "node_roles", "tag": "tags"}.get(name, name), "The value has the wrong form.", code="invalid"
        )
    return question


def _refuse_slow(policies: Iterable[IamPolicy]) -> None:
    lengths = [len(text) for text in slow_patterns(policies)]
    if len(lengths) > MAX_SLOW_PATTERNS or sum(lengths) > MAX_SLOW_CHARACTERS:
        limit = f"{MAX_SLOW_PATTERNS:,}, or {MAX_SLOW_CHARACTERS:,} characters of them"
        told = f"more values of conditions, and actions and resources with ? or variables, than {limit}: name fewer"
        _refuse("policies", told, code="too_large")


def _policy_of(text: str, name: str, *, field: str, place: int | None = None) -> IamPolicy:
    """Returns the document; errors in it are raised for its place in the body."""
    location = field if place is None else f"{field}[{place}]"
    try:
        return parse_policy(text, name=name or location)
    except InvalidInput as error:
        details = [ErrorDetail(str(error), code=error.code)]
        raise ValidationError({field: details if place is None else {str(place): details}}) from None


@contextmanager
def _at_field(field: str) -> Iterator[None]:
    """Raises errors of the block as errors of that field."""
    try:
        yield
    except InvalidInput as error:
        _refuse(field, str(error), code=error.code)


def _refuse(field: str, reason: str, *, code: str) -> NoReturn:
    raise ValidationError({field: [ErrorDetail(reason, code=code)]})


def _remedy_body(added: PolicyRemedy, form: Form, *, version: str) -> dict[str, Any]:
    with _at_field("module_version" if form == "module" else "remedies"):
        documents = added.documents(form) if form in ("json", "merged") else ()
        text = added.text(form, version=version)
    return {"form": form, "text": text, "documents": list(documents)}


def _names(answer: EvaluationResult) -> dict[str, Any]:
    site = answer.site
    return {
        "cluster": site.cluster,
        "account": site.account,
        "region": site.region,
        "partition": site.partition,
        "queue": site.queue_name,
        "node_roles": list(site.roles),
        "read": list(answer.read),
    }


def _removable(answer: EvaluationResult) -> list[dict[str, Any]]:
    removals = removable(answer.policies, release=answer.report.release, site=answer.site)
    return [
        {"where": removal.statement.where, "sid": removal.statement.sid, "actions": list(removal.actions)}
        for removal in removals
    ]
