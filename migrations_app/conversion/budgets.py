"""What the CRD of v1 refuses in the disruption budgets of a NodePool that is written for v1.

The rules are those of every release of v1; lists of reasons became sets in 1.13.
Sources: aws/karpenter-provider-aws@v1.0.0 to @v1.14.1:pkg/apis/crds/karpenter.sh_nodepools.yaml.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from migrations_app.conversion.findings import FieldPath, FindingCollector
from migrations_app.conversion.refusals import REFUSED, CrdRefusal, budget_refusals
from migrations_app.conversion.schema import shown
from migrations_app.karpenter.versions import Release, minor_order

REASONS: Final = ("Underutilized", "Empty", "Drifted")
REASONS_ARE_A_SET: Final = "1.13"
"""The first minor whose CRD refuses a reason that is given twice in a budget."""
_TEXTS: Final = ("nodes", "schedule", "duration")
_BUDGETS: Final[FieldPath] = ("spec", "disruption", "budgets")


def note_refused_budgets(body: Mapping[str, Any], notes: FindingCollector) -> None:
    """Adds a finding for each part of the budgets of the v1 NodePool that its CRD refuses."""
    for refusal in refused_budgets(body):
        notes.add(refusal.code, refusal.path, what=refusal.what)


def refused_budgets(body: Mapping[str, Any], release: Release | None = None) -> Iterator[CrdRefusal]:
    """What the CRD of that release, or of the newest one, refuses in the budgets; empty for an object that is no
    NodePool of v1."""
    if (body.get("apiVersion"), body.get("kind")) != ("karpenter.sh/v1", "NodePool"):
        return
    budgets: Any = body
    for step in _BUDGETS:
        budgets = budgets.get(step) if isinstance(budgets, Mapping) else None
    if not isinstance(budgets, list):
        return
    readable = [row if _has_texts(row) else {} for row in budgets]
    yield from budget_refusals(readable)
    for index, row in enumerate(budgets):
        if isinstance(row, Mapping):
            yield from _no_texts(row, (*_BUDGETS, index))
            yield from _reasons(row.get("reasons"), (*_BUDGETS, index, "reasons"), release=release)


def _has_texts(row: Any) -> bool:  # noqa: ANN401 - any JSON
    return isinstance(row, dict) and all(isinstance(row.get(name), str | None) for name in _TEXTS)


def _no_texts(row: Mapping[str, Any], at: FieldPath) -> Iterator[CrdRefusal]:
    for name in _TEXTS:
        if not isinstance(row.get(name), str | None):
            yield CrdRefusal(REFUSED, (*at, name), f"{shown(row[name])} is no text; write it in quotes")


def _reasons(listed: Any, at: FieldPath, *, release: Release | None) -> Iterator[CrdRefusal]:  # noqa: ANN401 - any JSON
    texts = [reason for reason in listed if isinstance(reason, str)] if isinstance(listed, list) else []
    for reason in dict.fromkeys(texts):
        if reason not in REASONS and "${" not in reason:
            yield CrdRefusal(REFUSED, at, f"{shown(reason)} is not one of {', '.join(REASONS)}")
    if release is None or minor_order(release.minor) >= minor_order(REASONS_ARE_A_SET):
        for reason, count in Counter(texts).items():
            if count > 1:
                what = f"{reason} is given {count} times; from {REASONS_ARE_A_SET} on a reason may be given once"
                yield CrdRefusal(REFUSED, at, what)
