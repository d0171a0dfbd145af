"""Serializers for answers made from structs: fields, types and descriptions are declared in the struct alone."""

import types
import uuid
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from rest_framework import serializers

from migrations_app.api.framework.fields import OutputText

_PLAIN: Mapping[Any, type[serializers.Field[Any, Any, Any, Any]]] = {
    str: OutputText,
    int: serializers.IntegerField,
    float: serializers.FloatField,
    bool: serializers.BooleanField,
    uuid.UUID: serializers.UUIDField,
    datetime: serializers.DateTimeField,
    date: serializers.DateField,
}
_shapes: dict[type, type["StructSerializer"]] = {}


class StructSerializer(serializers.Serializer[Any]):
    """Serializes a dataclass or msgspec struct. Subclasses name the struct and the fields that are not published; a
    field that is declared in the subclass comes from a property, or has another description than its type gives.
    """

    struct: ClassVar[type]
    leave_out: ClassVar[tuple[str, ...]] = ()
    published_as: ClassVar[Mapping[str, str]] = {}
    """The names in answers of fields whose names in the struct are others."""
    options: ClassVar[Mapping[str, Any]] = {}
    """Options of each field. With `required` False an answer may be a mapping with some of the fields."""

    def __init_subclass__(cls, **named: Any) -> None:  # noqa: ANN401 - Python's signature
        super().__init_subclass__(**named)
        if "struct" in vars(cls):
            _shapes[cls.struct] = cls

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Returns the fields of the struct, then those declared in the subclass."""
        declared = super().get_fields()
        return {name: field for name, field in _fields_of(type(self)).items() if name not in declared} | declared

    def to_representation(self, instance: Any) -> dict[str, Any]:  # noqa: ANN401 - DRF's signature
        """Returns the struct as plain JSON values, without calling a serializer field for each value."""
        if isinstance(instance, Mapping):
            return {name: _as_json(value) for name, value in instance.items()}
        published_as = self.published_as
        values = {published_as.get(name, name): _as_json(getattr(instance, name)) for name in _names(type(self))}
        for name in self._declared_fields:
            field = self.fields[name]
            value = field.get_attribute(instance)
            values[name] = None if value is None else field.to_representation(value)
        return values


@cache
def _names(shape: type[StructSerializer]) -> tuple[str, ...]:
    hints = get_type_hints(shape.struct)
    return tuple(name for name in hints if name not in shape.leave_out and name not in shape._declared_fields)  # noqa: SLF001 - DRF's own name for them


def _fields_of(shape: type[StructSerializer]) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
    hints = get_type_hints(shape.struct, include_extras=True)
    return {shape.published_as.get(name, name): _field(hints[name], **shape.options) for name in _names(shape)}


def _field(hint: Any, **options: Any) -> serializers.Field[Any, Any, Any, Any]:  # noqa: ANN401 - a type, and DRF's options
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _field(arguments[0], help_text=arguments[1].description, **options)
    if origin in (Union, types.UnionType):
        (kind,) = (argument for argument in arguments if argument is not types.NoneType)
        return _field(kind, allow_null=True, **options)
    if origin is Literal:
        return serializers.ChoiceField(choices=arguments, **options)
    if hint in _shapes:
        return _shapes[hint](**options)
    if origin in (tuple, list, Sequence):
        item = arguments[0]
        if item in _shapes:
            return _shapes[item](many=True, **options)
        return serializers.ListField(child=_field(item), **options)
    if origin in (dict, Mapping):
        return serializers.DictField(child=_field(arguments[1]), **options)
    return _PLAIN[hint](**options)


def _as_json(value: Any) -> Any:  # noqa: ANN401 - any value of a struct becomes plain JSON
    shape = _shapes.get(type(value))
    if shape:
        return shape().to_representation(value)
    if isinstance(value, tuple | list):
        return [_as_json(item) for item in value]
    return msgspec.to_builtins(value)
