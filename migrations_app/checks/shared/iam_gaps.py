"""What the checks of permissions have in common: gaps of the controller's roles as words of a check."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from migrations_app.checks.base import CheckContext, Evidence, JudgeResult, SeverityCap, Unknown
from migrations_app.checks.remedies.aws import AWS_NOT_ASKED, NOT_LOOKED_AT
from migrations_app.errors import InvalidInput
from migrations_app.iam.evaluate import RequestVerdict
from migrations_app.iam.requirements.features import minor_of
from migrations_app.iam.requirements.gaps import Gap, GapReport
from migrations_app.iam.requirements.requests import probes_for
from migrations_app.inventory.aws_facts.permissions import (
    NODE_ROLE,
    Permissions,
    RolePolicies,
    features_seen,
    permissions,
)
from migrations_app.inventory.parts import NOT_ASKED, Unseen
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

PROFILE_HOPS = hops_from("0.32")
"""From here on the controller makes instance profiles itself."""
_OF_PROFILES = frozenset({"instance-profile", "pass-role"})
_PASSING = "iam:PassRole"
_CAUSES_SHOWN = 3
_LONGEST = 400
_WORDS = {
    RequestVerdict.MISSING: "not granted",
    RequestVerdict.DENIED: "denied",
    RequestVerdict.BLOCKED_BY_CONDITION: "blocked by a condition",
    RequestVerdict.BLOCKED_BY_RESOURCE: "not granted on this resource",
}
ControllerPolicies = Callable[[Gap], bool]
BOTH = "0.32"
"""The one release in which both generations run; nodes of the older one have to end on it."""
BOTH_HOPS = (BOTH, ALPHA_LEFT)
GapPart = Literal["provisioners", "needs", "profiles"]
"""What a check tells of the gaps: the rights over capacity of Provisioners, those of instance profiles, all others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleGaps:
    """What one role lacks of the needs of a release, as far as one check speaks of it."""

    seen: Permissions
    role: RolePolicies
    report: GapReport

    @property
    def gaps(self) -> tuple[Gap, ...]:
        return (*self.report.gaps, *self.report.legacy_gaps)


def of_profiles(gap: Gap) -> bool:
    """Whether the gap concerns instance profiles and the roles in them, which have a check of their own."""
    return _OF_PROFILES.issuperset(gap.needed_for)


def new_actions(case: CheckContext) -> tuple[str, ...]:
    """The actions that every installation with these settings has to grant anew before the hop, each once.

    With the type of the resource where the release before asks for the action on others.

    Raises InvalidInput for a release whose needs are not known.
    """
    seen = features_seen(case.inventory)

    def asked(release: str) -> dict[tuple[str, str], None]:
        probes = probes_for(minor_of(release))
        return {(probe.action, probe.kind): None for probe in probes if seen.issuperset(probe.features)}

    before = asked(str(case.step.start))
    known = {action for action, _ in before}
    new = (permission for permission in asked(str(case.step.release)) if permission not in before)
    return tuple(dict.fromkeys(f"{action} on {kind}" if action in known else action for action, kind in new))


def lacking(case: CheckContext, part: GapPart) -> tuple[RoleGaps, ...] | Unknown:
    """What each role lacks that the check of this part tells. From 0.32 on profiles and their roles have a check of
    their own. While capacity of Provisioners is there, 0.32 needs the rights over it: asked at the hop after it too,
    for until then it is 0.32 that ends these nodes."""
    apart = case.hop in PROFILE_HOPS
    match part:
        case "needs":
            return lacks(case, mine=lambda gap: not apart or not of_profiles(gap))
        case "profiles":
            return lacks(case, mine=of_profiles) if apart else ()
        case "provisioners":
            return lacks(case, mine=lambda _gap: True, release=BOTH, legacy=True) if legacy_asked(case) else ()


def legacy_asked(case: CheckContext) -> bool:
    """Whether a Provisioner, or a Machine or node of one, is left at a hop where both generations run."""
    seen = case.inventory
    left = seen.provisioners.items or seen.machines.items or case.ownership.by_owner.get("karpenter_alpha")
    return case.hop in BOTH_HOPS and bool(left)


def lacks(
    case: CheckContext, *, mine: ControllerPolicies, release: str = "", legacy: bool = False
) -> tuple[RoleGaps, ...] | Unknown:
    """What each role lacks of what is always needed, for the release of the hop unless another is named.

    With `legacy` it is what capacity of Provisioners needs, and nothing else.
    """
    seen = permissions(case.inventory)
    if isinstance(seen, Unseen):
        return Unknown(f"the controller's permissions could not be read: {_unread_text(seen)}")
    try:
        reports = seen.reports(release or str(case.step.release))
    except InvalidInput as error:
        return Unknown(str(error))
    return tuple(
        RoleGaps(seen=seen, role=policies, report=_narrowed(report, mine, legacy=legacy))
        for policies, report in reports
    )


def _unread_text(part: Unseen) -> str:
    return part.why + (f" ({part.detail})" if part.detail else "")


def _narrowed(report: GapReport, in_scope: ControllerPolicies, *, legacy: bool) -> GapReport:
    gaps = tuple(gap for gap in report.gaps if not legacy and gap.required == "always" and in_scope(gap))
    old = tuple(gap for gap in report.legacy_gaps if legacy and gap.required == "always" and in_scope(gap))
    return replace(report, gaps=gaps, legacy_gaps=old)


def words(gaps_of_roles: tuple[RoleGaps, ...] | Unknown) -> Iterator[JudgeResult]:
    """A word for each gap: evidence of a clear refusal, else why it cannot be told."""
    if isinstance(gaps_of_roles, Unknown):
        yield gaps_of_roles
        return
    for lack in gaps_of_roles:
        yield from (_word(lack, gap) for gap in lack.gaps)


def weighed(gaps_of_roles: tuple[RoleGaps, ...] | Unknown, *, doubts: Iterable[JudgeResult]) -> Iterator[JudgeResult]:
    """The results for all gaps and these doubts; a warning at most if the controller works without what is refused."""
    more = tuple(doubts)
    yield from words(gaps_of_roles)
    yield from more
    gaps = [gap for lack in gaps_of_roles for gap in lack.gaps] if isinstance(gaps_of_roles, tuple) else []
    light = all(isinstance(result, Unknown) and result.reason == AWS_NOT_ASKED for result in more)
    if gaps and light and all(gap.severity == "degraded" for gap in gaps):
        yield SeverityCap("warning")


def _word(lack: RoleGaps, gap: Gap) -> JudgeResult:
    if doubt := _doubt(lack.seen, gap):
        return Unknown(f"{_action(gap)}: {doubt}"[:_LONGEST])
    return Evidence(
        kind="IAM role" if lack.role.role.arn else "IAM policies",
        name=name_of(lack.role),
        path=_action(gap),
        seen=f"{_WORDS[gap.verdict]}: {'; '.join(gap.causes[:_CAUSES_SHOWN])}"[:_LONGEST],
        wanted=" ".join(_reasons(gap)),
    )


def _action(gap: Gap) -> str:
    """The action and the kinds of resources that this cluster asks for; a gap lists those of rare settings as well."""
    return f"{gap.action} on {', '.join(sorted({refusal.probe.kind for refusal in gap.refusals if refusal.applies}))}"


def _reasons(gap: Gap) -> Iterator[str]:
    yield f"allowed, for {', '.join(gap.needed_for)}."
    yield gap.effect
    yield from (f"The controller logs: {log}." for log in gap.logs)


def name_of(policies: RolePolicies) -> str:
    """The name of the role, or the names of the documents if they were uploaded without a role."""
    if policies.role.arn:
        return policies.role.arn.rpartition("/")[2]
    return ", ".join(policy.name for policy in policies.policies)[:200] or "none"


def _doubt(seen: Permissions, gap: Gap) -> str:
    """Why a gap is none for certain; empty where it is. A refusal that hangs on names needs that they were told."""
    if gap.verdict is RequestVerdict.UNKNOWN:
        return gap.causes[0]
    if gap.verdict is RequestVerdict.MISSING:
        return ""
    untold = [name for name in seen.untold if _concerns(name, gap.action)]
    return f"nothing tells the {' and the '.join(untold)} ({gap.causes[0]})" if untold else ""


def _concerns(name: str, action: str) -> bool:
    if name == NODE_ROLE:
        return action == _PASSING
    return name != "queue" or action.startswith("sqs:")


def unknown_node_roles(case: CheckContext, gaps_of_roles: tuple[RoleGaps, ...] | Unknown) -> Iterator[JudgeResult]:
    """A doubt if the roles of nodes are not known: that iam:PassRole covers them then proves nothing."""
    unasked = case.inventory.aws.node_roles == NOT_ASKED
    hint = f". {NOT_LOOKED_AT}" if unasked else ""
    role_gaps = gaps_of_roles if isinstance(gaps_of_roles, tuple) else ()
    for lack in role_gaps:
        lacking = any(gap.action == _PASSING for gap in lack.gaps)
        if NODE_ROLE in lack.seen.untold and not lacking:
            yield Unknown(f"{_PASSING}: nothing tells the {NODE_ROLE}{hint}", AWS_NOT_ASKED if unasked else None)
            return


def contradicted(case: CheckContext) -> Iterator[JudgeResult]:
    """A doubt for each request of the hop's release that AWS itself refuses though the documents allow it."""
    try:
        probe_ids = {probe.id for probe in probes_for(minor_of(str(case.step.release)))}
    except InvalidInput:
        return
    for row in case.inventory.aws.disagreements:
        if row.ours == RequestVerdict.ALLOWED and probe_ids & set(row.probes):
            because = f", {row.because}" if row.because else ""
            yield Unknown(
                f"{row.action} on {row.resource}: the documents allow it and SimulatePrincipalPolicy says"
                f" {row.theirs}{because}: look for a policy of the organization"[:_LONGEST]
            )
