"""The ids of a check: today's, and those from before it was renamed, which older snapshots and waivers hold."""

from collections.abc import Mapping
from functools import cache

from migrations_app.checks.registry import all_checks


def ids_of(name: str) -> tuple[str, ...]:
    """Every id of the check that has or had that id, today's first; the name alone if there is no such check."""
    return _ids_by_name().get(name, (name,))


def current_id(name: str) -> str:
    """Today's id of the check that has or had that id; empty if there is no such check."""
    return next(iter(_ids_by_name().get(name, ())), "")


@cache
def _ids_by_name() -> Mapping[str, tuple[str, ...]]:
    every = [(check.id, *check.formerly) for check in all_checks()]
    return {name: ids for ids in every for name in ids}
