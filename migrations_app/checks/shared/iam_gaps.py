"""Turns gaps in the IAM permissions of the controller's roles into results of the IAM checks."""

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
from migrations_app.iam.requirements.required_request import RequiredRequest
from migrations_app.inventory.aws_facts.permissions import (
    ACCOUNT,
    CLUSTER_NAME,
    NODE_ROLE,
    Permissions,
    RolePolicies,
    features_seen,
    permissions,
)
from migrations_app.inventory.parts import NOT_ASKED, Unseen
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

PROFILE_HOPS = hops_from("0.32")
"""From this hop on, the controller creates instance profiles itself."""
_OF_PROFILES = frozenset({"instance-profile", "pass-role"})
_PASSING = "iam:PassRole"
_SET_TAGS = frozenset({"ec2:CreateTags", "iam:TagInstanceProfile"})
_CAUSES_SHOWN = 3
_MAX_TEXT_LENGTH = 400
_WORDS = {
    RequestVerdict.MISSING: "not granted",
    RequestVerdict.DENIED: "denied",
    RequestVerdict.BLOCKED_BY_CONDITION: "blocked by a condition",
    RequestVerdict.BLOCKED_BY_RESOURCE: "not granted on this resource",
}
GapFilter = Callable[[Gap], bool]
MIXED_RELEASE = "0.32"
"""The only release that runs both generations; nodes of the older generation have to be terminated while it runs."""
MIXED_HOPS = (MIXED_RELEASE, ALPHA_LEFT)
GapPart = Literal["provisioners", "needs", "profiles"]
"""The gaps that one check reports: permissions for capacity of Provisioners, permissions for instance profiles, or all
others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleGaps:
    """What one role lacks for a release, limited to the gaps that one check reports."""

    seen: Permissions
    role: RolePolicies
    report: GapReport

    @property
    def gaps(self) -> tuple[Gap, ...]:
        return (*self.report.gaps, *self.report.legacy_gaps)


def is_about_profiles(gap: Gap) -> bool:
    """Whether the gap is only about instance profiles and their roles, which a separate check reports."""
    return _OF_PROFILES.issuperset(gap.needed_for)


def new_actions(case: CheckContext) -> tuple[str, ...]:
    """The actions that every installation with these settings has to grant in addition before the hop, each once.

    If the release before needs the action on other resource types only, the resource type is added; if it tags
    without some of the keys, those keys, for policies list the keys that may be set. Raises InvalidInput for a release
    whose needs are unknown.
    """
    before, after = _probes(case, str(case.hop.start)), _probes(case, str(case.hop.release))
    known = {(probe.action, probe.kind) for probe in before}
    known_actions = {probe.action for probe in before}
    new = [probe for probe in after if (probe.action, probe.kind) not in known]
    named = (f"{probe.action} on {probe.kind}" if probe.action in known_actions else probe.action for probe in new)
    keys = {action: _tag_keys(after, action) - _tag_keys(before, action) for action in _SET_TAGS & known_actions}
    tagging = (f"{action} with {' and '.join(sorted(keys[action]))}" for action in sorted(keys) if keys[action])
    return tuple(dict.fromkeys((*named, *tagging)))


def _probes(case: CheckContext, release: str) -> tuple[RequiredRequest, ...]:
    features = features_seen(case.inventory)
    return tuple(probe for probe in probes_for(minor_of(release)) if features.issuperset(probe.features))


def _tag_keys(probes: Iterable[RequiredRequest], action: str) -> set[str]:
    return {key for probe in probes if probe.action == action for key, _ in probe.request_tags or ()}


def gaps_for_part(case: CheckContext, part: GapPart) -> tuple[RoleGaps, ...] | Unknown:
    """For each role, the gaps that the check of this part reports. From 0.32 on, a separate check reports instance
    profiles and their roles. While capacity of Provisioners exists, 0.32 needs permissions for it; the hop after 0.32
    checks them too, because until then 0.32 terminates those nodes."""
    profiles_apart = case.hop.name in PROFILE_HOPS
    match part:
        case "needs":
            return gaps_by_role(case, accepts=lambda gap: not profiles_apart or not is_about_profiles(gap))
        case "profiles":
            return gaps_by_role(case, accepts=is_about_profiles) if profiles_apart else ()
        case "provisioners":
            return (
                gaps_by_role(case, accepts=lambda _gap: True, release=MIXED_RELEASE, legacy=True)
                if has_legacy_capacity(case)
                else ()
            )


def has_legacy_capacity(case: CheckContext) -> bool:
    """Whether a Provisioner, or a Machine or node of one, exists at a hop with both generations."""
    inventory = case.inventory
    capacity = (
        inventory.provisioners.items or inventory.machines.items or case.ownership.by_owner.get("karpenter_alpha")
    )
    return case.hop.name in MIXED_HOPS and bool(capacity)


def gaps_by_role(
    case: CheckContext, *, accepts: GapFilter, release: str = "", legacy: bool = False
) -> tuple[RoleGaps, ...] | Unknown:
    """For each role, the gaps that are always needed and that `accepts` accepts, for `release` or the target version of
    the hop.

    With `legacy`, only the gaps for capacity of Provisioners.
    """
    granted = permissions(case.inventory)
    if isinstance(granted, Unseen):
        return Unknown(f"the controller's permissions could not be read: {granted.full_reason}")
    try:
        reports = granted.reports(release or str(case.hop.release))
    except InvalidInput as error:
        return Unknown(str(error))
    return tuple(
        RoleGaps(seen=granted, role=policies, report=_narrowed(report, accepts, legacy=legacy))
        for policies, report in reports
    )


def _narrowed(report: GapReport, in_scope: GapFilter, *, legacy: bool) -> GapReport:
    gaps = tuple(gap for gap in report.gaps if not legacy and gap.required == "always" and in_scope(gap))
    legacy_gaps = tuple(gap for gap in report.legacy_gaps if legacy and gap.required == "always" and in_scope(gap))
    return replace(report, gaps=gaps, legacy_gaps=legacy_gaps)


def gap_results(gaps_of_roles: tuple[RoleGaps, ...] | Unknown) -> Iterator[JudgeResult]:
    """One result for each gap: Evidence for a certain refusal, otherwise Unknown with the reason."""
    if isinstance(gaps_of_roles, Unknown):
        yield gaps_of_roles
        return
    for role_gaps in gaps_of_roles:
        yield from (_gap_result(role_gaps, gap) for gap in role_gaps.gaps)


def capped_results(
    gaps_of_roles: tuple[RoleGaps, ...] | Unknown, *, doubts: Iterable[JudgeResult]
) -> Iterator[JudgeResult]:
    """The results of `gap_results` and the given `doubts`; capped to a warning if the controller works without
    everything that is refused."""
    more = tuple(doubts)
    yield from gap_results(gaps_of_roles)
    yield from more
    gaps = [gap for role_gaps in gaps_of_roles for gap in role_gaps.gaps] if isinstance(gaps_of_roles, tuple) else []
    light = all(isinstance(result, Unknown) and result.reason == AWS_NOT_ASKED for result in more)
    if gaps and light and all(gap.severity == "degraded" for gap in gaps):
        yield SeverityCap("warning")


def _gap_result(role_gaps: RoleGaps, gap: Gap) -> JudgeResult:
    if doubt := _doubt(role_gaps, gap):
        return Unknown(f"{_action(gap)}: {doubt}"[:_MAX_TEXT_LENGTH])
    return Evidence(
        kind="IAM role" if role_gaps.role.role.arn else "IAM policies",
        name=name_of(role_gaps.role),
        path=_action(gap),
        seen=f"{_WORDS[gap.verdict]}: {'; '.join(gap.causes[:_CAUSES_SHOWN])}"[:_MAX_TEXT_LENGTH],
        wanted=" ".join(_reasons(gap)),
    )


def _action(gap: Gap) -> str:
    """The action and the resource types that this cluster needs; a gap also lists those of rare settings."""
    return f"{gap.action} on {', '.join(sorted({refusal.probe.kind for refusal in gap.refusals if refusal.applies}))}"


def _reasons(gap: Gap) -> Iterator[str]:
    yield f"allowed, for {', '.join(gap.needed_for)}."
    if gap.boundary == "refused":
        yield "The permissions boundary refuses it and has to be extended as well."
    yield gap.effect
    yield from (f"The controller logs: {log}." for log in gap.logs)


def name_of(policies: RolePolicies) -> str:
    """The name of the role; for documents uploaded without a role, their names."""
    if policies.role.arn:
        return policies.role.arn.rpartition("/")[2]
    return ", ".join(policy.name for policy in policies.policies)[:200] or "none"


def _doubt(role_gaps: RoleGaps, gap: Gap) -> str:
    """Why the gap is uncertain; empty if it is certain. A refusal that depends on names is certain only if those names
    are known, or if it stays whichever account the cluster is in."""
    granted = role_gaps.seen
    if gap.verdict is RequestVerdict.UNKNOWN:
        return gap.causes[0]
    if _is_guess(granted, gap):
        return f"nothing tells whether {gap.when} ({gap.causes[0]})"
    if gap.verdict is RequestVerdict.MISSING:
        return ""
    untold = [name for name in granted.untold if _concerns(name, gap.action)]
    release = role_gaps.report.release
    if untold == [ACCOUNT] and granted.refused_in_every_account(role_gaps.role, gap.action, release=release):
        return ""
    return f"nothing tells the {' and the '.join(untold)} ({gap.causes[0]})" if untold else ""


def _is_guess(granted: Permissions, gap: Gap) -> bool:
    """Whether the gap applies only because what would show its setting was not read."""
    needed = [refusal.probe for refusal in gap.refusals if refusal.applies]
    return bool(needed) and all(not granted.guessed.isdisjoint(probe.features) for probe in needed)


def _concerns(name: str, action: str) -> bool:
    if name == NODE_ROLE:
        return action == _PASSING
    return name != "queue" or action.startswith("sqs:")


def unknown_node_roles(case: CheckContext, gaps_of_roles: tuple[RoleGaps, ...] | Unknown) -> Iterator[JudgeResult]:
    """An Unknown if the node roles are unknown: then it is unknown whether iam:PassRole covers them."""
    unasked = case.inventory.aws.node_roles == NOT_ASKED
    hint = f". {NOT_LOOKED_AT}" if unasked else ""
    all_gaps = gaps_of_roles if isinstance(gaps_of_roles, tuple) else ()
    for role_gaps in all_gaps:
        is_refused = any(gap.action == _PASSING for gap in role_gaps.gaps)
        if NODE_ROLE in role_gaps.seen.untold and not is_refused:
            yield Unknown(f"{_PASSING}: nothing tells the {NODE_ROLE}{hint}", AWS_NOT_ASKED if unasked else None)
            return


def allowed_by_name(gaps_of_roles: tuple[RoleGaps, ...] | Unknown) -> Iterator[JudgeResult]:
    """An Unknown for each role if nothing tells the cluster's name and actions are allowed only for the cluster that
    the policies name: it may be another one."""
    for role_gaps in gaps_of_roles if isinstance(gaps_of_roles, tuple) else ():
        seen, release = role_gaps.seen, role_gaps.report.release
        if CLUSTER_NAME not in seen.untold:
            continue
        another = replace(seen, site=replace(seen.site, cluster=f"not-{seen.site.cluster}"))
        refused, elsewhere = (
            {gap.action for gap in one.report(role_gaps.role, release).gaps if gap.required == "always"}
            for one in (seen, another)
        )
        if actions := sorted(elsewhere - refused):
            why = f"allowed for the cluster {seen.site.cluster}, and nothing tells the {CLUSTER_NAME}"
            yield Unknown(f"{', '.join(actions)}: {why}"[:_MAX_TEXT_LENGTH])


def contradictions(case: CheckContext) -> Iterator[JudgeResult]:
    """An Unknown for each request of the target version that the policy documents allow but AWS itself refuses."""
    try:
        probe_ids = {probe.id for probe in probes_for(minor_of(str(case.hop.release)))}
    except InvalidInput:
        return
    for row in case.inventory.aws.disagreements:
        if row.ours == RequestVerdict.ALLOWED and probe_ids & set(row.probes):
            because = f", {row.because}" if row.because else ""
            yield Unknown(
                f"{row.action} on {row.resource}: the documents allow it and SimulatePrincipalPolicy says"
                f" {row.theirs}{because}: look for a policy of the organization"[:_MAX_TEXT_LENGTH]
            )
