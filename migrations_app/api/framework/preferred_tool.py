"""Finds the tool whose fixes come first in an answer."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from migrations_app.api.framework.callers import person
from migrations_app.api.framework.fields import StrictSerializer
from migrations_app.queries.accounts.tool_choice import tool_of
from migrations_app.readiness.outputs.preferred_tool import TOOLS


class ToolQuerySerializer(StrictSerializer):
    tool = serializers.ChoiceField(
        required=False,
        choices=TOOLS,
        help_text="The tool whose fixes come first. The default is the preferred tool of `me`.",
    )


def tool_asked(request: Request, query: dict[str, Any]) -> str:
    """Returns the tool that the query names, else the caller's preferred tool; empty without either."""
    return query.get("tool") or tool_of(int(person(request).pk))
