"""Runs checks on an inventory at one hop and turns their results into findings.

An exception in a check becomes a finding with status unknown. A check does not run if a part that it reads was not
read.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from migrations_app.checks.base import (
    WEIGHTS,
    Check,
    CheckContext,
    Evidence,
    Finding,
    JudgeResult,
    LowerBound,
    ManualCheck,
    NotApplicable,
    Reason,
    Remedy,
    Severity,
    SeverityCap,
    Status,
    Unknown,
)
from migrations_app.checks.remedies.aws import could_not_read
from migrations_app.inventory.parts import AHEAD, Seen, UnparsableObject, Unseen

EVIDENCE_KEPT = 200
"""Rows of evidence stored with a finding; `evidence_total` still counts all."""
EVIDENCE_BYTES = 150_000
"""Limit for the evidence of all findings of a hop, as JSON: the longest path has six hops, and together they stay below
1 MB."""


EVIDENCE_TEXT = 2_000
"""The longest text of stored evidence, in characters: one long value must not displace the evidence of all others."""


_STATUSES: tuple[tuple[type[Unknown | LowerBound | NotApplicable | ManualCheck], Status], ...] = (
    (Unknown, "unknown"),
    (LowerBound, "unknown"),
    (NotApplicable, "not_applicable"),
    (ManualCheck, "manual"),
)
"""The status for each type of result if nothing fails; the first type in this order decides."""


_INVENTORY_KINDS = {"CustomResourceDefinition": "CRD", "Deployment": "Workload"}
"""The kind that unparsable objects have in the inventory, if it differs from the kind in evidence."""


Cause: TypeAlias = tuple[str, ...]
"""Identifies a cause without its current value, so that two hops do not report the same cause."""


class ReportedCause(NamedTuple):
    """The hop of a path that reports a cause, and with which severity."""

    hop: str
    severity: Severity


ReportedCauses: TypeAlias = Mapping[tuple[str, Cause], ReportedCause]
"""Id of a check and a cause, mapped to the earlier hop that already reports the cause."""
NONE_REPORTED: Final[ReportedCauses] = {}


class CheckAnswer(NamedTuple):
    """A finding and the causes of all its evidence; the finding itself may hold only a part of the evidence."""

    finding: Finding
    causes: tuple[Cause, ...] = ()


class _Outcome(NamedTuple):
    """Status, summary and reason of a finding."""

    status: Status
    summary: str
    reason: Reason | None = None


def run(checks: Iterable[Check], case: CheckContext) -> tuple[Finding, ...]:
    """One finding for each check that applies to the hop, in the order of the checks."""
    return within_size_limit(tuple(answer(check, case).finding for check in checks if check.applies(case.hop.name)))


def within_size_limit(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings, with texts of evidence cut to EVIDENCE_TEXT, and each with so few rows of it that all together
    stay below EVIDENCE_BYTES."""
    findings = tuple(map(_with_short_texts, findings))
    most = EVIDENCE_KEPT
    while most > 1 and sum(_evidence_size(finding, most) for finding in findings) > EVIDENCE_BYTES:
        most //= 2
    if most == EVIDENCE_KEPT:
        return findings
    return tuple(_cut(finding, most) for finding in findings)


def _evidence_size(finding: Finding, most: int) -> int:
    """The size as JSON of that many rows of evidence, those of later Kubernetes minors included."""
    return sum(len(msgspec.json.encode(rows[:most])) for rows in (finding.evidence, *_later_evidence(finding)))


def _later_evidence(finding: Finding) -> Iterator[tuple[Evidence, ...]]:
    if not isinstance(finding.at_kubernetes, UnsetType):
        yield from (later.evidence for later in finding.at_kubernetes)


def _cut(finding: Finding, most: int) -> Finding:
    later = finding.at_kubernetes
    if not isinstance(later, UnsetType):
        later = tuple(msgspec.structs.replace(one, evidence=one.evidence[:most]) for one in later)
    return msgspec.structs.replace(finding, evidence=finding.evidence[:most], at_kubernetes=later)


def _with_short_texts(finding: Finding) -> Finding:
    rows = tuple(map(_short, finding.evidence))
    return finding if rows == finding.evidence else msgspec.structs.replace(finding, evidence=rows)


def _short(row: Evidence) -> Evidence:
    texts = {"path": row.path, "seen": row.seen, "wanted": row.wanted}
    cut = {name: f"{text[: EVIDENCE_TEXT - 1]}…" for name, text in texts.items() if len(text) > EVIDENCE_TEXT}
    return msgspec.structs.replace(row, **cut) if cut else row


def answer(check: Check, case: CheckContext, *, asked: ReportedCauses = NONE_REPORTED) -> CheckAnswer:
    """The finding of the check. Causes in `asked` are left out, because an earlier hop reports them; if no others
    remain, the result is unknown until the next scan."""
    if made_ahead := _recreating_hop(check, case):
        finding = _finding(check, case, settled=_Outcome("unknown", recreated_at(made_ahead).detail))
        return CheckAnswer(msgspec.structs.replace(finding, asked_at=made_ahead))
    unseen = _unread_part(check, case)
    if unseen:
        return CheckAnswer(_finding(check, case, settled=_Outcome("unknown", unseen.detail, unseen.reason)))
    try:
        all_results = _without_unparsable(check.ask(case), check=check, case=case)
        results = tuple(result for result in all_results if (check.id, cause_of(result)) not in asked)
        evidence = tuple(result for result in results if isinstance(result, Evidence))
        remedies = _remedies(check, case, evidence=evidence) if evidence else _manual_remedies(results)
    except Exception as crash:  # noqa: BLE001 - a crash of a check is a result
        crashed = f"check failed: {type(crash).__name__} in {check.id}"
        return CheckAnswer(_finding(check, case, settled=_Outcome("unknown", crashed)))
    causes = tuple(cause for result in all_results if (cause := cause_of(result)))
    quarantined = _quarantined(check, case)
    reported_already = [asked[check.id, cause] for cause in causes if (check.id, cause) in asked]
    if reported_already and not any(isinstance(result, Evidence | ManualCheck) for result in results):
        finding = _reported_earlier(check, case, reported=reported_already, results=() if quarantined else results)
        return CheckAnswer(finding, causes)
    exact = (
        not quarantined
        and not reported_already
        and not any(isinstance(result, Unknown | LowerBound) for result in results)
    )
    settled = _outcome(check, results, quarantined=quarantined, exact=exact)
    finding = _finding(check, case, settled=settled, evidence=evidence, remedies=remedies, exact=exact)
    if finding.status == "manual":
        finding = msgspec.structs.replace(finding, asks=_question_digests(results))
    return CheckAnswer(finding if quarantined else _capped(finding, results), causes)


def cause_of(result: JudgeResult) -> Cause:
    """The cause of Evidence or a ManualCheck; empty for other results, which require no action."""
    if isinstance(result, Evidence):
        return result.kind, result.namespace, result.name, result.path, result.wanted
    return (result.detail,) if isinstance(result, ManualCheck) else ()


def _question_digests(results: Iterable[JudgeResult]) -> tuple[str, ...]:
    """A digest for each question to a person."""
    questions = (result.detail for result in results if isinstance(result, ManualCheck))
    return tuple(dict.fromkeys(hashlib.sha256(question.encode()).hexdigest()[:16] for question in questions))


def reported_at(hop: str) -> Unknown:
    """The Unknown for a finding whose causes an earlier hop reports."""
    return Unknown(f"The upgrade to {hop} asks for it: unknown until the cluster is scanned again")


def recreated_at(hop: str) -> Unknown:
    """The Unknown for a check that reads objects which an earlier hop recreates."""
    return Unknown(f"The upgrade to {hop} makes these objects anew: unknown until the cluster is scanned again")


def _reported_earlier(
    check: Check, case: CheckContext, *, reported: list[ReportedCause], results: tuple[JudgeResult, ...]
) -> Finding:
    finding = _finding(check, case, settled=_Outcome("unknown", reported_at(reported[0].hop).detail))
    finding = _capped(finding, results)
    lighter = any(WEIGHTS.index(asked_cause.severity) < WEIGHTS.index(finding.severity) for asked_cause in reported)
    return finding if lighter else msgspec.structs.replace(finding, asked_at=reported[0].hop)


def _manual_remedies(results: tuple[JudgeResult, ...]) -> tuple[Remedy, ...]:
    return tuple(remedy for result in results if isinstance(result, ManualCheck) for remedy in result.remedies)


def _recreating_hop(check: Check, case: CheckContext) -> str:
    """The earlier hop that recreates the objects of a part; empty if every part is as scanned."""
    parts = (case.inventory.part(name) for name in check.reads)
    return next((part.detail for part in parts if isinstance(part, Unseen) and part.why == AHEAD), "")


def _unread_part(check: Check, case: CheckContext) -> Unknown | None:
    for name in check.reads:
        part = case.inventory.part(name)
        if isinstance(part, Unseen):
            return could_not_read(name, part)
    return None


def _without_unparsable(results: Iterable[JudgeResult], *, check: Check, case: CheckContext) -> tuple[JudgeResult, ...]:
    """The results without evidence about objects that could not be parsed: it would say that they are absent, but they
    exist."""
    parts = (case.inventory.part(name) for name in check.reads)
    unread = [unparsable for part in parts if isinstance(part, Seen) for unparsable in part.quarantined]
    return tuple(result for result in results if not (isinstance(result, Evidence) and _is_of(result, unread)))


def _is_of(evidence: Evidence, unread: list[UnparsableObject]) -> bool:
    kind = _INVENTORY_KINDS.get(evidence.kind, evidence.kind)
    return any(
        (unparsable.kind, unparsable.name) == (kind, evidence.name) and evidence.namespace in ("", unparsable.namespace)
        for unparsable in unread
    )


def _quarantined(check: Check, case: CheckContext) -> str:
    for name in check.reads:
        part = case.inventory.part(name)
        if not isinstance(part, Unseen) and part.quarantined:
            first = part.quarantined[0]
            return f"{len(part.quarantined)} of {name} could not be read, first {first.name} at {first.field}"
    return ""


def _outcome(check: Check, results: tuple[JudgeResult, ...], *, quarantined: str, exact: bool) -> _Outcome:
    """The status and summary. A failure is certain even if other results are unknown; pass and "not applicable" require
    that every object was parsed, because the one that was not may be affected."""
    rows = tuple(item for item in results if isinstance(item, Evidence))
    if sum(row.count for row in rows):
        return _Outcome("fail", check.headline(rows, exact=exact))
    for kind, status in _STATUSES:
        result = next((item for item in results if isinstance(item, kind)), None)
        if result:
            if quarantined and kind is NotApplicable:
                return _Outcome("unknown", quarantined)
            return _Outcome(status, result.detail, result.reason if isinstance(result, Unknown) else None)
    return _Outcome("unknown", quarantined) if quarantined else _Outcome("pass", check.title)


def _capped(finding: Finding, results: tuple[JudgeResult, ...]) -> Finding:
    """Applies the severity caps. The caller does so only if every object was parsed: an unparsed one could be more
    severe."""
    caps = (result.severity for result in results if isinstance(result, SeverityCap))
    return msgspec.structs.replace(finding, severity=min((finding.severity, *caps), key=WEIGHTS.index))


def _severity(check: Check, case: CheckContext, *, settled: _Outcome) -> Severity:
    if settled.reason is not None and settled.reason.code == "aws_not_asked":
        return check.severity_without_aws(case.hop.name)
    return check.severity_for(case.hop.name)


def _finding(
    check: Check,
    case: CheckContext,
    *,
    settled: _Outcome,
    evidence: tuple[Evidence, ...] = (),
    remedies: tuple[Remedy, ...] = (),
    exact: bool = True,
) -> Finding:
    return Finding(
        id=check.id,
        hop=case.hop.name,
        phase=check.phase,
        title=check.title,
        status=settled.status,
        severity=_severity(check, case, settled=settled),
        why=check.why,
        summary=settled.summary,
        evidence_total=sum(row.count for row in evidence),
        evidence_exact=exact and settled.status != "unknown",
        evidence=tuple(row.for_people() for row in evidence[:EVIDENCE_KEPT]),
        remedies=remedies,
        sources=check.sources,
        reason=settled.reason or UNSET,
    )


def _remedies(check: Check, case: CheckContext, *, evidence: tuple[Evidence, ...]) -> tuple[Remedy, ...]:
    """The check's own remedies, then the karpdash actions that can fix the failure; whether an action is available now
    is decided where its button is shown."""
    names = check.actions(case, evidence) if sum(row.count for row in evidence) else ()
    actions = (Remedy(how="action", text=f"Action {name} of karpdash", action=name) for name in names)
    return (*check.remedies(case, evidence), *actions)
