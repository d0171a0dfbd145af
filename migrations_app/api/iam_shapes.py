"""The shapes of iam: what an evaluation is asked with, and how it is answered."""

import io
import json
from collections.abc import Mapping
from typing import IO, Any

from django.core.validators import RegexValidator
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ParseError

from migrations_app.api.bodies import StrictJson
from migrations_app.api.conversions import Switch
from migrations_app.api.fields import Strict, Text, Told
from migrations_app.karpenter.iam.asked import CHOSEN, NAME_FORMS
from migrations_app.karpenter.iam.evaluate import Verdict
from migrations_app.karpenter.iam.policy import MAX_BYTES
from migrations_app.karpenter.iam.written import NEWEST_MODULE, REMEDY_FORMS

MOST_DOCUMENTS = 40
MOST_LISTED = 50
GAP_VERDICTS = tuple(verdict.value for verdict in Verdict if verdict is not Verdict.ALLOWED)
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


class WithoutDoubles(StrictJson):
    """Refuses a doubled element: IAM does, and a reader that kept the last one would judge another document."""

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - plain JSON
        """Plain JSON. Raises ParseError naming the element."""
        body = stream.read()
        found = super().parse(io.BytesIO(body), media_type, parser_context)
        try:
            json.loads(body, object_pairs_hook=_once)
        except RecursionError:
            raise ParseError("the body is nested too deeply") from None
        except ValueError as wrong:  # also for numbers of thousands of digits
            raise ParseError(f"the body cannot be used: {wrong}") from None
        return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        doubled = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the element {doubled[:60]!r} stands twice in one object")
    return found


@extend_schema_field({"anyOf": [_POLICY, _NAMED]})
class Document(serializers.Field[Any, Any, Any, Any]):
    """A policy document, or one with a name; gives back its name, empty without one, and its text."""

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
    validator = RegexValidator(f"^(?:{NAME_FORMS[field]})$", "Not in the form wanted.")
    return {"required": False, "max_length": 700, "trim_whitespace": False, "validators": [validator]}


class NewEvaluation(Strict):
    """Documents, the release they are judged for, and what is known of the place. A name that is left out is read from
    the documents where they name exactly one."""

    policies = serializers.ListField(
        child=Document(), min_length=1, max_length=MOST_DOCUMENTS, help_text="Every policy of the controller's role."
    )
    release = Text(max_length=40, help_text="Such as 0.32 or 1.0.14.")
    boundary = Document(required=False, allow_null=True, default=None, help_text="The role's permissions boundary.")
    cluster_name = Text(**_form("cluster_name"))
    account = Text(**_form("account"))
    region = Text(**_form("region"))
    partition = Text(**_form("partition"))
    queue = Text(**_form("queue"), help_text="Name or ARN of the interruption queue.")
    assume_role_arn = Text(**_form("assume_role_arn"), help_text="Role that the controller assumes (0.30 to 0.37).")
    node_roles = serializers.ListField(
        child=Text(**_form("node_role") | {"required": True}), required=False, max_length=MOST_LISTED
    )
    tags = serializers.ListField(
        child=Text(**_form("tag") | {"required": True}),
        required=False,
        max_length=MOST_LISTED,
        help_text="KEY=VALUE, as in spec.tags of the node classes.",
    )
    with_settings = serializers.ListField(
        child=serializers.ChoiceField(choices=[one.value for one in CHOSEN]), required=False, max_length=MOST_LISTED
    )
    without_settings = serializers.ListField(
        child=serializers.ChoiceField(choices=[one.value for one in CHOSEN]), required=False, max_length=MOST_LISTED
    )
    remedies = serializers.ListField(
        child=serializers.ChoiceField(choices=REMEDY_FORMS), required=False, max_length=MOST_LISTED, default=list
    )
    module_version = Text(
        required=False, max_length=20, default=NEWEST_MODULE, help_text="Of the Terraform EKS module, for `module`."
    )
    after_hop = Switch(required=False, default=False, help_text="Also say what the release no longer needs.")


class GapLine(serializers.Serializer[Any]):
    """One action that is refused. `required` is conditional where it hangs on a setting that is not assumed."""

    action = Told()
    resource = serializers.ListField(child=Told(), help_text="Types of the resources for which it is refused.")
    verdict = serializers.ChoiceField(choices=GAP_VERDICTS)
    required = serializers.ChoiceField(choices=("always", "conditional"))  # type: ignore[assignment]  # the metaclass takes fields away before the name could clash
    when = Told()
    needed_for = serializers.ListField(child=Told())
    effect = Told()


class RemedyLine(serializers.Serializer[Any]):
    """What closes the gaps, in one form. `documents` are empty in forms that are none."""

    form = serializers.ChoiceField(choices=REMEDY_FORMS)
    text = Told()
    documents = serializers.ListField(child=serializers.DictField())


class RemovalLine(serializers.Serializer[Any]):
    """A statement that the release no longer needs, or only the named actions of it."""

    where = Told()
    sid = Told()
    actions = serializers.ListField(child=Told())


class EvaluationNames(serializers.Serializer[Any]):
    """What requests and placeholders were filled with. `read` names those that the documents told."""

    cluster = Told()
    account = Told()
    region = Told()
    partition = Told()
    queue = Told()
    node_roles = serializers.ListField(child=Told())
    read = serializers.ListField(child=Told())


class Evaluation(serializers.Serializer[Any]):
    """`karpdash/iam/v1` as the command prints it, then what the command says beside it."""

    schema = serializers.ChoiceField(choices=("karpdash/iam/v1",))
    release = Told()
    gaps = GapLine(many=True)
    legacy_gaps = GapLine(many=True, help_text="Of capacity that Provisioners still own; 0.32 only.")
    ok = serializers.BooleanField()
    names = EvaluationNames()
    remarks = serializers.ListField(child=Told(), help_text="What decides nothing, and what to know before use.")
    remedies = RemedyLine(many=True)
    removable = RemovalLine(many=True, allow_null=True, help_text="Null unless after_hop was asked for.")
