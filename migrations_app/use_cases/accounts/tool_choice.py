"""The tool that a person prefers for fixes. It only changes what pages show first, so it is not in the audit log."""

from migrations_app.errors import InvalidInput
from migrations_app.models.account import ToolChoice
from migrations_app.readiness.outputs.preferred_tool import TOOLS


def choose_tool(person_id: int, *, tool: str) -> None:
    """Stores the choice in place of an earlier one; an empty `tool` deletes it. Raises InvalidInput."""
    if tool and tool not in TOOLS:
        raise InvalidInput(f"a tool is one of {', '.join(TOOLS)}", where="tool")
    if tool:
        ToolChoice.objects.update_or_create(person_id=person_id, defaults={"tool": tool})
    else:
        ToolChoice.objects.filter(person_id=person_id).delete()
