"""Records who signed in, and who was refused; a flood of refusals is told once and does not fill the log (T28)."""

from datetime import timedelta

from django.contrib.auth import get_user_model
from django.utils import timezone

from migrations_app.flow.audit_detail import sealed
from migrations_app.flow.record import Actor, Event, record, record_alone
from migrations_app.queries.audit_log import count_since

SPAN = timedelta(minutes=1)
MOST_OF_ADDRESS = 10
MOST = 100
REFUSED = "sign_in.refused"


def signed_in(user_id: int, name: str, *, address: str) -> int:
    """Records it in the transaction of the session; the event's number."""
    actor = Actor(name=name, id=user_id, address=address)
    return record(Event(verb="sign_in.done", actor=actor, object=name, outcome="done"))


def refused(name: str, *, address: str, locked: bool) -> int:
    """Records a refusal; 0 when enough of them were recorded in the last minute.

    A name that no account has may be a password in the wrong field: it is kept as an HMAC only.
    """
    since = timezone.now() - SPAN
    of_address = MOST_OF_ADDRESS - count_since(REFUSED, since=since, address=address)
    room = min(of_address, MOST - count_since(REFUSED, since=since))
    if room <= 0:
        return 0
    known = get_user_model().objects.filter(username=name).exists()
    return record_alone(
        Event(
            verb=REFUSED,
            actor=Actor(name=name if known else "unknown", address=address),
            object=name if known else sealed(name),
            outcome="locked" if locked else "refused",
            detail={"more": "further ones are not recorded for a minute"} if room == 1 else {},
        )
    )
