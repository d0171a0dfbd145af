"""Counts wrong passwords as django-axes does, but ignores attempts with a time in the future."""

from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_cool_off
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone


class PasswordThrottle(AxesDatabaseHandler):  # type: ignore[misc]  # axes has no types
    """Ignores wrong attempts whose time is in the future, after the clock was set back (R18).

    Otherwise nobody could sign in until the clock reached that time again.
    """

    def get_user_attempts(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> list[QuerySet[Any]]:
        """Returns the wrong attempts that count for each kind of lock-out, in the form that django-axes expects."""
        latest = (getattr(request, "axes_attempt_time", None) or timezone.now()) + get_cool_off(request)
        return [tries.filter(attempt_time__lte=latest) for tries in super().get_user_attempts(request, credentials)]
