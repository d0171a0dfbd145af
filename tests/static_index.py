"""The files that whitenoise serves, looked up once in a process: each client of a test has a middleware of its own."""

from typing import Any

from whitenoise.middleware import WhiteNoiseMiddleware  # type: ignore[import-untyped]  # it has no types

_look_up = WhiteNoiseMiddleware.add_files_from_finders
_found: dict[str, Any] = {}


def _look_up_once(self: WhiteNoiseMiddleware) -> None:
    if not _found:
        _look_up(self)
        _found.update(self.files)
    self.files.update(_found)


def share() -> None:
    """From now on each of them takes over what the first one found: no test changes the files or their settings."""
    setattr(WhiteNoiseMiddleware, "add_files_from_finders", _look_up_once)  # noqa: B010 - mypy refuses the plain way
