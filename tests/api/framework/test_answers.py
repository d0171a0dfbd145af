"""Answers that are written from structs: fields, descriptions and values stand in the struct alone."""

import uuid
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta, Struct
from rest_framework import serializers

from migrations_app.api.framework import answers
from migrations_app.api.framework.answers import StructSerializer

AT = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
ID = uuid.UUID(int=7)


@dataclass(frozen=True)
class Inner:
    key: str
    hidden: str = "h"

    @property
    def length(self) -> int:
        return len(self.key)


class Outer(Struct):
    id: uuid.UUID
    text: Annotated[str, Meta(description="Said.")]
    number: int | None
    share: float
    good: bool
    at: datetime | None
    day: date
    kind: Literal["a", "b"]
    names: tuple[str, ...]
    inner: Inner | None
    many: tuple[Inner, ...]
    counts: dict[str, int]
    secret: str = "s"


@pytest.fixture
def shapes(monkeypatch: pytest.MonkeyPatch) -> type[StructSerializer]:
    monkeypatch.setattr(answers, "_shapes", {})

    class InnerShape(StructSerializer):
        struct = Inner
        leave_out = ("hidden",)

        length = serializers.IntegerField()

    class OuterShape(StructSerializer):
        struct = Outer
        leave_out = ("secret",)

    assert InnerShape().get_fields().keys() == {"key", "length"}
    return OuterShape


def outer(**changes: Any) -> Outer:
    given: dict[str, Any] = {
        "id": ID, "text": "t", "number": None, "share": 0.5, "good": True, "at": AT, "day": date(2026, 1, 2),
        "kind": "a", "names": ("x", "y"), "inner": Inner("k"), "many": (Inner("l"), Inner("mm")), "counts": {"n": 1},
    }  # fmt: skip
    return Outer(**given | changes)


WRITTEN = {
    "id": str(ID), "text": "t", "number": None, "share": 0.5, "good": True, "at": "2026-01-02T03:04:05.678000Z",
    "day": "2026-01-02", "kind": "a", "names": ["x", "y"], "inner": {"key": "k", "length": 1},
    "many": [{"key": "l", "length": 1}, {"key": "mm", "length": 2}], "counts": {"n": 1},
}  # fmt: skip


def test_a_struct_is_written_as_it_is_but_for_what_is_left_out(shapes: type[StructSerializer]) -> None:
    assert shapes(outer()).data == WRITTEN
    assert shapes([outer(inner=None, at=None)], many=True).data == [WRITTEN | {"inner": None, "at": None}]


def test_the_fields_are_described_by_the_types(shapes: type[StructSerializer]) -> None:
    fields = shapes().fields
    assert (fields["text"].help_text, fields["number"].allow_null, fields["at"].allow_null) == ("Said.", True, True)
    assert {name: type(field).__name__ for name, field in fields.items()} == {
        "id": "UUIDField", "text": "OutputText", "number": "IntegerField", "share": "FloatField",
        "good": "BooleanField", "at": "DateTimeField", "day": "DateField", "kind": "ChoiceField",
        "names": "ListField", "inner": "InnerShape", "many": "ListSerializer", "counts": "DictField",
    }  # fmt: skip


def test_a_field_by_field_answer_says_the_same(shapes: type[StructSerializer]) -> None:
    """The serializer of the framework, with the same fields, gives the same values."""
    assert serializers.Serializer.to_representation(shapes(), outer()) == WRITTEN


def test_a_type_that_has_no_form_in_json_is_refused() -> None:
    class Strange(StructSerializer):
        struct = type("Kind", (Struct,), {"__annotations__": {"one": object}})

    with pytest.raises(KeyError):
        Strange().get_fields()
