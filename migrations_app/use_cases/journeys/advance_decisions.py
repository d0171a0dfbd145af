"""Decisions that the campaign of a journey made in advance: how the journey stores them, and whether they still
hold.
"""

from typing import Any

import msgspec

from migrations_app.actions.plan import Plan
from migrations_app.journeys.deletions import deleted_objects
from migrations_app.journeys.evidence import NOT_ASKED, finding_of
from migrations_app.journeys.outline import Outline
from migrations_app.journeys.prior_approval import (
    AskedCheck,
    PriorApproval,
    asked_check,
    covers_destroying,
    covers_unseen,
    is_weighed,
)
from migrations_app.models.journey import Journey, JourneyStepRow
from migrations_app.queries.rollouts.policies import campaigns_may_destroy
from migrations_app.use_cases.journeys.drafts import SETTLED
from migrations_app.use_cases.journeys.scans import MAX_SCAN_AGE, report_since
from migrations_app.use_cases.journeys.transitions import LoadedJourney, definition


def decisions_in_advance(row: Journey) -> PriorApproval | None:
    """The decisions that the campaign made in advance; None for a journey that no campaign made."""
    raw = row.choices.get(SETTLED)
    return msgspec.convert(raw, type=PriorApproval) if raw else None


def is_confirmed_in_advance(loaded: LoadedJourney, step: JourneyStepRow) -> bool:
    """Whether a person has confirmed everything in the step for this cluster in advance, and none of its checks
    fails.
    """
    settlement, row, journey_step = decisions_in_advance(loaded.row), loaded.row, definition(step)
    newest = report_since(row.cluster_id, row.made_at - MAX_SCAN_AGE) if settlement else None
    if settlement is None or newest is None:
        return False
    findings = {name: finding_of(newest[1], name, hop=row.hop) for name in journey_step.checks}
    now = {name: asked_check(finding) if finding else AskedCheck(NOT_ASKED) for name, finding in findings.items()}
    cluster = f"{row.cluster.kube_system_uid} {row.cluster.ca_digest}"
    return is_weighed(settlement, journey_step, target_release=row.target_release, cluster=cluster, now=now)


def words_of(row: Journey) -> dict[str, Any]:
    """The columns of a step that was confirmed in advance: by whom, and with which note."""
    settlement = decisions_in_advance(row)
    return {"by_name": settlement.by, "note": f"{settlement.note} ({settlement.source})"[:2000]} if settlement else {}


def unseen_covered(row: Journey, step: JourneyStepRow, *, outline: Outline | None) -> bool:
    """Whether the approval of the campaign covers a plan that was not in the preview of the journey."""
    settlement = decisions_in_advance(row)
    if settlement is None or outline is None:
        return False
    return covers_unseen(
        settlement, definition(step), outline=outline, target_release=row.target_release, limit=row.covers
    )


def destroying_covered(row: Journey, step: JourneyStepRow, *, outline: Outline | None, plan: Plan | None) -> bool:
    """Whether the approval of the campaign covers a plan that deletes objects, by the current policies."""
    settlement = decisions_in_advance(row)
    if settlement is None or outline is None or plan is None or not campaigns_may_destroy(row.cluster_id):
        return False
    journey_step, deletes = definition(step), deleted_objects(plan)
    return covers_destroying(
        settlement, journey_step, outline=outline, deletes=deletes, target_release=row.target_release
    )


def cover_with_campaign(row: Journey) -> None:
    """Stores that the campaign's approval was given to the journey: from now on it covers the decisions made in
    advance.
    """
    settlement = decisions_in_advance(row)
    if settlement is not None:
        row.choices = row.choices | {SETTLED: msgspec.to_builtins(msgspec.structs.replace(settlement, covered=True))}
        Journey.objects.filter(pk=row.pk).update(choices=row.choices)
