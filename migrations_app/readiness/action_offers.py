"""Decides which actions are offered for a report: label, JSON schema of the parameters, and the reason if disabled.

Pages and the REST API show these offers and decide nothing themselves. Only the report and the permissions of the
person count here; the preview checks the policy and the present state of the cluster.
"""

import string
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import structs

from migrations_app.actions.base import Action, Parameter
from migrations_app.actions.changes import Risk
from migrations_app.actions.registry import all_actions
from migrations_app.checks.base import Check, Finding
from migrations_app.checks.registry import all_checks
from migrations_app.readiness.report import Report

ROLL_BACK = "roll_back"
"""Offered on the page of the rollout that it reverts, never for a check."""
READ_ONLY = ("sample", "bundle")
NEVER_SCANNED = "The cluster was never scanned."
MAY_NOT = "Your account may not prepare plans: the permission “prepare and start rollouts” is missing."
OLDER = "This is an older snapshot."
LOOKS_ONLY = "This installation only looks: no worker of actions runs (KARPDASH_ACTION_SLOTS is 0)."
LONGEST_NAME, MAX_NAMES = 253, 500
"""Limits of the parameters of an action: characters of a text, and items of a list."""
NOT_BY_HELM = "Upgrades by helm are switched off, or the policy of the cluster does not allow them."
NOT_BY_DELIVERY = "Upgrades of the controller are switched off, or the policy of the cluster does not allow this one."


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """One button. `why` is the reason if it is disabled; `checks` are the failing checks that the action resolves."""

    action_id: str
    label: str
    purpose: str
    risk: Risk
    enabled: bool
    why: str = ""
    checks: tuple[str, ...] = ()


def reason_disabled(*, may_prepare: bool, source: str, has_no_action_workers: bool, is_latest: bool = True) -> str:
    """Returns why every action is disabled for this installation, person or cluster; empty if none is."""
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
    findings: Iterable[Finding] | None = None,
    actions: Iterable[Action] | None = None,
    checks: Iterable[Check] | None = None,
) -> tuple[Offer, ...]:
    """Returns one offer for each action: enabled ones first, destructive ones last, then by label.

    `findings` are those that count, such as the ones of a single upgrade; all of the report if they are not given.
    `by_helm`: installation and policy allow runs of helm, which no check asks for; `by_delivery`: they allow upgrades
    by changing the object of Flux or Argo CD. `held` is a reason that disables every action; it comes before the
    reasons of a single action. Without a report nothing is enabled.
    """
    every_check = tuple(all_checks() if checks is None else checks)
    judged = report if report is None or findings is None else structs.replace(report, checks=tuple(findings))
    resolving = _checks_by_action(every_check)
    offered_actions = [action for action in (all_actions() if actions is None else actions) if action.id != ROLL_BACK]
    helm_reason = "" if by_helm or report is None else NOT_BY_HELM
    delivery_reason = "" if by_delivery or report is None else NOT_BY_DELIVERY
    rows = [
        _offer(
            action,
            judged,
            named=resolving.get(action.id, {}),
            held=held or (helm_reason if action.needs_helm else delivery_reason if action.needs_edits else ""),
        )
        for action in offered_actions
    ]
    return tuple(sorted(rows, key=lambda offer: (not offer.enabled, offer.risk == "destructive", offer.label)))


def by_check(action_offers: Iterable[Offer], findings: Iterable[Finding]) -> Mapping[str, tuple[Offer, ...]]:
    """Returns the offers of a checklist, by the id of the check; checks with nothing to do are left out."""
    offers_by_action = {offer.action_id: offer for offer in action_offers}
    checks = {check.id: check for check in all_checks()}
    open_findings = [
        finding for finding in findings if finding.id in checks and finding.status not in ("pass", "not_applicable")
    ]
    rows = {
        finding.id: tuple(
            offers_by_action[name] for name in checks[finding.id].actions_at(finding) if name in offers_by_action
        )
        for finding in open_findings
    }
    return {check: buttons for check, buttons in rows.items() if buttons}


def _checks_by_action(checks: Iterable[Check]) -> dict[str, dict[str, Check]]:
    """Returns the checks that an action resolves: by the id of the action, then by the id of the check."""
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
        _unread_reason(action, report) or _reason_not_needed(action, failing, findings=findings)
        if report
        else NEVER_SCANNED
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


def _unread_reason(action: Action, report: Report) -> str:
    """Returns which data source of the action was not fully read; empty if all were.

    An action is never offered for a cluster that was only partly read.
    """
    lines = {line.name: line for line in report.parts}
    return next((reason for name in action.parts if (reason := _unread_reason_of(name, lines))), "")


def _unread_reason_of(name: str, lines: Mapping[str, object]) -> str:
    line = lines.get(name)
    seen, why = getattr(line, "seen", False), getattr(line, "why", "")
    if not seen:
        return f"{name} could not be read: {why or 'not asked'}"
    set_aside = getattr(line, "quarantined", 0)
    return f"{set_aside} of {name} could not be read" if set_aside else ""


def _reason_not_needed(action: Action, failing: list[Finding], *, findings: list[Finding]) -> str:
    """Returns why no check needs the action; empty for an upgrade to the next release, which needs no check."""
    return "" if action.needs_helm or action.needs_edits else _reason_no_check_needs(failing, findings)


def _reason_no_check_needs(failing: list[Finding], findings: list[Finding]) -> str:
    """Returns why no failing check needs the action; empty if one does."""
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
    """Returns the text of the button with its counts; the title alone if a count is not known."""
    counts = dict(_counts(report, failing))
    fields = {name for _, name, _, _ in string.Formatter().parse(action.button) if name}
    return action.button.format(**counts) if fields <= set(counts) else action.title


def _counts(report: Report, failing: list[Finding]) -> Iterator[tuple[str, str]]:
    """Yields the counts for the label. `count` is the largest of the checks, which may count the same objects;
    `objects` adds up the largest of each kind of object.
    """
    of_kind: dict[str, Finding] = {}
    for finding in sorted(failing, key=lambda finding: finding.evidence_total):
        of_kind[finding.evidence[0].kind if finding.evidence else ""] = finding
    largest = max(failing, key=lambda finding: finding.evidence_total, default=None)
    if largest is not None:
        yield "count", _number([largest])
        yield "objects", _number(of_kind.values())
    nodes = report.legacy.get("Node")
    if nodes:  # without legacy nodes another check needs the action, and its count is not one of nodes
        yield "nodes", str(nodes)


def _number(findings: Collection[Finding]) -> str:
    exact = all(finding.evidence_exact for finding in findings)
    return f"{'' if exact else 'at least '}{sum(finding.evidence_total for finding in findings)}"


def parameter_schema(action: Action) -> dict[str, Any]:
    """Returns the JSON schema of an object with one property for each parameter.

    The schema checks types only; the preview checks whether the values fit the cluster. `x-karpdash-part` of a property
    names the data source whose objects may be chosen.
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
    text_schema: dict[str, Any] = {"type": "string", "maxLength": LONGEST_NAME}
    if parameter.many:
        return {"type": "array", "items": text_schema, "maxItems": MAX_NAMES}
    if isinstance(parameter.default, bool):
        return {"type": "boolean"}
    if isinstance(parameter.default, int):
        return {"type": "integer"}
    return (
        text_schema if parameter.of or isinstance(parameter.default, str) else {"type": ["string", "integer", "null"]}
    )
