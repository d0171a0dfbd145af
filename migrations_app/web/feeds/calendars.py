"""Writes calendar entries as iCalendar (RFC 5545). The package icalendar escapes the texts and folds the lines."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from icalendar import Calendar
from icalendar import Event as CalendarEvent

from migrations_app import __version__
from migrations_app.manifests.text_lines import one_line
from migrations_app.queries.feeds.calendar import CalendarEntry
from migrations_app.redaction import replace_secrets

WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
REFRESH_INTERVAL = timedelta(hours=1)


def as_ical(entries: Iterable[CalendarEntry], *, name: str, now: datetime, address: Callable[[str], str]) -> bytes:
    """Returns the calendar file, all times in UTC. `address` makes the full URL of a path."""
    calendar = Calendar()
    calendar.add("prodid", f"-//karpdash//{__version__}//EN")
    calendar.add("version", "2.0")
    calendar.add("calscale", "GREGORIAN")
    calendar.add("method", "PUBLISH")
    calendar.add("name", _plain(name))
    calendar.add("x-wr-calname", _plain(name))
    calendar.add("refresh-interval", REFRESH_INTERVAL, parameters={"value": "DURATION"})
    for entry in entries:
        calendar.add_component(_event(entry, now=now, address=address))
    return bytes(calendar.to_ical())


def _event(entry: CalendarEntry, *, now: datetime, address: Callable[[str], str]) -> CalendarEvent:
    event = CalendarEvent()
    event.add("uid", f"{entry.uid}@karpdash")
    event.add("dtstamp", now)
    event.add("summary", _plain(entry.summary))
    event.add("dtstart", entry.begins)
    if entry.ends is not None:
        event.add("dtend", entry.ends)
    if entry.weekdays:
        event.add("rrule", {"freq": "weekly", "byday": [WEEKDAYS[day] for day in entry.weekdays]})
    if entry.description:
        event.add("description", _plain(entry.description))
    event.add("url", address(entry.path))
    event.add("transp", "TRANSPARENT")
    return event


def _plain(text: str) -> str:
    """Returns the text without control characters and without anything that looks like a secret."""
    return one_line(replace_secrets(text))
