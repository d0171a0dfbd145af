"""Discovers the actions in `catalogue/`; there is no list of them."""

import importlib
import pkgutil
from functools import cache

from migrations_app.actions import catalogue
from migrations_app.actions.base import Action


@cache
def all_actions() -> tuple[Action, ...]:
    """Every action, ordered by id. Raises TypeError for a catalogue module that declares none."""
    module_infos = pkgutil.walk_packages(catalogue.__path__, f"{catalogue.__name__}.")
    return tuple(
        sorted((_load(module.name) for module in module_infos if not module.ispkg), key=lambda action: action.id)
    )


def find(action_id: str) -> Action | None:
    """The action with that id; None if there is none."""
    return next((action for action in all_actions() if action.id == action_id), None)


def _load(name: str) -> Action:
    module = importlib.import_module(name)
    action = getattr(module, "action", None)
    if not isinstance(action, Action):
        raise TypeError(f"{module.__name__} declares no action")
    return action
