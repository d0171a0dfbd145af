"""Records sign-ins and refused sign-ins, rate-limited so that an attack cannot fill the log (T28).

Re-authentication (step-up) is valid for ten minutes; irreversible actions require it (A44).
"""

import math
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from axes.models import AccessAttempt
from django.contrib.auth import get_user_model
from django.db.models import Max, Sum
from django.http import HttpRequest
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from migrations_app.queries.audit.log import count_since
from migrations_app.use_cases.audit.log import Actor, Event, record, record_alone, sealed

EVENT_WINDOW = timedelta(minutes=1)
MAX_EVENTS_PER_ADDRESS = 10
MAX_EVENTS = 100
REFUSAL_EVENT = "sign_in.refused"
MAX_WRONG_PASSWORDS = 50
"""Number of wrong passwords from one address in WRONG_PASSWORD_WINDOW, for any names, after which each attempt waits
for LOCKOUT_PAUSE.
"""
WRONG_PASSWORD_WINDOW = timedelta(minutes=15)
LOCKOUT_PAUSE = timedelta(seconds=5)


def throttled_name(request: HttpRequest | None, credentials: Mapping[str, object] | None) -> str:
    """The key under which wrong attempts for a name are counted: the same for every spelling, so that no spelling gives
    new attempts. Compatibility forms are equated, case is ignored, and invisible characters are removed. The result is
    an HMAC: a password that was typed into the name field is not stored.
    """
    name = str((credentials or {}).get("username") or (request.POST.get("username", "") if request else ""))
    folded = unicodedata.normalize("NFKC", name).casefold()
    return sealed("".join(letter for letter in folded if unicodedata.category(letter)[0] not in "CZ"))


@dataclass(frozen=True, slots=True)
class FailedAttempts:
    """The number of wrong passwords, and the time of the newest."""

    count: int
    newest: datetime | None


def failed_passwords(address: str, *, since: datetime, until: datetime) -> FailedAttempts:
    """Wrong passwords from that address, for any names."""
    rows = AccessAttempt.objects.filter(ip_address=address or None, attempt_time__range=(since, until))
    sums = rows.aggregate(count=Sum("failures_since_start"), newest=Max("attempt_time"))
    return FailedAttempts(sums["count"] or 0, sums["newest"])


def seconds_to_wait(*, address: str) -> int:
    """Seconds until that address may try a password again; 0 if now.

    An address with many wrong passwords, for any names, may try once in a few seconds.
    """
    now = timezone.now()
    tries = failed_passwords(
        address, since=now - WRONG_PASSWORD_WINDOW, until=now + WRONG_PASSWORD_WINDOW
    )  # ignores a clock far ahead
    return seconds_left(tries, now=now)


def seconds_left(tries: FailedAttempts, *, now: datetime) -> int:
    """Whole seconds left of the pause after the newest wrong attempt; 0 below the limit of an address."""
    if tries.count < MAX_WRONG_PASSWORDS or tries.newest is None:
        return 0
    left = (tries.newest + LOCKOUT_PAUSE - now).total_seconds()
    return min(math.ceil(left), LOCKOUT_PAUSE.seconds) if left > 0 else 0


def record_sign_in(user_id: int, name: str, *, address: str) -> int:
    """Records the sign-in in the transaction that creates the session. Returns the event's number."""
    actor = Actor(name=name, id=user_id, address=address)
    return record(Event(verb="sign_in.done", actor=actor, object=name, outcome="done"))


def record_refusal(name: str, *, address: str, locked: bool) -> int:
    """Records a refused sign-in. Returns the event's number, or 0 when the limit per minute is reached.

    A name without an account may be a password typed into the wrong field, so it is stored only as an HMAC.
    """
    since = timezone.now() - EVENT_WINDOW
    of_address = MAX_EVENTS_PER_ADDRESS - count_since(REFUSAL_EVENT, since=since, address=address)
    room = min(of_address, MAX_EVENTS - count_since(REFUSAL_EVENT, since=since))
    if room <= 0:
        return 0
    known = "\0" not in name and get_user_model().objects.filter(username=name).exists()
    return record_alone(
        Event(
            verb=REFUSAL_EVENT,
            actor=Actor(name=name if known else "unknown", address=address),
            object=name if known else sealed(name),
            outcome="locked" if locked else "refused",
            detail={"more": "further ones are not recorded for a minute"} if room == 1 else {},
        )
    )


SESSION_KEY = "fresh_until"
REAUTHENTICATION_LIFETIME = timedelta(minutes=10)


def record_reauthentication(by: Actor) -> str:
    """Records a successful re-authentication. Returns its expiry as the session stores it."""
    record_alone(Event(verb="sign_in.again", actor=by, object=by.name, outcome="right"))
    return _expiry()


def record_sample_sign_in(by: Actor) -> str:
    """Records a sign-in as a sample person, who has no password, in the transaction that creates the session. It counts
    as a re-authentication: returns its expiry as the session stores it.
    """
    detail = {"password": "none: by a button on this machine"}
    record(Event(verb="sign_in.sample", actor=by, object=by.name, outcome="done", detail=detail))
    return _expiry()


def _expiry() -> str:
    return (timezone.now() + REAUTHENTICATION_LIFETIME).isoformat()


def record_refused_reauthentication(by: Actor, *, locked: bool) -> None:
    """Records a wrong password at re-authentication, with the same rate limit as at sign-in (T28)."""
    record_refusal(by.name, address=by.address, locked=locked)


def fresh_until(stored: object) -> datetime | None:
    """When the session's re-authentication expires; None for a missing or unreadable value."""
    expiry = parse_datetime(stored) if isinstance(stored, str) else None
    return expiry if expiry is not None and expiry.tzinfo is not None else None
