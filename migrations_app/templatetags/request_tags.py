"""Pull requests beside the checks that they fix."""

from collections.abc import Mapping

from django import template

from migrations_app.queries.pull_requests import RequestRow

register = template.Library()


@register.filter
def request_of(newest: Mapping[str, RequestRow], check: str) -> RequestRow | None:
    """The newest request for the fix of that check; None where there is none."""
    return newest.get(check)
