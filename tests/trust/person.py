"""A person whose tokens, sessions and wrong passwords meet clocks that jump; nothing of theirs lives for ever."""

import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

NAME = "ada"
LONGEST_LIFE = timedelta(days=90)
"""Of a token that is made here."""


@dataclass(slots=True)
class Person:
    """`events` are what they do, at whatever time their server thinks it is."""

    dice: random.Random
    secrets: list[tuple[str, datetime]] = field(default_factory=list)
    """Each token, and when the clock by which it was made says that it ends."""
    sessions: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def events(self) -> tuple[Any, ...]:
        return (self.token, self.ask, self.sign_in, self.forget_password)

    def token(self) -> None:
        from django.contrib.auth.models import User
        from django.utils import timezone

        from migrations_app.use_cases.accounts import tokens

        ada, _ = User.objects.get_or_create(username=NAME)
        days = self.dice.choice((1, 30, LONGEST_LIFE.days))
        made = tokens.issue(ada, name="t", scopes=["read"], days=days)
        self.secrets.append((made.secret, made.expires_at))
        if made.expires_at > timezone.now() + timedelta(days=days):
            self.wrong.append("a token lives longer than it was made for")

    def ask(self) -> None:
        """With each token, and in each session."""
        from django.utils import timezone

        from karpdash.sign_in.sessions import SessionStore, note_activity
        from migrations_app.use_cases.accounts import tokens

        for secret, ends in self.secrets:
            over = ends <= timezone.now()
            if (tokens.authenticate(secret) is None) is not over:
                self.wrong.append("a token that is over is taken" if over else "a token that lives is refused")
        for key in self.sessions:
            session = SessionStore(key)
            if session.load():
                note_activity(session)
                session.save()

    def sign_in(self) -> None:
        from django.utils import timezone

        from karpdash.sign_in.sessions import ACTIVE, BEGAN, SessionStore

        session = SessionStore()
        session[BEGAN] = session[ACTIVE] = int(timezone.now().timestamp())
        session.create()
        self.sessions.append(session.session_key)

    def forget_password(self) -> None:
        from django.conf import settings
        from django.contrib.auth.signals import user_login_failed

        for _ in range(settings.AXES_FAILURE_LIMIT):
            user_login_failed.send(type(self), credentials={"username": NAME}, request=_request())
        if _may_try():
            self.wrong.append("wrong passwords lock nobody out")

    def locked(self) -> None:
        """Asked when the time is right and the last try was hours ago."""
        if not _may_try():
            self.wrong.append("a person is locked out for days")

    def signed_in(self) -> None:
        """Asked when the time is right, longer after the last sign-in than a session may last."""
        from karpdash.sign_in.sessions import SessionStore

        if any(SessionStore(key).load() for key in self.sessions):
            self.wrong.append("a session lives longer than it may")
        self.sessions.clear()

    def trusted(self) -> None:
        """Asked after the longest life of a token, and the farthest jump."""
        from migrations_app.use_cases.accounts import tokens

        if any(tokens.authenticate(secret) for secret, _ in self.secrets):
            self.wrong.append("a token lives for ever")
        self.secrets.clear()


def _may_try() -> bool:
    from axes.handlers.proxy import AxesProxyHandler

    return bool(AxesProxyHandler.is_allowed(_request(), {"username": NAME}))


def _request() -> Any:
    from axes.handlers.proxy import AxesProxyHandler
    from django.http import HttpRequest
    from django.utils import timezone

    request: Any = HttpRequest()
    request.META["REMOTE_ADDR"] = "192.0.2.1"
    AxesProxyHandler.update_request(request)
    request.axes_attempt_time = timezone.now()  # axes keeps the function that was there before the clock was moved
    return request
