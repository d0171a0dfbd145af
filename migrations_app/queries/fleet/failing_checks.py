"""Which checks fail at the next upgrade of chosen clusters."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass

from migrations_app.models.scan import FindingRow
from migrations_app.queries.visibility import visible_clusters


@dataclass(frozen=True, slots=True)
class FailingCheck:
    """A check and the clusters on which it fails; `evidence` counts its objects on all of them."""

    check: str
    clusters: tuple[uuid.UUID, ...]
    evidence: int


def failing_checks(chosen: Collection[uuid.UUID]) -> tuple[FailingCheck, ...]:
    """The checks that fail at the next upgrade of these clusters, those with most clusters first.

    Clusters that the caller may not see are left out; waivers have no effect.
    """
    rows = visible_clusters().filter(pk__in=chosen).exclude(latest=None).order_by("name")
    places = list(rows.values_list("pk", "latest__content_id", "latest__next_hop"))
    contents = {content for _, content, _ in places}
    lines = FindingRow.objects.filter(content__in=contents, status="fail").values_list(
        "content_id", "hop", "check_id", "evidence_total"
    )
    failures: dict[tuple[object, str], list[tuple[str, int]]] = {}
    for content, hop, check, evidence in lines:
        failures.setdefault((content, hop), []).append((check, evidence))
    clusters: dict[str, list[uuid.UUID]] = {}
    counted: dict[str, int] = {}
    for cluster, content, hop in places:
        for check, evidence in failures.get((content, hop), ()):
            clusters.setdefault(check, []).append(cluster)
            counted[check] = counted.get(check, 0) + evidence
    checks = (FailingCheck(check, tuple(keys), counted[check]) for check, keys in clusters.items())
    return tuple(sorted(checks, key=lambda failing_check: (-len(failing_check.clusters), failing_check.check)))
