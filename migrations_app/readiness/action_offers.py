"""Which actions a report calls for, with the words of their buttons and the schema of their parameters; and why the
others are not offered.

Pages and the REST interface show what is said here, and decide nothing. Only what the report says and who asks is
looked at: policy and the state of the cluster right now are for the preview.
"""

import string
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from migrations_app.actions.base import Action, Parameter
from migrations_app.actions.changes import Risk
from migrations_app.actions.registry import all_actions
from migrations_app.checks.base import Check, Finding
from migrations_app.checks.registry import all_checks
from migrations_app.readiness.report import Report

ROLL_BACK = "roll_back"
"""Offered at the rollout that it takes back, never at a check."""
READ_ONLY = ("sample", "bundle")
NEVER_SCANNED = "The cluster was never scanned."
MAY_NOT = "Your account may not prepare plans: the right “prepare and start rollouts” is missing."
OLDER = "This is an older snapshot."
LOOKS_ONLY = "This installation only looks: no worker of actions runs (KARPDASH_ACTION_SLOTS is 0)."
LONGEST_NAME, MOST_NAMES = 253, 500
"""Of a text, in characters, and of a list in the parameters of an action."""
NOT_BY_HELM = "Upgrades by helm are switched off, or the policy of the cluster does not allow them."
NOT_BY_DELIVERY = "Upgrades of the controller are switched off, or the policy of the cluster does not allow this one."


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """One button. `why` says what is missing where it is not enabled; `checks` are those that call for it."""

    action_id: str
    label: str
    purpose: str
    risk: Risk
    enabled: bool
    why: str = ""
    checks: tuple[str, ...] = ()


def reason_disabled(*, may_prepare: bool, source: str, has_no_action_workers: bool, is_latest: bool = True) -> str:
    """What keeps everybody, or whoever asks, from every action; empty when nothing does."""
    if has_no_action_workers:
        return LOOKS_ONLY
    if not may_prepare:
        return MAY_NOT
    if source in READ_ONLY:
        return f"A {source} is read-only."
    return "" if is_latest else OLDER


def offers(
    report: Report | None,
    *,
    held: str = "",
    by_helm: bool = False,
    by_delivery: bool = False,
    actions: Iterable[Action] | None = None,
    checks: Iterable[Check] | None = None,
) -> tuple[Offer, ...]:
    """An offer for each action: those that something calls for come first, and what destroys comes last.

    `by_helm`: installation and policy allow runs of helm, which no check calls for; `by_delivery`: they allow upgrades
    in the object of Flux or Argo CD. `held` is told before what keeps
    the single action. Without a report nothing is enabled.
    """
    known = tuple(all_checks() if checks is None else checks)
    resolving = _resolving(known)
    offered_actions = [action for action in (all_actions() if actions is None else actions) if action.id != ROLL_BACK]
    off = "" if by_helm or report is None else NOT_BY_HELM
    delivery_reason = "" if by_delivery or report is None else NOT_BY_DELIVERY
    rows = [
        _offer(
            action,
            report,
            named=resolving.get(action.id, {}),
            held=held or (off if action.needs_helm else delivery_reason if action.needs_edits else ""),
        )
        for action in offered_actions
    ]
    return tuple(sorted(rows, key=lambda offer: (not offer.enabled, offer.risk == "destructive", offer.label)))


def by_check(action_offers: Iterable[Offer], findings: Iterable[Finding]) -> Mapping[str, tuple[Offer, ...]]:
    """The buttons of a checklist, by the id of the check; none where nothing is to be done."""
    known = {offer.action_id: offer for offer in action_offers}
    checks = {check.id: check for check in all_checks()}
    asking = [
        finding for finding in findings if finding.id in checks and finding.status not in ("pass", "not_applicable")
    ]
    rows = {
        finding.id: tuple(known[name] for name in checks[finding.id].actions_at(finding) if name in known)
        for finding in asking
    }
    return {check: buttons for check, buttons in rows.items() if buttons}


def _resolving(checks: Iterable[Check]) -> dict[str, dict[str, Check]]:
    """The checks that name an action, by its id and theirs."""
    by_action: dict[str, dict[str, Check]] = {}
    for check in checks:
        for name in check.resolved_by:
            by_action.setdefault(name, {})[check.id] = check
    return by_action


def _offer(action: Action, report: Report | None, *, named: Mapping[str, Check], held: str) -> Offer:
    findings = [check for check in report.checks if check.id in named] if report else []
    failing = [
        finding
        for finding in findings
        if finding.status == "fail" and action.id in named[finding.id].actions_at(finding)
    ]
    why = held or (
        _unseen(action, report) or _uncalled(action, failing, findings=findings) if report else NEVER_SCANNED
    )
    return Offer(
        action_id=action.id,
        label=_label(action, report, failing=failing) if report else action.title,
        purpose=action.why,
        risk=action.risk,
        enabled=not why,
        why=why,
        checks=tuple(dict.fromkeys(finding.id for finding in failing)),
    )


def _unseen(action: Action, report: Report) -> str:
    """Why nothing can be planned on what was read; an action is never offered on a half-known cluster."""
    lines = {line.name: line for line in report.parts}
    return next((reason for name in action.parts if (reason := _missing(name, lines))), "")


def _missing(name: str, lines: Mapping[str, object]) -> str:
    line = lines.get(name)
    seen, why = getattr(line, "seen", False), getattr(line, "why", "")
    if not seen:
        return f"{name} could not be read: {why or 'not asked'}"
    odd = getattr(line, "quarantined", 0)
    return f"{odd} of {name} could not be read" if odd else ""


def _uncalled(action: Action, failing: list[Finding], *, findings: list[Finding]) -> str:
    """What is missing to call for it; nothing has to call for the next release."""
    return "" if action.needs_helm or action.needs_edits else _why_not(failing, findings)


def _why_not(failing: list[Finding], findings: list[Finding]) -> str:
    if failing:
        return ""
    other = next((finding for finding in findings if finding.status == "fail"), None)
    if other is not None:
        return f"not what puts this right: {other.title}: {other.summary}"
    unknown = next((finding for finding in findings if finding.status in ("unknown", "manual")), None)
    if unknown is not None:
        return f"not known yet: {unknown.title}: {unknown.summary}"
    return "not needed for the upgrades that were checked"


def _label(action: Action, report: Report, *, failing: list[Finding]) -> str:
    """The button with its counts; the title alone where one of them is not known."""
    known = dict(_counts(report, failing))
    fields = {name for _, name, _, _ in string.Formatter().parse(action.button) if name}
    return action.button.format(**known) if fields <= set(known) else action.title


def _counts(report: Report, failing: list[Finding]) -> Iterator[tuple[str, str]]:
    """`count`: the largest count that a check gives, as several may speak of the same objects."""
    most = max(failing, key=lambda finding: finding.evidence_total, default=None)
    if most is not None:
        yield "count", f"{'' if most.evidence_exact else 'at least '}{most.evidence_total}"
    nodes = report.legacy.get("Node")
    if nodes:  # where none is left the action is called for by something else, which is not counted in nodes
        yield "nodes", str(nodes)


def parameter_schema(action: Action) -> dict[str, Any]:
    """An object schema with one property for each parameter. What holds it is of a kind that a plan takes; whether it
    fits the cluster, the preview tells.

    `x-karpdash-part` of a property names the data source whose objects may be chosen.
    """
    return {
        "type": "object",
        "properties": {parameter.name: _property(parameter) for parameter in action.parameters},
        "required": [parameter.name for parameter in action.parameters if parameter.required],
        "additionalProperties": False,
    }


def _property(parameter: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"description": parameter.question, **_kind(parameter)}
    if parameter.of:
        schema["x-karpdash-part"] = parameter.of
    return schema if parameter.default is None else {**schema, "default": parameter.default}


def _kind(parameter: Parameter) -> dict[str, Any]:
    text: dict[str, Any] = {"type": "string", "maxLength": LONGEST_NAME}
    if parameter.many:
        return {"type": "array", "items": text, "maxItems": MOST_NAMES}
    if isinstance(parameter.default, bool):
        return {"type": "boolean"}
    if isinstance(parameter.default, int):
        return {"type": "integer"}
    return text if parameter.of or isinstance(parameter.default, str) else {"type": ["string", "integer", "null"]}
