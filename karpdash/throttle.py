"""How wrong passwords are counted: as django-axes does, without those of a clock that was ahead."""

from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_cool_off
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone


class PasswordThrottle(AxesDatabaseHandler):  # type: ignore[misc]  # axes has no types
    """Wrong tries that claim to come from the future count no more once the clock went back (R18).

    Otherwise nobody could sign in until the clock had come so far again.
    """

    def get_user_attempts(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> list[QuerySet[Any]]:
        """The wrong tries that count for each way to lock out, as django-axes asks for them."""
        latest = (getattr(request, "axes_attempt_time", None) or timezone.now()) + get_cool_off(request)
        return [tries.filter(attempt_time__lte=latest) for tries in super().get_user_attempts(request, credentials)]
