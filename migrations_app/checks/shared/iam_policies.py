"""Remedies that close IAM gaps of the controller's role: policies to add, and what may be removed after the upgrade."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from msgspec import UNSET, UnsetType, structs

from migrations_app.checks.base import CheckContext, Remedy, RemedyTool
from migrations_app.checks.changes import Change, IamStatements, PersonTask, group
from migrations_app.checks.remedies.commands import in_aws
from migrations_app.checks.remedies.observations import read_command
from migrations_app.checks.render import aws_cli, cloudformation, terraform
from migrations_app.checks.render.aws_cli import compact
from migrations_app.checks.shared.iam_gaps import GapPart, RoleGaps, gaps_for_part, name_of
from migrations_app.checks.shared.iam_room import (
    PlacedPolicies,
    PlacedPolicy,
    PolicyPart,
    allowed_with,
    filled_to,
    of_release,
    placed_policies,
)
from migrations_app.checks.shell import note
from migrations_app.errors import InvalidInput
from migrations_app.iam.policy import IamPolicy
from migrations_app.iam.requirements.output import NEWEST_MODULE, PolicyRemedy, boundary_remarks, removal_lines
from migrations_app.iam.requirements.output import remedy as policy_remedy
from migrations_app.iam.requirements.remedies import INLINE_LIMIT, MANAGED_LIMIT, removable, size_of
from migrations_app.inventory.aws_facts.instances import InstanceRequestAnswer
from migrations_app.inventory.aws_facts.permissions import MAX_ATTACHED, Permissions, RolePolicies
from migrations_app.inventory.facts.controller import installation
from migrations_app.inventory.facts.managers import Managed
from migrations_app.inventory.objects.cluster_arn import read_role_arn
from migrations_app.karpenter.hops import ALPHA_LEFT, CONVERTED
from migrations_app.manifests import JsonMap

BY_TERRAFORM = Managed("terraform")
MODULES = (NEWEST_MODULE, "20.37.2")
"""Versions of the Terraform EKS module to write for; from 21 on, the blocks of statements have other names."""
_KEEP = {
    "0.32": "Keep what the role has until no node of a Provisioner is left: 0.32 needs both.",
    ALPHA_LEFT: "Keep what the role has: the document of 0.33 alone refuses spot launches of 0.32.",
    CONVERTED: "Keep what the role has while a rollback is wanted: the document of 1.0 alone refuses every launch"
    " of 0.33 to 0.37.",
}
_KEEP_OTHERWISE = "Keep what the role has until the new release has proven itself."
_BY_PREFIX = re.compile(r"-\d{18}[0-9a-f]{8}", re.ASCII)
"""The suffix of a name that Terraform made from a prefix: a time stamp and a counter."""
_REMOVALS_SHOWN = 15
QUOTA = "L-0DA4ABF3"
"""Code of the quota for managed policies attached to an IAM role; 10 unless AWS raised it, at most 20."""
_QUOTA_MOST = 20


def closing_remedies(case: CheckContext, part: GapPart) -> Iterator[Remedy]:
    """Remedies for each role with gaps of this part: the steps, the smallest policy, and the same as code; those for
    the tool in use come first. `part` is in the names of new policies, so that no two checks propose the same
    policy."""
    gaps_of_roles, placed = gaps_for_part(case, part), placed_policies(case)
    for role_gaps in gaps_of_roles if isinstance(gaps_of_roles, tuple) else ():
        if role_gaps.gaps:
            arn = role_gaps.role.role.arn
            role_documents = placed.get((arn, part), ())
            tidies = next((gap_part for role, gap_part in placed if role == arn), part) == part
            yield from _tool_first(
                _tool(case, role_gaps.role), _of_role(case, role_gaps, placed=role_documents, tidies=tidies)
            )


def _tool_first(tool: RemedyTool, remedies: Iterable[Remedy]) -> Iterator[Remedy]:
    yield from sorted(remedies, key=lambda remedy: remedy.how != tool)


def _tool(case: CheckContext, role: RolePolicies) -> RemedyTool:
    """The tool that manages the role, guessed from names that Terraform generates and from the tool that manages the
    controller."""
    names = (name_of(role), *(policy.name for policy in role.policies))
    controller = installation(case.inventory)
    by_terraform = (controller and controller.managed.by == "terraform") or any(map(_BY_PREFIX.search, names))
    return "terraform" if by_terraform else "iam"


def _of_role(
    case: CheckContext, role_gaps: RoleGaps, *, placed: Sequence[PlacedPolicy], tidies: bool
) -> Iterator[Remedy]:
    """The remedies for one role. With `tidies` they also say what may be removed afterwards; only one part of a hop
    does that."""
    closed = policy_remedy(role_gaps.report, role_gaps.seen.site, policies=role_gaps.role.policies)
    try:
        closed.documents()
    except InvalidInput as error:
        yield _iam(_comments([f"no document can be proposed: {error}"]))
        return
    limits = closed.boundary_remarks()
    change = _attach_placed(role_gaps.role, role_gaps.seen, placed=placed, notes=limits) if placed else UNSET
    after = _removable_later(case, role_gaps, closed=closed) if tidies and placed else ()
    steps = (*_steps(case, role_gaps, closed=closed, change=change), *after)
    yield _iam("\n".join(filter(None, steps)), change)
    if isinstance(change, UnsetType):
        return
    yield from (_iam(json.dumps(policy.document, indent=2), change) for policy in placed)
    yield from _as_code(role_gaps, change, closed=closed)
    if _tool(case, role_gaps.role) == "terraform":
        for version in MODULES:
            code = terraform.with_apply(closed.text("module", version=version))
            yield Remedy(how="terraform", text=code, change=change)


def _as_code(role_gaps: RoleGaps, change: Change, *, closed: PolicyRemedy) -> Iterator[Remedy]:
    """The policies as CloudFormation and Terraform; the role is a parameter if its name is unknown."""
    named = bool(role_gaps.role.role.arn)
    template = cloudformation.text(change) if named else closed.text("cloudformation")
    if template:
        yield _iam(template, change)
    code = terraform.text(change, BY_TERRAFORM) if named else terraform.with_apply(closed.text("terraform"))
    if code:
        yield Remedy(how="terraform", text=code, change=change)


def _iam(text: str, change: Change | UnsetType = UNSET) -> Remedy:
    return Remedy(how="iam", text=text, change=change)


def _steps(
    case: CheckContext, role_gaps: RoleGaps, *, closed: PolicyRemedy, change: Change | UnsetType
) -> Iterator[str]:
    """The steps as commands and comments: add the policies, and keep the existing ones during the upgrade."""
    yield _comments([*_missing_names(role_gaps, closed), *_unfixable(closed)])
    if not isinstance(change, UnsetType):
        keep = _KEEP.get(case.hop.name, _KEEP_OTHERWISE)
        yield _comments(["Before the upgrade, beside the policies that the role has: allows of several add up.", keep])
        yield aws_cli.text(change)


def _missing_names(role_gaps: RoleGaps, closed: PolicyRemedy) -> list[str]:
    """A comment for each placeholder in the documents whose real name is unknown."""
    written = json.dumps(closed.documents())
    return [
        f"nothing tells the {name}: put it right in the documents before they are used"
        for name in role_gaps.seen.untold
        if any(value in written for value in role_gaps.seen.named(name))
    ]


def _unfixable(closed: PolicyRemedy) -> list[str]:
    rows = (
        f"{refusal.probe.action}: no added statement helps, {refusal.answer.because}"
        for refusal in closed.added.not_closed
    )
    return list(dict.fromkeys(rows))


def _attach_placed(
    role: RolePolicies, seen: Permissions, *, placed: Sequence[PlacedPolicy], notes: tuple[str, ...] = ()
) -> Change:
    """Attaches the policies to the role; a manual task for those that exceed its quotas. The first step has `notes`."""
    unplaced = [policy for policy in placed if policy.place == "none"]
    fits = [_attach_policy(role.role.arn, policy) for policy in placed if policy.place != "none"]
    steps: list[Change] = [*fits, *([_make_room(role, seen, policies=unplaced)] if unplaced else [])]
    first, *others = steps
    return group(structs.replace(first, notes=(*notes, *first.notes)), *others)


def _attach_policy(role: str, one: PlacedPolicy) -> IamStatements:
    statements, inline = tuple(one.document["Statement"]), one.place == "inline"
    undo = IamStatements(role=role, policy=one.name, statements=statements, inline=inline, removed=True)
    done = f"the role has {one.name}"
    return IamStatements(
        role=role, policy=one.name, statements=statements, inline=inline, undo=undo, done=done,
    )  # fmt: skip


def _make_room(role: RolePolicies, seen: Permissions, *, policies: Sequence[PlacedPolicy]) -> PersonTask:
    attached = sum(policy.kind != "inline" for policy in role.role.policies.items)
    quota = max(attached, MAX_ATTACHED) + len(policies)
    which = ("--service-code", "iam", "--quota-code", QUOTA, "--region", seen.site.iam_region)
    raising = aws_cli.command("service-quotas", "request-service-quota-increase", *which, "--desired-value", str(quota))
    ask = f", or have AWS raise the quota of managed policies a role: {raising}" if quota <= _QUOTA_MOST else ""
    return PersonTask(
        what=f"make room on {name_of(role)} for {', '.join(policy.name for policy in policies)}: put policies of it"
        f" together in fewer documents and take off those that are not needed{ask}",
        why=filled_to(role),
        where="the policies of the role",
        notes=tuple(f"{policy.name}: {compact(policy.document)}" for policy in policies),
        aws=True,
    )


def _removable_later(case: CheckContext, role_gaps: RoleGaps, *, closed: PolicyRemedy) -> Iterator[str]:
    """Comments about statements of the role that the start version needs and the target version does not."""
    added = IamPolicy(name="added", statements=closed.added.statements)
    start, release = str(case.hop.start), str(case.hop.release)
    policies, site = [*role_gaps.role.policies, added], role_gaps.seen.site
    before = removable(role_gaps.role.policies, release=start, site=site)
    removables = removable(policies, release=release, site=site)
    removable_now = [
        removable_statement
        for removable_statement in removables
        if removable_statement.statement not in added.statements and removable_statement not in before
    ]
    if removable_now:
        yield _comments([f"Once {release} runs and a rollback is no longer needed, this may be removed:"])
        yield _comments([f"  {line}" for line in removal_lines(removable_now[:_REMOVALS_SHOWN])])


def _comments(lines: Iterable[str]) -> str:
    """The lines as comments. Names in documents are untrusted, so each comment stays on one line."""
    return "\n".join(map(note, lines))


def instance_remedies(
    case: CheckContext, refused: Sequence[InstanceRequestAnswer], *, seen: Permissions
) -> Iterator[Remedy]:
    """For each role the smallest policies that allow these requests, including policies of other checks of the hop, and
    what no added statement can fix."""
    placed = placed_policies(case)
    for role in seen.roles:
        arn = role.role.arn
        role_refusals = [refusal for refusal in refused if refusal.role.role.arn == arn]
        lifted: list[InstanceRequestAnswer] = []
        for part in _helpful_parts(role_refusals, placed, arn=arn, seen=seen):
            added = placed[arn, part]
            limits = boundary_remarks((refusal.request.action, refusal.answer) for refusal in role_refusals)
            change = _attach_placed(role, seen, placed=added, notes=limits)
            yield in_aws(change)
            if code := terraform.text(change, BY_TERRAFORM):
                yield Remedy(how="terraform", text=code, change=change)
            lifted += [
                refusal
                for refusal in role_refusals
                if allowed_with(refusal, [policy.document for policy in added], seen=seen)
            ]
        if not_closed := [refusal for refusal in role_refusals if refusal not in lifted]:
            yield _denied(arn, not_closed)


def _helpful_parts(
    refused: Sequence[InstanceRequestAnswer], placed: PlacedPolicies, *, arn: str, seen: Permissions
) -> Iterator[PolicyPart]:
    """The parts whose policies allow at least one of the requests."""
    for (role, part), policies in placed.items():
        documents = [refusal.document for refusal in policies]
        if role == arn and any(allowed_with(refusal, documents, seen=seen) for refusal in refused):
            yield part


def _denied(arn: str, refused: Sequence[InstanceRequestAnswer]) -> Remedy:
    role = read_role_arn(arn)
    causes = dict.fromkeys(f"{refusal.request.action}: {refusal.answer.because}" for refusal in refused)
    notes = ("No added statement lifts this; the one that is named has to change:", *causes)
    if role is None:
        return in_aws(PersonTask(what="change the statement that is named", notes=notes, aws=True))
    return in_aws(read_command("aws", "iam", "list-attached-role-policies", "--role-name", role.name, notes=notes))


def split_remedies(case: CheckContext, role_gaps: RoleGaps) -> Iterator[Remedy]:
    """What to do if the missing permissions fit in no existing policy: separate documents, which other checks of the
    hop attach, or all policies divided anew."""
    closed = policy_remedy(role_gaps.report, role_gaps.seen.site, policies=role_gaps.role.policies)
    editable = tuple(
        policy
        for policy, document in zip(role_gaps.role.policies, role_gaps.role.role.policies.items, strict=True)
        if document.kind != "aws_managed"
    )
    try:
        apart, divided = closed.documents(), replace(closed, policies=editable).documents("merged")
    except InvalidInput as error:
        yield _iam(_comments([f"no document can be proposed: {error}"]))
        return
    documents = of_release(placed_policies(case), role_gaps.role)
    yield _iam(_comments(_SIZES))
    rest = [
        *(in_aws(_attach_placed(role_gaps.role, role_gaps.seen, placed=added)) for added in documents),
        *(_iam(json.dumps(policy_document, indent=2)) for policy_document in divided if len(divided) > len(apart)),
        *_inline(divided),
    ]
    yield from _tool_first(_tool(case, role_gaps.role), rest)


_SIZES = (
    f"A managed policy holds {MANAGED_LIMIT:,} characters, all inline policies of a role {INLINE_LIMIT:,}.",
    f"A role takes {MAX_ATTACHED} managed policies.",
    "Do not let one policy grow beyond that: what is missing is a policy of its own beside those that are there.",
)


def _inline(divided: tuple[JsonMap, ...]) -> Iterator[Remedy]:
    """The setting of the Terraform EKS module's Karpenter submodule, if all policies fit inline."""
    if sum(map(size_of, divided)) <= INLINE_LIMIT:
        about = "# terraform-aws-modules/eks/aws//modules/karpenter, from 21.8: one inline policy in place of a managed"
        yield Remedy(how="terraform", text=f"{about}\nenable_inline_policy = true\n")
