"""What is allowed where and when: the policy of a cluster, and why nothing may be begun on it now (A33, A36)."""

from datetime import datetime, time

from migrations_app.models.policy import Policy
from migrations_app.queries.policies import NEVER_ALONE, approvals_asked, policy_of

__all__ = ["NEVER_ALONE", "approvals_asked", "closed", "policy_of"]


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
