"""What the campaign of a journey settled before it was made, as the journey keeps it and as it counts now."""

from typing import Any

import msgspec

from migrations_app.actions.plan import Plan
from migrations_app.journeys.beforehand import (
    AskedCheck,
    SettledBefore,
    asked_check,
    covers_destroying,
    covers_unseen,
    is_weighed,
)
from migrations_app.journeys.destroyed import deleted_objects
from migrations_app.journeys.evidence import NOT_ASKED, finding_of
from migrations_app.journeys.outline import Outline
from migrations_app.models.journey import Journey, JourneyStepRow
from migrations_app.queries.rollouts.policies import campaigns_may_destroy
from migrations_app.use_cases.journeys.drafts import SETTLED
from migrations_app.use_cases.journeys.scans import FRESH, report_since
from migrations_app.use_cases.journeys.transitions import LoadedJourney, definition


def settled_of(row: Journey) -> SettledBefore | None:
    """What was settled before; None for a journey that nobody made for many."""
    told = row.choices.get(SETTLED)
    return msgspec.convert(told, type=SettledBefore) if told else None


def weighed_before(here: LoadedJourney, step: JourneyStepRow) -> bool:
    """Whether a person weighed all of the step before, on this cluster, and no check of it fails."""
    told, row, what = settled_of(here.row), here.row, definition(step)
    found = report_since(row.cluster_id, row.made_at - FRESH) if told else None
    if told is None or found is None:
        return False
    findings = {name: finding_of(found[1], name, hop=row.hop) for name in what.checks}
    now = {name: asked_check(finding) if finding else AskedCheck(NOT_ASKED) for name, finding in findings.items()}
    cluster = f"{row.cluster.kube_system_uid} {row.cluster.ca_digest}"
    return is_weighed(told, what, lands=row.lands, cluster=cluster, now=now)


def words_of(row: Journey) -> dict[str, Any]:
    """The columns of a step that was weighed before: who wrote what."""
    told = settled_of(row)
    return {"by_name": told.by, "note": f"{told.note} ({told.source})"[:2000]} if told else {}


def unseen_covered(row: Journey, step: JourneyStepRow, *, made: Outline | None) -> bool:
    """Whether the approval of the campaign covers a plan that the journey could not show."""
    told = settled_of(row)
    if told is None or made is None:
        return False
    return covers_unseen(told, definition(step), made=made, lands=row.lands, limit=row.covers)


def destroying_covered(row: Journey, step: JourneyStepRow, *, made: Outline | None, plan: Plan | None) -> bool:
    """Whether the approval of the campaign covers a plan that deletes, by the policies of now."""
    told = settled_of(row)
    if told is None or made is None or plan is None or not campaigns_may_destroy(row.cluster_id):
        return False
    what, deletes = definition(step), deleted_objects(plan)
    return covers_destroying(told, what, made=made, deletes=deletes, lands=row.lands)


def cover_with_campaign(row: Journey) -> None:
    """The approval of the campaign was given to the journey: from now on it covers what was settled before."""
    told = settled_of(row)
    if told is not None:
        row.choices = row.choices | {SETTLED: msgspec.to_builtins(msgspec.structs.replace(told, covered=True))}
        Journey.objects.filter(pk=row.pk).update(choices=row.choices)
