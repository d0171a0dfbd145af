"""The requests of a release that a set of policies refuses, one entry for each action."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Annotated, Any, Literal

from msgspec import Meta

from migrations_app.iam.evaluate import Evaluation, IamRequest, RequestVerdict, evaluate
from migrations_app.iam.policy import IamPolicy, filled
from migrations_app.iam.requirements.features import ASSUMED, MEANING, Feature, Minor, Need, minor_of
from migrations_app.iam.requirements.needs import NEEDS, need_for
from migrations_app.iam.requirements.requests import PROBES, probes_for
from migrations_app.iam.requirements.required_request import RequestSeverity, RequiredRequest
from migrations_app.iam.site import AwsSite
from migrations_app.karpenter.releases import RELEASES, Table

SCHEMA = "karpdash/iam/v1"
RequiredAction = Literal["always", "conditional"]
BoundaryAnswer = Literal["", "refused", "unknown"]
"""Whether the permissions boundary refuses it, too; empty if it does not, or without one."""

# If an action has several refusals, the first of these verdicts names the entry.
_WORST_FIRST = (
    RequestVerdict.DENIED,
    RequestVerdict.MISSING,
    RequestVerdict.BLOCKED_BY_CONDITION,
    RequestVerdict.BLOCKED_BY_RESOURCE,
    RequestVerdict.UNKNOWN,
)


@dataclass(frozen=True, kw_only=True)
class RefusedRequest:
    """One request that is not clearly allowed. `applies` is False if it depends on a setting that is not assumed."""

    probe: RequiredRequest
    request: IamRequest
    answer: Evaluation
    applies: bool

    @property
    def is_closed(self) -> bool:
        """Whether a policy that closes the gap allows it. Snapshots are allowed beside the other resources of a launch,
        as official policies do, though few node classes name one.
        """
        return self.applies or self.probe.features == (Feature.SNAPSHOTS,)

    @property
    def no_statement_lifts(self) -> bool:
        """Whether no added statement lifts it: a Deny applies, or it is not known whether one does."""
        statement, verdict = self.answer.statement, self.answer.verdict
        doubtful_deny = verdict is RequestVerdict.UNKNOWN and statement is not None and not statement.allow
        return doubtful_deny or verdict is RequestVerdict.DENIED


@dataclass(frozen=True, kw_only=True)
class Gap:
    """All refusals of one action. `resource` lists the resource types; `when` is empty if the action is needed on all
    of them whatever the settings are. `required` is "always" also if `when` names settings that are assumed.
    """

    action: str
    resource: Annotated[tuple[str, ...], Meta(description="Types of the resources for which it is refused.")]
    verdict: RequestVerdict
    required: RequiredAction
    when: str
    needed_for: tuple[str, ...]
    effect: str
    severity: RequestSeverity
    causes: tuple[str, ...]
    logs: tuple[str, ...]
    refusals: tuple[RefusedRequest, ...]
    boundary: Annotated[
        BoundaryAnswer, Meta(description="`refused` if the permissions boundary has to be extended as well.")
    ] = ""

    @property
    def is_closable(self) -> bool:
        """Whether an added statement lifts a refusal of it."""
        return any(refusal.is_closed and not refusal.no_statement_lifts for refusal in self.refusals)

    def as_json(self) -> dict[str, Any]:
        """The entry in the format of the command, the API and snapshots."""
        return {
            "action": self.action,
            "resource": list(self.resource),
            "verdict": self.verdict.value,
            "required": self.required,
            "when": self.when,
            "needed_for": list(self.needed_for),
            "effect": f"{self.effect} Cause: {self.causes[0]}.",
            "boundary": self.boundary,
        }


@dataclass(frozen=True, kw_only=True)
class GapReport:
    """What the policies lack for a release. `legacy_gaps` concern capacity that Provisioners own."""

    release: str
    minor: Minor
    gaps: tuple[Gap, ...]
    legacy_gaps: tuple[Gap, ...]

    @property
    def ok(self) -> bool:
        return all(gap.required != "always" for gap in self.gaps)

    def as_json(self) -> dict[str, Any]:
        """The report in the format `karpdash/iam/v1`."""
        return {
            "schema": SCHEMA,
            "release": self.release,
            "gaps": [gap.as_json() for gap in self.gaps],
            "legacy_gaps": [gap.as_json() for gap in self.legacy_gaps],
            "ok": self.ok,
        }


@dataclass(frozen=True, kw_only=True)
class Tables:
    """The tables that define the needs of a release; tests pass others to add a future release."""

    releases: Table = RELEASES
    probes: tuple[RequiredRequest, ...] = PROBES
    needs: tuple[Need, ...] = NEEDS


KNOWN = Tables()


def find_gaps(
    policies: Iterable[IamPolicy],
    *,
    release: str,
    site: AwsSite,
    assumed: frozenset[Feature] = ASSUMED,
    boundary: Sequence[IamPolicy] | None = None,
    tables: Tables = KNOWN,
) -> GapReport:
    """What the policies refuse of the needs of `release`. In 0.32 Provisioners and NodePools are
    evaluated separately.
    """
    minor = minor_of(release, table=tables.releases)
    judged = tuple(filled(policy, site) for policy in policies)
    limit = None if boundary is None else tuple(filled(policy, site) for policy in boundary)
    refusals = tuple(
        RefusedRequest(probe=probe, request=request, answer=answer, applies=assumed.issuperset(probe.features))
        for probe in probes_for(minor, table=tables.probes)
        if site.assume_role_arn or Feature.ASSUME_ROLE not in probe.features
        for request, answer in _answers(probe, site, minor=minor, policies=judged, boundary=limit)
        if answer.verdict is not RequestVerdict.ALLOWED
    )
    legacy = tuple(refusal for refusal in refusals if minor == (0, 32) and refusal.probe.mode == "provisioner")
    current = tuple(refusal for refusal in refusals if refusal not in legacy)
    return GapReport(
        release=release.strip().removeprefix("v"),
        minor=minor,
        gaps=_by_action(current, minor, needs=tables.needs),
        legacy_gaps=_by_action(legacy, minor, needs=tables.needs),
    )


def _answers(
    probe: RequiredRequest,
    site: AwsSite,
    *,
    minor: Minor,
    policies: Sequence[IamPolicy],
    boundary: Sequence[IamPolicy] | None,
) -> tuple[tuple[IamRequest, Evaluation], ...]:
    """Each request of the row with its evaluation. Where the SSM parameters of the cluster are not known and only some
    of those that stand in are allowed, the others are "cannot tell".
    """
    answers = tuple((request, _answer(request, policies, boundary=boundary)) for request in probe.requests(site, minor))
    standing_in = probe.kind == "parameter" and not site.parameters
    if not standing_in or all(answer.verdict is not RequestVerdict.ALLOWED for _, answer in answers):
        return answers
    return tuple((request, _if_that_family(answer)) for request, answer in answers)


def _if_that_family(answer: Evaluation) -> Evaluation:
    if answer.verdict is RequestVerdict.ALLOWED:
        return answer
    because = f"{answer.because}; it is needed if node classes use images of that family"
    return replace(answer, verdict=RequestVerdict.UNKNOWN, because=because)


def _answer(request: IamRequest, policies: Sequence[IamPolicy], *, boundary: Sequence[IamPolicy] | None) -> Evaluation:
    """The evaluation, or "cannot tell" if AWS names a resource in its refusal although its reference lists none.

    Source: kubernetes/kops#17854 (iam:ListInstanceProfiles refused on an instance-profile path).
    """
    answer = evaluate(request, policies, boundary=boundary)
    if request.action != "iam:ListInstanceProfiles" or answer.verdict is not RequestVerdict.BLOCKED_BY_RESOURCE:
        return answer
    return replace(answer, verdict=RequestVerdict.UNKNOWN, because=f"{answer.because}; it should be granted on *")


def _by_action(refusals: Iterable[RefusedRequest], minor: Minor, *, needs: tuple[Need, ...]) -> tuple[Gap, ...]:
    ordered = sorted(refusals, key=lambda request: request.probe.action)
    gaps = [
        _gap(tuple(group), minor, needs=needs)
        for _, group in groupby(ordered, key=lambda request: request.probe.action)
    ]
    return tuple(sorted(gaps, key=lambda gap: (gap.required, gap.action)))


def _gap(refusals: tuple[RefusedRequest, ...], minor: Minor, *, needs: tuple[Need, ...]) -> Gap:
    needed = tuple(refusal for refusal in refusals if refusal.applies) or refusals
    leading = sorted(needed, key=lambda request: _WORST_FIRST.index(request.answer.verdict))
    rows = [
        need_for(
            request.probe.action,
            minor,
            existing=_on_existing(request.probe),
            request=request.probe.id,
            table=needs,
        )
        for request in needed
    ]
    return Gap(
        action=refusals[0].probe.action,
        resource=tuple(sorted({refusal.probe.kind for refusal in refusals})),
        verdict=leading[0].answer.verdict,
        required="always" if needed[0].applies else "conditional",
        when=_when(refusals, needed),
        needed_for=tuple(sorted({request.probe.capability for request in needed})),
        effect=" ".join(dict.fromkeys(row.effect for row in rows)),
        severity=min(request.probe.severity for request in needed),
        causes=tuple(dict.fromkeys(request.answer.because for request in leading)),
        logs=tuple(dict.fromkeys(row.log for row in rows if row.log)),
        refusals=refusals,
        boundary=boundary_answer(request.answer for request in needed),
    )


def boundary_answer(answers: Iterable[Evaluation]) -> BoundaryAnswer:
    """What the permissions boundary says to these requests together: refused if it refuses one of them."""
    limits = {answer.boundary for answer in answers} - {None}
    if not limits:
        return ""
    return "unknown" if limits == {RequestVerdict.UNKNOWN} else "refused"


def _on_existing(probe: RequiredRequest) -> bool:
    return probe.action == "ec2:CreateTags" and not probe.on_creation


_ONLY_WHEN = " only when "


def depends_on_settings(when: str) -> bool:
    """Whether the action itself depends on the settings that `Gap.when` names, and not only a type of resource."""
    return bool(when) and _ONLY_WHEN not in when.partition("; ")[0]


def _when(refusals: tuple[RefusedRequest, ...], needed: tuple[RefusedRequest, ...]) -> str:
    """The settings on which the entry depends; empty if some refusal depends on none and no other is rarer."""
    parts = []
    if all(request.probe.features for request in needed):
        parts.append("; ".join(_meanings(needed)))
    rarer = [refusal for refusal in refusals if refusal not in needed]
    parts += [
        f"{kind}{_ONLY_WHEN}{' or '.join(_meanings(request for request in rarer if request.probe.kind == kind))}"
        for kind in sorted({request.probe.kind for request in rarer} - {request.probe.kind for request in needed})
    ]
    return "; ".join(parts)


def _meanings(refusals: Iterable[RefusedRequest]) -> list[str]:
    return list(
        dict.fromkeys(" and ".join(MEANING[feature] for feature in refusal.probe.features) for refusal in refusals)
    )
