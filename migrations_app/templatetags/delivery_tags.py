"""Template filters of the log of notifications: what an event is called, and why a try failed with what to do next."""

import re
from typing import Final

from django import template

from migrations_app.readiness.notification_events import TEST, TITLES
from migrations_app.texts import text as _

register = template.Library()

_STATUS: Final = re.compile(r"sink_(\d{3})")
_CAUSES: Final[dict[str, str]] = {
    "address_refused": _(
        "karpdash may not contact this address: enter another one, or allow its network with KARPDASH_ALLOWED_NETWORKS"
    ),
    "tls_refused": _("the certificate of the receiver was not accepted: its issuer and its host name have to fit"),
    "timeout": _("the receiver did not answer in time: see whether it runs and is not blocked"),
    "unreachable": _("no connection to the receiver: see whether it runs, its name and its port"),
    "garbled": _("the receiver did not answer in HTTP: check the address"),
    "no_mail": _("KARPDASH_EMAIL_URL is not set, so no mail can be sent"),
    "no_recipients": _("nobody who may approve or administer there has an e-mail address: add one on the page People"),
    "mail_refused": _("the mail server did not accept the mail: read its log"),
    "bad_mail": _("the address of the mail is not valid: enter another one"),
    "no_outcome": _("under way, or the worker died while it sent: it is tried again"),
}
_BY_STATUS: Final[dict[str, str]] = {
    "400": _("it did not accept the message: see that the kind of the channel fits the receiver"),
    "401": _("it did not accept the key or the address: enter them again"),
    "403": _("it did not accept the key or the address: enter them again"),
    "404": _("it does not know the address: enter it again"),
    "410": _("it does not know the address any more: enter another one"),
    "429": _("it had too many messages"),
}


@register.filter
def event_title(topic: str) -> str:
    """Returns what the form calls the event."""
    return _("Test message") if topic == TEST else _(TITLES.get(topic, topic))


@register.filter
def try_words(code: str) -> str:
    """Returns why a try failed and what helps; of an unknown cause its code."""
    if status := _STATUS.fullmatch(code):
        number = status.group(1)
        told = _("the receiver answered {status}").format(status=number)
        cause = _BY_STATUS.get(number) or (_("read its log") if number >= "500" else "")
        return f"{told}: {cause}" if cause else told
    return _CAUSES.get(code, code)
