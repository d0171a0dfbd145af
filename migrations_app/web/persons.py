"""Who is at the browser, as those who decide want to know it."""

from django.http import HttpRequest

from migrations_app.access import Person
from migrations_app.flow.people import rights_of
from migrations_app.flow.step_up import SESSION_KEY, fresh_until


def person_of(request: HttpRequest) -> Person:
    """The person with the rights of this moment, and until when their password counts as just given."""
    return Person(
        id=int(request.user.pk or 0),
        name=request.user.get_username(),
        rights=rights_of(request.user),
        fresh_until=fresh_until(request.session.get(SESSION_KEY)),
    )
