"""Template filters that make untrusted text safe to display: control and bidi characters are escaped (T08, T10)."""

import re
import unicodedata
from datetime import datetime, timedelta
from typing import Any

from django import template
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from migrations_app.actions.durations import duration_text
from migrations_app.inventory.facts.node_claims import moment as moment_of

register = template.Library()

KEPT = {"\n", "\t"}
_WITHOUT_KEPT = dict.fromkeys(map(ord, KEPT))
INVISIBLE = frozenset(["Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"])
"""Unicode categories that are invisible or reorder the text around them."""
FAKE_SPACE = "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000\u2800\u3164"
BREAKS = re.compile(r"(?<=[./=,\[\]])")
STEPS = ((60, "second", 1), (3600, "minute", 60), (86400, "hour", 3600))


@register.filter
def shown(text: object) -> str:
    """Returns untrusted text on one line, with invisible characters escaped."""
    line = str(text)
    if line.isascii() and line.isprintable():  # nearly all are: this runs some hundred times a page
        return line
    return "".join(_visible(char, line_breaks=frozenset()) for char in line)


@register.filter
def shown_block(text: object) -> str:
    """As `shown`, for text of several lines, such as YAML: line breaks and tabs stay."""
    block = str(text)
    if block.isascii() and block.translate(_WITHOUT_KEPT).isprintable():
        return block
    return "".join(_visible(char, line_breaks=frozenset(KEPT)) for char in block)


def _visible(char: str, *, line_breaks: frozenset[str]) -> str:
    if char in line_breaks:
        return char
    if char in FAKE_SPACE or unicodedata.category(char) in INVISIBLE:
        return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"
    return char


@register.filter
def breakable(text: object) -> SafeString:
    """As `shown`, with optional line breaks in long paths, keys and names."""
    first, *rest = BREAKS.split(shown(text))
    return format_html("{}{}", first, format_html_join("", "<wbr>{}", ((piece,) for piece in rest if piece)))


@register.filter
def short_version(text: str) -> str:
    """Returns a Kubernetes version without v and build: `1.29.8` of `v1.29.8-eks-a737599`."""
    return text.removeprefix("v").partition("-")[0].partition("+")[0]


@register.filter
def as_moment(text: str) -> datetime | None:
    """Returns an RFC 3339 text as a time; None if it is invalid."""
    return moment_of(text)


@register.simple_tag
def ago(moment: datetime | None, missing: str = "never") -> SafeString | str:
    """Returns a relative time in a `time` element, with the exact time in its title and `datetime`."""
    if moment is None:
        return missing
    words = relative(timezone.now() - moment)
    exact = moment.astimezone(timezone.get_default_timezone())
    return format_html(
        '<time datetime="{}" title="{}" data-relative>{}</time>',
        exact.isoformat(timespec="seconds"),
        exact.strftime("%d %b %Y, %H:%M:%S %Z"),
        words,
    )


@register.simple_tag
def on(moment: datetime) -> SafeString:
    """Returns an exact time."""
    exact = moment.astimezone(timezone.get_default_timezone())
    words = exact.strftime("%d %b %Y, %H:%M %Z")
    return format_html('<time datetime="{}">{}</time>', exact.isoformat(timespec="seconds"), words)


def relative(age: timedelta) -> str:
    """Returns `5 minutes ago`, `in 2 hours`; the same steps as in static/js/page.js."""
    seconds = round(age.total_seconds())
    size = abs(seconds)
    if size < 45:
        return "just now" if seconds >= 0 else "in a moment"
    unit, length = next(((unit, length) for limit, unit, length in STEPS if size < limit), ("day", 86400))
    count = max(1, int(size / length + 0.5))
    words = f"{count} {unit}{'' if count == 1 else 's'}"
    return f"{words} ago" if seconds >= 0 else f"in {words}"


@register.filter
def every(seconds: int | None) -> str:
    """Returns an interval in words; empty for none."""
    if not seconds:
        return ""
    for length, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds % length == 0:
            count = seconds // length
            return f"every {unit}" if count == 1 else f"every {count} {unit}s"
    return f"every {seconds} seconds"


@register.filter
def signed(number: int | None) -> str:
    """Returns a difference with its sign; a question mark if unknown."""
    if number is None:
        return "?"
    return f"+{number:,}" if number > 0 else f"\u2212{-number:,}" if number else "\u00b10"


@register.filter
def thousands(number: Any) -> str:  # noqa: ANN401 - templates pass whatever the row holds
    """Returns an integer with thousands separators; empty for other values."""
    return f"{number:,}" if isinstance(number, int) else ""


@register.filter
def span(length: timedelta) -> str:
    """Returns a duration in its two largest units."""
    return duration_text(length)
