"""Forms that were refused: what was typed stays in the form that was submitted, and the reason stands at its field."""

from typing import Any

from django import template
from django.http import HttpRequest
from django.template import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString

from migrations_app.errors import KarpdashError
from migrations_app.templatetags.formatting import shown
from migrations_app.templatetags.readiness_tags import icon

register = template.Library()
FORM_KEY = "form_key"
"""The hidden field of each form; its end names the form on the page."""


@register.simple_tag(takes_context=True)
def typed_before(context: Context, form: str, *, field: str) -> str:
    """Returns the text that was typed into the field of the refused form; empty for every other form."""
    request = _refused_request(context, form)
    return str(request.POST.get(field, "")) if request else ""


@register.simple_tag(takes_context=True)
def checked_before(context: Context, form: str, *, field: str, value: str, first: bool = False) -> str:
    """Returns `checked` if that value was chosen in the refused form; in every other form if it is chosen `first`."""
    request = _refused_request(context, form)
    chosen = value in request.POST.getlist(field) if request else first
    return "checked" if chosen else ""


@register.simple_tag(takes_context=True)
def open_before(context: Context, form: str) -> str:
    """Returns `open` for the fold around the refused form."""
    return "open" if _refused_request(context, form) else ""


@register.simple_tag(takes_context=True)
def refused_field(context: Context, form: str, *, field: str) -> SafeString | str:
    """Returns why the field was refused, to be read below it; empty if the refusal is about something else. `form` is
    empty on a page with one form.
    """
    refused: Any = context.get("refused")
    if not _refused_request(context, form) or refused.where != field:
        return ""
    words = f"{refused.message[:1].upper()}{refused.message[1:]}."
    return format_html('<span class="problem" role="alert">{}<span>{}</span></span>', icon("warning"), shown(words))


def _refused_request(context: Context, form: str) -> HttpRequest | None:
    """The request, if it submitted that form of the page and was refused."""
    request = context.get("request")
    if not isinstance(request, HttpRequest) or not isinstance(context.get("refused"), KarpdashError):
        return None
    submitted = request.POST.get(FORM_KEY, "")
    return request if not form or submitted.endswith(f"-{form}") else None
