"""Which actions a page offers, with the words of their effect; or why one is not offered (ux 4.1)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.http import HttpRequest

from migrations_app.actions.base import Action
from migrations_app.actions.registry import all_actions
from migrations_app.checks.registry import all_checks
from migrations_app.checks.values import Finding
from migrations_app.queries.cluster import ClusterHead
from migrations_app.readiness.offers import ROLL_BACK, Offer, offers
from migrations_app.readiness.report import Report

READ_ONLY = ("sample", "bundle")
NEVER_SCANNED = "The cluster was never scanned."


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """One button. `why` says what is missing where it is not enabled."""

    action: Action
    label: str
    enabled: bool
    why: str = ""


def startable(request: HttpRequest, head: ClusterHead, *, report: Report | None) -> tuple[Offered, ...]:
    """Every action at a cluster, but for taking something back: those that something calls for come first."""
    given = _given(report)
    why = _why_not(request, head) or ("" if report else NEVER_SCANNED)
    found = [_offered(one, given.get(one.id), why=why) for one in all_actions() if one.id != ROLL_BACK]
    return tuple(sorted(found, key=lambda one: (not one.enabled, one.action.risk == "destructive", one.label)))


def of_findings(
    request: HttpRequest, head: ClusterHead, *, report: Report, findings: Iterable[Finding]
) -> Mapping[str, tuple[Offered, ...]]:
    """The buttons of a checklist, by the id of the check; none where nothing is to be done."""
    given, why = _given(report), _why_not(request, head)
    known = {one.id: one for one in all_actions()}
    resolving = {check.id: check.resolved_by for check in all_checks() if check.resolved_by}
    found = {}
    for one in findings:
        named = [known[name] for name in resolving.get(one.id, ()) if name in known]
        if named and one.status not in ("pass", "not_applicable"):
            found[one.id] = tuple(_offered(action, given.get(action.id), why=why) for action in named)
    return found


def _given(report: Report | None) -> dict[str, Offer]:
    return {one.action_id: one for one in offers(report)} if report else {}


def _offered(action: Action, offer: Offer | None, *, why: str) -> Offered:
    """What keeps everybody from it comes before what keeps this action."""
    reason = why or (offer.why if offer else "")
    label = offer.label if offer else action.title
    return Offered(action=action, label=label, enabled=not reason, why=reason)


def _why_not(request: HttpRequest, head: ClusterHead) -> str:
    if not _may_prepare(request):
        return "Your account may not prepare plans: the right “prepare and start rollouts” is missing."
    if head.source in READ_ONLY:
        return f"A {head.source} is only looked at."
    return "" if head.is_latest else "This is an older snapshot."


def _may_prepare(request: HttpRequest) -> bool:
    return any(request.user.has_perm(f"migrations_app.{one}") for one in ("operate_rollout", "administer_policy"))
