"""Finds the checks of `catalogue/`; nothing lists them by hand."""

import importlib
import pkgutil
from functools import cache

from migrations_app.checks import catalogue
from migrations_app.checks.base import Check


@cache
def all_checks() -> tuple[Check, ...]:
    """Every check, ordered by id. Raises TypeError for a module of the catalogue that declares none."""
    names = sorted(module.name for module in pkgutil.iter_modules(catalogue.__path__))
    return tuple(_load(name) for name in names)


def _load(name: str) -> Check:
    module = importlib.import_module(f"{catalogue.__name__}.{name}")
    check = getattr(module, "check", None)
    if not isinstance(check, Check):
        raise TypeError(f"{module.__name__} declares no check")
    return check
