"""Tabs of commands by tool, with the person's preferred tool chosen."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django import template

from migrations_app.checks.base import Remedy
from migrations_app.queries.accounts.tool_choice import tool_of
from migrations_app.readiness.outputs.preferred_tool import tools_of
from migrations_app.templatetags.readiness_tags import remedy_tabs
from migrations_app.templatetags.wording import TOOLS

register = template.Library()


class ToolTab(NamedTuple):
    """One tab. `tool` is empty if the person cannot prefer it; `chosen` is the tab that is open."""

    label: str
    remedy: Remedy
    tool: str
    chosen: bool


@register.simple_tag(takes_context=True)
def tool_tabs(context: dict[str, Any], remedies: Sequence[Remedy]) -> tuple[ToolTab, ...]:
    """Returns the remedies as tabs; the open one is the first of the person's tool, else the first of all."""
    tabs = remedy_tabs(remedies)
    preferred = _tool_here(context) if len(tabs) > 1 else ""
    tools = tools_of([remedy for _, remedy in tabs])
    opened = tools.index(preferred) if preferred in tools else 0
    return tuple(
        ToolTab(label, remedy, tool, at == opened)
        for at, ((label, remedy), tool) in enumerate(zip(tabs, tools, strict=True))
    )


@register.simple_tag(takes_context=True)
def open_form(context: dict[str, Any], forms: Sequence[Any]) -> str:
    """Returns the key of the open format of a policy: the one of the person's tool, else the first."""
    preferred = _tool_here(context) if len(forms) > 1 else ""
    return preferred if preferred in {form.key for form in forms} else str(forms[0].key)


@register.filter
def is_tool(key: str) -> bool:
    """Whether a person can choose it as the preferred tool."""
    return key in TOOLS


@register.filter
def tool_word(key: str) -> str:
    """Returns the name of a tool that can be chosen."""
    return TOOLS[key]


def _tool_here(context: dict[str, Any]) -> str:
    """Returns the preferred tool of the page's reader, read once for each page; empty outside of a request."""
    request = context.get("request")
    person = getattr(request, "user", None)
    if request is None or person is None or not person.is_authenticated:
        return ""
    tool: str | None = getattr(request, "tool_of_fixes", None)
    if tool is None:
        tool = request.tool_of_fixes = tool_of(int(person.pk))
    return tool
