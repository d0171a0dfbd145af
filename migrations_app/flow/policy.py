"""What is allowed where and when: the policy of a cluster, and why nothing may be begun on it now (A33, A36)."""

import uuid
from datetime import datetime, time

from migrations_app.actions.changes import Risk
from migrations_app.models.policy import ASKED, Policy

NEVER_ALONE: dict[Risk, int] = {"destructive": 1}
"""Approvals that no policy can do without (A43)."""


def policy_of(cluster_id: uuid.UUID) -> Policy:
    """The cluster's own policy, else that of all; an unsaved one with the defaults where nobody made any."""
    own = Policy.objects.filter(cluster_id=cluster_id).first()
    return own or Policy.objects.filter(cluster=None).first() or Policy()


def approvals_asked(policy: Policy, risk: Risk) -> int:
    """How many different people have to agree; unreadable numbers count as the default."""
    told = policy.approvals.get(risk)
    asked = told if isinstance(told, int) and not isinstance(told, bool) and told >= 0 else ASKED[risk]
    return max(asked, NEVER_ALONE.get(risk, 0))


def closed(policy: Policy, action: str, *, now: datetime) -> str:
    """Why the action may not begin now, in words; empty when it may."""
    if policy.frozen:
        return f"changes are frozen: {policy.frozen_why or 'no reason given'}"
    if "*" not in policy.actions and action not in policy.actions:
        return f"the policy of this cluster does not allow {action}"
    if policy.windows and not any(_open(window, now) for window in policy.windows):
        return "outside of the change windows"
    return ""


def _open(window: object, now: datetime) -> bool:
    """Whether the window holds now, UTC; one that ends before it begins goes over midnight. Odd ones never open."""
    if not isinstance(window, dict):
        return False
    try:
        begins, ends = time.fromisoformat(str(window["from"])), time.fromisoformat(str(window["to"]))
    except (KeyError, ValueError):
        return False
    days = window.get("days", list(range(7)))
    clock, today = now.time(), now.weekday()
    if begins <= ends:
        return today in days and begins <= clock < ends
    return (today in days and clock >= begins) or ((today - 1) % 7 in days and clock < ends)
