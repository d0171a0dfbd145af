"""Change windows as a person writes them: `Mon-Fri 22:00-04:00`, one a line."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from migrations_app.errors import BadInput

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_LINE = re.compile(r"(?P<days>[A-Za-z, -]+?)?\s*(?P<from>\d{1,2}:\d{2})\s*-\s*(?P<to>\d{1,2}:\d{2})")


def written(windows: Sequence[Mapping[str, Any]]) -> str:
    """The windows, one a line."""
    return "\n".join(_line(one) for one in windows)


def read(text: str) -> tuple[dict[str, Any], ...]:
    """The windows. Raises BadInput naming the line that is none."""
    return tuple(_window(line.strip()) for line in text.splitlines() if line.strip())


def _line(window: Mapping[str, Any]) -> str:
    days = sorted({day for day in window.get("days", range(7)) if day in range(7)})
    return f"{_runs(days)} {window.get('from', '?')}-{window.get('to', '?')}"


def _runs(days: Sequence[int]) -> str:
    """`Mon-Fri`, `Mon,Wed`: days in a row are drawn together."""
    runs: list[list[int]] = []
    for day in days:
        if runs and runs[-1][-1] == day - 1:
            runs[-1].append(day)
        else:
            runs.append([day])
    return ",".join(DAYS[run[0]] if len(run) == 1 else f"{DAYS[run[0]]}-{DAYS[run[-1]]}" for run in runs)


def _window(line: str) -> dict[str, Any]:
    found = _LINE.fullmatch(line)
    if found is None:
        raise _odd(line)
    days = _days(found["days"] or "Mon-Sun", line)
    return {"days": days, "from": found["from"].zfill(5), "to": found["to"].zfill(5)}


def _days(text: str, line: str) -> list[int]:
    found: set[int] = set()
    for part in text.replace(" ", "").split(","):
        first, _, last = part.partition("-")
        begins, ends = _day(first, line), _day(last or first, line)
        found |= {(begins + step) % 7 for step in range((ends - begins) % 7 + 1)}
    return sorted(found)


def _day(word: str, line: str) -> int:
    names = {name.lower(): number for number, name in enumerate(DAYS)}
    if word[:3].lower() not in names:
        raise _odd(line)
    return names[word[:3].lower()]


def _odd(line: str) -> BadInput:
    return BadInput(
        f"{line[:60]!r} is no window; write one such as Mon-Fri 22:00-04:00", where="windows", code="bad_window"
    )
