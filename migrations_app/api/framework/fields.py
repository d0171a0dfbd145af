"""Parsers and fields for request bodies, with limits (T29).

Input is taken exactly as written: unknown fields and values of another type are refused, never converted.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import IO, Any

import msgspec
from rest_framework import serializers
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from migrations_app.checks.registry import current_id
from migrations_app.errors import InvalidInput
from migrations_app.karpenter.hops import every_hop
from migrations_app.readiness.kubernetes_plan import planned_minor


class StrictJsonParser(BaseParser):
    """Parses strict JSON: no NaN, no unpaired surrogates, no repeated fields, no nesting that exhausts the stack."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,  # noqa: ARG002 - DRF's signature
        parser_context: Mapping[str, Any] | None = None,  # noqa: ARG002 - DRF's signature
    ) -> Any:  # noqa: ANN401 - plain JSON
        """Returns plain JSON. Raises ParseError with the position of the fault."""
        text = stream.read()
        try:
            value = msgspec.json.decode(text)
            # msgspec keeps the last of repeated fields, and another reader of the same body may keep the first.
            json.loads(text, object_pairs_hook=_refuse_repeated, parse_int=str, parse_float=str)
        except RecursionError:
            raise ParseError("the body is nested too deeply") from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ParseError(f"the body is not JSON: {error}") from None
        return value


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> None:
    """Raises ParseError if a field of an object is given more than once."""
    if len(dict(pairs)) < len(pairs):
        name, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ParseError(f"the field {name[:60]!r} is repeated in one object")


class OutputText(serializers.CharField):
    """A text of an answer; it may be empty."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - the options of CharField
        super().__init__(allow_blank=True, **options)


class Text(serializers.CharField):
    """A JSON string; numbers and booleans are refused, not converted."""

    default_error_messages = {"not_text": "Not a text."}

    def to_internal_value(self, data: Any) -> str:  # noqa: ANN401 - whatever the client sent
        if not isinstance(data, str):
            self.fail("not_text")
        return str(super().to_internal_value(data))


class KubernetesMinor(serializers.CharField):
    """A Kubernetes version that names its minor, such as 1.33."""

    default_error_messages = {"bad_kubernetes": "Not a Kubernetes version, such as 1.33."}

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - the options of CharField
        description = (
            "The Kubernetes that the cluster is to be raised to, such as 1.33: judged as if that were planned."
        )
        super().__init__(required=False, max_length=40, help_text=description, **options)

    def to_internal_value(self, data: Any) -> str:  # noqa: ANN401 - whatever the client sent
        try:
            return planned_minor(str(super().to_internal_value(data)))
        except InvalidInput:
            self.fail("bad_kubernetes")


class CheckId(serializers.CharField):
    """The id of a check; one from before it was renamed is turned into today's. With an id that no check has, a list
    would be empty, as it is where a check fails nowhere.
    """

    default_error_messages = {"unknown_check": "There is no such check; `checks` lists them."}

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - the options of CharField
        super().__init__(required=False, max_length=80, **options)

    def to_internal_value(self, data: Any) -> str:  # noqa: ANN401 - whatever the client sent
        check = current_id(str(super().to_internal_value(data)))
        if not check:
            self.fail("unknown_check")
        return check


class HopName(serializers.CharField):
    """The name of a hop, or one of `more`, refused like the id of a check."""

    default_error_messages = {"unknown_hop": "There is no such hop, such as 0.33+ or 1.4."}

    def __init__(self, *, more: tuple[str, ...], **options: Any) -> None:  # noqa: ANN401 - the options of CharField
        super().__init__(required=False, max_length=10, **options)
        self._names = {*every_hop(), *more}

    def to_internal_value(self, data: Any) -> str:  # noqa: ANN401 - whatever the client sent
        name = str(super().to_internal_value(data))
        if name not in self._names:
            self.fail("unknown_hop")
        return name


def ordering(names: Iterable[str], *, default: str) -> serializers.ChoiceField:
    """Returns the parameter that sorts a list, with the names of its orders."""
    description = f"A minus turns the order round; without it `{default}`."
    return serializers.ChoiceField(required=False, choices=tuple(names), default=default, help_text=description)


class StrictInteger(serializers.IntegerField):
    """A JSON whole number; a text of digits is refused."""

    default_error_messages = {"not_whole": "Not a whole number."}

    def to_internal_value(self, data: Any) -> int:  # noqa: ANN401 - whatever the client sent
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("not_whole")
        return int(super().to_internal_value(data))


class StrictSerializer(serializers.Serializer[Any]):
    """A body or query whose unknown fields are errors (T12)."""

    default_error_messages = {"invalid": "Not an object."}

    def to_internal_value(self, data: Any) -> Any:  # noqa: ANN401 - whatever the client sent
        if hasattr(data, "keys"):
            strange = {name: ["Unknown field."] for name in data if name not in self.fields}
            if strange:
                raise serializers.ValidationError(strange, code="unknown_field")
        return super().to_internal_value(data)


class PlannedSerializer(StrictSerializer):
    """Parameters of lists whose verdicts depend on the planned Kubernetes version."""

    kubernetes = KubernetesMinor()


class PagedSerializer(StrictSerializer):
    """The parameters of every list."""

    cursor = serializers.CharField(required=False, max_length=1500, help_text="Where to go on, from `next`.")
    limit = serializers.IntegerField(
        required=False, min_value=1, max_value=500, default=100, help_text="Rows of a page, at most 500."
    )
    fields = serializers.CharField(  # type: ignore[assignment]  # the API's word; the metaclass takes it away before the name could clash
        required=False,
        max_length=1000,
        help_text="Only these fields of each row, comma separated; rows then lack the others.",
    )
