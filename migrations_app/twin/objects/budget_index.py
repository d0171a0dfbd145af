"""Indexes PodDisruptionBudgets by their selector, so that an eviction does not have to test every budget."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from migrations_app.manifests import JsonMap
from migrations_app.twin.objects.selectors import selected_by

Pair = tuple[str, str]
Selects = Callable[[Mapping[str, str]], bool]


class BudgetIndex:
    """The budgets of each namespace, by one pair of labels that their pods need."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], tuple[Any, str, Pair | None, Selects]] = {}
        self._places: dict[tuple[str, Pair | None], dict[str, None]] = {}

    def put(self, budget: JsonMap) -> None:
        """Adds or updates a budget."""
        metadata, selector = budget["metadata"], (budget.get("spec") or {}).get("selector")
        key = str(metadata.get("namespace", "")), str(metadata["name"])
        indexed = self._entries.get(key)
        if indexed is not None and indexed[0] is selector and indexed[1] == budget["apiVersion"]:
            return
        self.drop(key)
        pair = next(iter((selector or {}).get("matchLabels", {}).items()), None) if selector else None
        test = selected_by(selector, empty=budget["apiVersion"] == "policy/v1")
        self._entries[key] = selector, budget["apiVersion"], pair, test
        self._places.setdefault((key[0], pair), {})[key[1]] = None

    def drop(self, key: tuple[str, str]) -> None:
        """Removes the budget of that namespace and name."""
        indexed = self._entries.pop(key, None)
        if indexed is not None:
            del self._places[key[0], indexed[2]][key[1]]

    def over(self, namespace: str, labels: Mapping[str, str]) -> list[str]:
        """Returns the names of the budgets that select a pod with these labels, sorted."""
        return sorted(name for name in self._near(namespace, labels) if self._entries[namespace, name][3](labels))

    def _near(self, namespace: str, labels: Mapping[str, str]) -> Iterator[str]:
        for pair in (None, *labels.items()):
            yield from self._places.get((namespace, pair), ())
