"""Which actions a page offers, with the words of their effect; or why one is not offered (ux 4.1)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from django.http import HttpRequest

from migrations_app.actions.base import Action
from migrations_app.actions.registry import all_actions, find
from migrations_app.checks.registry import all_checks
from migrations_app.checks.values import Finding
from migrations_app.flow.draft import ROLL_BACK
from migrations_app.queries.cluster import ClusterHead
from migrations_app.readiness.report import Report

READ_ONLY = ("sample", "bundle")
EVERY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """One button. `why` says what is missing where it is not enabled."""

    action: Action
    label: str
    enabled: bool
    why: str = ""


def startable(request: HttpRequest, head: ClusterHead, report: Report | None) -> tuple[Offered, ...]:
    """Every action that may be begun at a cluster, but for taking something back."""
    why = _why_not(request, head)
    hop = head.snapshot.next_hop if head.snapshot else ""
    fitting = [one for one in all_actions() if one.id != ROLL_BACK]
    ordered = sorted(fitting, key=lambda one: (not _fits(one, hop), one.risk == "destructive", one.title))
    return tuple(_offered(one, why=why or ("" if report else "The cluster was never scanned.")) for one in ordered)


def of_findings(request: HttpRequest, head: ClusterHead, findings: list[Finding]) -> Mapping[str, tuple[Offered, ...]]:
    """The buttons of a checklist, by the id of the check; none where nothing is to be done."""
    why = _why_not(request, head)
    found = {}
    for one in findings:
        if one.status not in ("pass", "not_applicable") and (actions := _resolving().get(one.id)):
            found[one.id] = tuple(_offered(action, why=why) for action in actions)
    return found


def _offered(action: Action, *, why: str) -> Offered:
    return Offered(action=action, label=action.title, enabled=not why, why=why)


def _why_not(request: HttpRequest, head: ClusterHead) -> str:
    if not _may_prepare(request):
        return "Your account may not prepare plans: the right “prepare and start rollouts” is missing."
    if head.source in READ_ONLY:
        return f"A {head.source} is only looked at."
    return "" if head.is_latest else "This is an older snapshot."


def _may_prepare(request: HttpRequest) -> bool:
    return any(request.user.has_perm(f"migrations_app.{one}") for one in ("operate_rollout", "administer_policy"))


def _fits(action: Action, hop: str) -> bool:
    return EVERY in action.hops or hop in action.hops


@cache
def _resolving() -> dict[str, tuple[Action, ...]]:
    """The actions that mend what a check finds, by its id."""
    named = {check.id: [find(name) for name in check.resolved_by] for check in all_checks()}
    return {name: tuple(one for one in found if one) for name, found in named.items() if any(found)}
