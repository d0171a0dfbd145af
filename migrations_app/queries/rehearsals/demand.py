"""Whether a policy asks for a rehearsal of a plan, and whether there is one (A46)."""

import msgspec

from migrations_app.actions.plan import Plan
from migrations_app.actions.rehearsable import unplayed_kinds
from migrations_app.models.rehearsal import Rehearsal
from migrations_app.models.rollout import Rollout
from migrations_app.queries.cluster.identity import registrations_of
from migrations_app.queries.rollouts.policies import demanded_risks, policy_of, risk_of


def rehearsal_demanded(row: Rollout) -> bool:
    """Whether a policy of the cluster's registrations asks for a rehearsal of this plan.

    It is not asked for where the plan changes kinds that no rehearsal plays.
    """
    risk = risk_of(row.risk)
    if not any(risk in demanded_risks(policy_of(one)) for one in registrations_of(row.cluster_id)):
        return False
    return bool(row.plan) and not unplayed_kinds(msgspec.json.decode(bytes(row.plan), type=Plan))


def why_unrehearsed(row: Rollout) -> str:
    """Why the plan may not be approved or started before it is rehearsed, in words; empty if it may."""
    if not rehearsal_demanded(row):
        return ""
    mine = Rehearsal.objects.filter(rollout_id=row.pk)
    if mine.filter(digest=row.digest, state=Rehearsal.State.FINISHED).exists():
        return ""
    if mine.filter(state__in=("queued", "running")).exists():
        return "the policy asks for a rehearsal of this plan, which is not over yet"
    return f"the policy asks for a rehearsal of plans of {row.risk} risk, and this plan has none that ended"
