"""A password given again counts for some minutes: what cannot be undone wants a person who is there now (A44)."""

from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from migrations_app.flow import sign_ins
from migrations_app.flow.record import Actor, Event, record_alone

SESSION_KEY = "fresh_until"
GOOD_FOR = timedelta(minutes=10)


def signed_in_again(by: Actor) -> str:
    """What to keep in the session, after the password was right."""
    record_alone(Event(verb="sign_in.again", actor=by, object=by.name, outcome="right"))
    return (timezone.now() + GOOD_FOR).isoformat()


def refused_again(by: Actor, *, locked: bool) -> None:
    """Notes a wrong password, told as at the sign-in: a flood of them does not fill the log (T28)."""
    sign_ins.refused(by.name, address=by.address, locked=locked)


def fresh_until(kept: object) -> datetime | None:
    """Until when the session counts as fresh; None for what is no time of ours."""
    found = parse_datetime(kept) if isinstance(kept, str) else None
    return found if found is not None and found.tzinfo is not None else None
