"""The tool that a person prefers for fixes."""

from migrations_app.models.account import ToolChoice
from migrations_app.readiness.outputs.preferred_tool import TOOLS


def tool_of(person_id: int) -> str:
    """The person's tool; empty without a choice, or if the chosen tool no longer exists."""
    tool = ToolChoice.objects.filter(person_id=person_id).values_list("tool", flat=True).first() or ""
    return tool if tool in TOOLS else ""
