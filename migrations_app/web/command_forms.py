"""Reads forms that change a rollout, journey or campaign, and shows a refusal on the page of the form."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, NamedTuple, ParamSpec

from django.http import HttpRequest, HttpResponse, QueryDict

from migrations_app.errors import Conflict, InvalidInput, KarpdashError, PermissionDenied
from migrations_app.texts import text as _
from migrations_app.web.double_submit import submit_once

P = ParamSpec("P")
FormSubmit = Callable[Concatenate[HttpRequest, P], HttpResponse]
MAX_TEXT_LENGTH = 2000
"""Maximum number of characters that are kept of a reason or note."""


class NumberField(NamedTuple):
    """A field of a form that takes a whole number: its label on the page, and its range in the unit of the form."""

    label: str
    most: int
    least: int = 0


def refused_on(page: Callable[..., HttpResponse]) -> Callable[[FormSubmit[P]], FormSubmit[P]]:
    """Returns a decorator: a form is submitted once, and a refusal is shown on the page with the current state."""

    def decorator(act: FormSubmit[P]) -> FormSubmit[P]:
        @wraps(act)
        def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            try:
                # Rendered outside of the use case, so that its transaction is rolled back first.
                return submit_once(act)(request, *args, **kwargs)  # type: ignore[return-value]  # `submit_once` returns what the action returns
            except (PermissionDenied, Conflict, InvalidInput) as refused:
                return page(request, *args, refused=refused, status=refusal_status(refused), **kwargs)

        return guarded

    return decorator


def refusal_status(error: KarpdashError) -> int:
    """The HTTP status of a refusal: 403 for missing rights, 400 for invalid input, 409 for a changed state."""
    if isinstance(error, PermissionDenied):
        return 403
    return 409 if isinstance(error, Conflict) else 400


def text_in(request: HttpRequest, name: str) -> str:
    """Returns the text of that field without spaces at its ends, cut to MAX_TEXT_LENGTH; empty if the form has none."""
    return request.POST.get(name, "").strip()[:MAX_TEXT_LENGTH]


def number_in(request: HttpRequest, name: str) -> int:
    """Returns the whole number in that field, of at most nine digits; 0 for anything else."""
    text = request.POST.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def number_within(form: QueryDict, name: str, *, field: NumberField, otherwise: int = 0) -> int:
    """Returns the whole number in that field, `otherwise` if it is empty. Raises InvalidInput that names the field."""
    text = form.get(name, "").strip()
    if not text:
        return otherwise
    if not text.isdecimal() or len(text) > 6 or not field.least <= int(text) <= field.most:
        words = _("“{field}” takes a whole number from {least} to {most}")
        words = words.format(field=field.label, least=field.least, most=field.most)
        raise InvalidInput(words, where=name, code="out_of_range")
    return int(text)


def version_in(request: HttpRequest) -> int:
    """Returns the version that the user saw; 0, which never matches, if the form has none."""
    return number_in(request, "version")
