"""Three-valued logic: True, False, and None for unknown."""

from collections.abc import Iterable

Tri = bool | None


def any_of(values: Iterable[Tri]) -> Tri:
    """True if one is true, False if all are false, otherwise None."""
    unsure = False
    for value in values:
        if value:
            return True
        unsure = unsure or value is None
    return None if unsure else False


def all_of(values: Iterable[Tri]) -> Tri:
    """False if one is false, True if all are true, otherwise None."""
    unsure = False
    for value in values:
        if value is False:
            return False
        unsure = unsure or value is None
    return None if unsure else True


def negated(value: Tri) -> Tri:
    """The opposite; None stays None."""
    return None if value is None else not value
