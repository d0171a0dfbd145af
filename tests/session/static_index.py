"""Makes all test clients share one index of the files that whitenoise serves: each client has a middleware of
its own.
"""

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
    """Makes each middleware use the index of the first one: no test changes the files or their settings."""
    setattr(WhiteNoiseMiddleware, "add_files_from_finders", _look_up_once)  # noqa: B010 - mypy refuses the plain way
