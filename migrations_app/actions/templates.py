"""Retired Karpenter keys in pod templates, pods and nodes -> their successors, everything else left as it is."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from migrations_app.actions.conditions import Tree
from migrations_app.karpenter import labels

OLD_MARKS = (labels.DO_NOT_EVICT, labels.DO_NOT_CONSOLIDATE)
OLD, NEW = labels.PROVISIONER_NAME, labels.NODEPOOL
NAMING, AVOIDING = ("In", "NotIn"), ("NotIn", "DoesNotExist")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True)
class Renaming:
    """`gone` are old keys that the running release no longer heeds: they are taken out, others stay beside the new.

    `pool_of` gives the NodePool for the name of a Provisioner; it may raise.
    """

    pool_of: Callable[[str], str]
    gone: Collection[str] = ()

    def template(self, template: Tree, *, marks: bool, placement: bool) -> Tree:
        """The pod template with what was asked for renamed."""
        found = dict(template)
        if marks and isinstance(template.get("metadata"), dict):
            found["metadata"] = self.metadata(template["metadata"])
        if placement and isinstance(template.get("spec"), dict):
            found["spec"] = self._spec(template["spec"])
        return found

    def metadata(self, metadata: Tree) -> Tree:
        """The metadata with the successor of its marks among the annotations; the value is kept."""
        given = metadata.get("annotations")
        values = [given[key] for key in OLD_MARKS if key in given] if isinstance(given, dict) else []
        if not isinstance(given, dict) or not values:
            return metadata
        value = "true" if "true" in values else values[0]
        kept = {key: text for key, text in given.items() if key not in OLD_MARKS or key not in self.gone}
        return metadata | {"annotations": {labels.DO_NOT_DISRUPT: value} | kept}

    def _spec(self, spec: Tree) -> Tree:
        found = dict(spec)
        if isinstance(spec.get("nodeSelector"), dict):
            found["nodeSelector"] = self._selector(spec["nodeSelector"])
        if isinstance(spec.get("affinity"), dict):
            found["affinity"] = self._affinity(spec["affinity"])
        if isinstance(spec.get("topologySpreadConstraints"), list):
            found["topologySpreadConstraints"] = [_topology(row) for row in spec["topologySpreadConstraints"]]
        return found

    def _selector(self, selector: Tree) -> Tree:
        if OLD not in selector:
            return selector
        kept = {key: value for key, value in selector.items() if key != OLD}
        return {NEW: self.pool_of(str(selector[OLD]))} | kept

    def _affinity(self, affinity: Tree) -> Tree:
        found = dict(affinity)
        if isinstance(affinity.get("nodeAffinity"), dict):
            found["nodeAffinity"] = self._node_affinity(affinity["nodeAffinity"])
        for kind in ("podAffinity", "podAntiAffinity"):
            if isinstance(affinity.get(kind), dict):
                found[kind] = _pod_affinity(affinity[kind])
        return found

    def _node_affinity(self, affinity: Tree) -> Tree:
        found = dict(affinity)
        required = affinity.get(REQUIRED)
        if isinstance(required, dict) and isinstance(required.get("nodeSelectorTerms"), list):
            terms = [self._term(term) for term in required["nodeSelectorTerms"]]
            found[REQUIRED] = required | {"nodeSelectorTerms": terms}
        if isinstance(affinity.get(PREFERRED), list):
            found[PREFERRED] = [self._preference(row) for row in affinity[PREFERRED]]
        return found

    def _preference(self, row: Any) -> Any:  # noqa: ANN401 - plain JSON
        return row | {"preference": self._term(row["preference"])} if _has(row, "preference") else row

    def _term(self, term: Any) -> Any:  # noqa: ANN401 - plain JSON
        rows = term.get("matchExpressions") if isinstance(term, dict) else None
        if not isinstance(rows, list):
            return term
        made = [one for row in rows for one in self._expression(row)]
        return term | {"matchExpressions": [row for place, row in enumerate(made) if row not in made[:place]]}

    def _expression(self, row: Any) -> list[Any]:  # noqa: ANN401 - plain JSON
        """A rule that keeps pods off stands for both labels while both are there; one that selects is replaced."""
        if not isinstance(row, dict) or row.get("key") != OLD:
            return [row]
        avoids = row.get("operator") in AVOIDING
        renamed = row | {"key": NEW}
        if row.get("operator") in NAMING and isinstance(row.get("values"), list):
            renamed["values"] = [str(one) if avoids else self.pool_of(str(one)) for one in row["values"]]
        return [row, renamed] if avoids and OLD not in self.gone else [renamed]


def _pod_affinity(affinity: Tree) -> Tree:
    found = dict(affinity)
    if isinstance(affinity.get(REQUIRED), list):
        found[REQUIRED] = [_topology(row) for row in affinity[REQUIRED]]
    if isinstance(affinity.get(PREFERRED), list):
        found[PREFERRED] = [_weighted(row) for row in affinity[PREFERRED]]
    return found


def _weighted(row: Any) -> Any:  # noqa: ANN401 - plain JSON
    return row | {"podAffinityTerm": _topology(row["podAffinityTerm"])} if _has(row, "podAffinityTerm") else row


def _topology(row: Any) -> Any:  # noqa: ANN401 - plain JSON
    return row | {"topologyKey": NEW} if isinstance(row, dict) and row.get("topologyKey") == OLD else row


def _has(row: Any, key: str) -> bool:  # noqa: ANN401 - plain JSON
    return isinstance(row, dict) and isinstance(row.get(key), dict)
