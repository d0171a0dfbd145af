"""Current policies and kill switch, for pages, the API and the checks before a start."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from django.conf import settings
from django.db.models import F, Q
from msgspec import Meta

from migrations_app.actions.changes import RISKS, Risk
from migrations_app.errors import NotFound
from migrations_app.models.policy import ASKED, KillSwitch, Policy
from migrations_app.models.rollout import Rollout
from migrations_app.queries.clusters.identity import registrations_of
from migrations_app.queries.pagination import Page, encode, keys_of, page_of
from migrations_app.queries.rows import from_row
from migrations_app.queries.visibility import visible

NEVER_ALONE: dict[Risk, int] = {"destructive": 1}
"""Minimum approvals that no policy can lower (A43)."""
UPGRADE_CONTROLLER, UPGRADE_DELIVERY = "upgrade_controller", "upgrade_delivery"
CONTROLLER_UPGRADES_OFF = "upgrades of the controller are switched off: KARPDASH_CONTROLLER_UPGRADES"
ENVIRONMENT = "KARPDASH_STOP_ALL_ACTIONS is set: whoever runs karpdash takes it away"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRow:
    """The effective policy. `own` is False if the cluster uses the general policy."""

    cluster: uuid.UUID | None
    own: bool
    version: int
    approvals: dict[str, int]
    actions: tuple[str, ...]
    windows: tuple[dict[str, Any], ...]
    frozen: bool
    frozen_why: str
    batch: int
    per_hour: int
    pool_percent: int
    campaigns_destroy: Annotated[
        bool, Meta(description="Whether a campaign's approval may cover plans that delete what its preview showed.")
    ]
    rehearsals: Annotated[
        tuple[str, ...], Meta(description="Risks whose plans have to be rehearsed before approval and start.")
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class KillSwitchState:
    """The kill switch. `by_environment` if a setting turned it on; pages cannot turn it off then."""

    on: bool = False
    by_environment: bool = False
    why: str = ""
    by: str = ""
    since: datetime | None = None
    lifting_by: str = ""
    lifting_id: int | None = None
    version: int = 0


def policy_of(cluster_id: uuid.UUID | None) -> Policy:
    """The cluster's own policy, else the general one; an unsaved row with the defaults if there is none."""
    applicable = Q(cluster=None) if cluster_id is None else Q(cluster=None) | Q(cluster_id=cluster_id)
    return Policy.objects.filter(applicable).order_by(F("cluster").asc(nulls_last=True)).first() or Policy()


def controller_upgrades_allowed(cluster_id: uuid.UUID, *, action: str = UPGRADE_CONTROLLER) -> bool:
    """Whether installation and policy allow karpdash to upgrade the controller of that cluster by that action."""
    return bool(settings.ENV.controller_upgrades) and action_allowed(cluster_id, action)


def action_allowed(cluster_id: uuid.UUID, action: str) -> bool:
    """Whether the policy of the cluster allows that action."""
    allowed = policy_of(cluster_id).actions
    return "*" in allowed or action in allowed


def campaigns_may_destroy(cluster_id: uuid.UUID) -> bool:
    """Whether the policies of all registrations of the cluster allow that a campaign's approval covers plans that
    delete the objects of its preview.
    """
    return all(policy_of(registration).campaigns_destroy for registration in registrations_of(cluster_id))


def policy_row(cluster_id: uuid.UUID | None) -> PolicyRow:
    """The policy as a value, with the effective numbers of approvals."""
    row = policy_of(cluster_id)
    return from_row(
        PolicyRow,
        row,
        cluster=cluster_id,
        own=row.pk is not None and row.cluster_id == cluster_id,
        approvals={risk: approvals_required(row, risk) for risk in RISKS},
        actions=tuple(row.actions),
        windows=tuple(row.windows),
        rehearsals=risks_requiring_rehearsal(row),
    )


def risks_requiring_rehearsal(policy: Policy) -> tuple[str, ...]:
    """The risks whose plans need a rehearsal, in order of risk."""
    risks = policy.rehearsals if isinstance(policy.rehearsals, list) else []
    return tuple(risk for risk in RISKS if risk in risks)


def own_policies() -> tuple[tuple[uuid.UUID, str, int], ...]:
    """(id, name, version) of the clusters that have their own policy, by name."""
    rows = Policy.objects.filter(visible()).exclude(cluster=None).select_related("cluster").order_by("cluster__name")
    return tuple((row.cluster.pk, row.cluster.name, row.version) for row in rows if row.cluster)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPolicyRow:
    """A cluster that has a policy of its own."""

    cluster: uuid.UUID
    name: str
    version: int


def own_policy_page(*, after: str, limit: int) -> Page[OwnPolicyRow]:
    """One page of the visible clusters with a policy of their own, by name. Raises InvalidInput for a bad cursor."""
    keys = keys_of(after, (str,))
    rows = Policy.objects.filter(visible()).exclude(cluster=None).select_related("cluster").order_by("cluster__name")
    policies = list((rows.filter(cluster__name__gt=keys[0]) if keys else rows)[: limit + 1])
    return page_of(policies, limit=limit, row=_own, key=lambda row: encode((_own(row).name,)))


def _own(row: Policy) -> OwnPolicyRow:
    if row.cluster is None:
        raise NotFound("the policy is of no cluster")
    return OwnPolicyRow(cluster=row.cluster.pk, name=row.cluster.name, version=row.version)


def approvals_required(policy: Policy, risk: Risk) -> int:
    """How many different people have to approve; the default if the stored number is invalid."""
    stored = policy.approvals.get(risk)
    number = stored if isinstance(stored, int) and not isinstance(stored, bool) and stored >= 0 else ASKED[risk]
    return max(number, NEVER_ALONE.get(risk, 0))


def approvals_needed(row: Rollout) -> int:
    """How many approvals the rollout's risk needs now, by the strictest policy of the cluster's registrations."""
    risk = risk_of(row.risk)
    return max(approvals_required(policy_of(registration), risk) for registration in registrations_of(row.cluster_id))


def risk_of(word: str) -> Risk:
    """The risk with that name; an unknown name counts as the highest."""
    return next((risk for risk in RISKS if risk == word), "destructive")


def has_no_action_workers() -> bool:
    """Whether this installation has no worker of the action queue."""
    return not settings.ENV.action_slots


def everything_stopped() -> bool:
    """Whether changes to clusters are stopped now, by the environment or the kill switch."""
    return settings.ENV.stop_all_actions or KillSwitch.objects.filter(on=True).exists()


def kill_switch_state() -> KillSwitchState:
    """The state of the kill switch: whether it is on, by whom and why."""
    row = KillSwitch.objects.order_by("pk").first()
    if settings.ENV.stop_all_actions:
        return KillSwitchState(on=True, by_environment=True, why=ENVIRONMENT, version=row.version if row else 0)
    if row is None:
        return KillSwitchState()
    return from_row(KillSwitchState, row, by=row.by_name, by_environment=False)
