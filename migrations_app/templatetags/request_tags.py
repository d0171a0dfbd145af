"""A template filter that finds the pull request of a check."""

from collections.abc import Mapping

from django import template

from migrations_app.queries.pull_requests import RequestRow

register = template.Library()


@register.filter
def request_of(newest: Mapping[str, RequestRow], check: str) -> RequestRow | None:
    """Returns the newest pull request that fixes that check; None if there is none."""
    return newest.get(check)
