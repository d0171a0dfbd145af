"""Policies that close the gaps of the controller's role, with its real names: beside the ones it has, and after."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from msgspec import UNSET, UnsetType

from migrations_app.checks.base import CheckContext, How, Remedy, Unknown
from migrations_app.checks.changes import Change, IamStatements, PersonTask, group
from migrations_app.checks.render import aws_cli
from migrations_app.checks.render.aws_cli import compact
from migrations_app.checks.shared.iam_gaps import RoleGaps, name_of
from migrations_app.checks.shell import note
from migrations_app.errors import InvalidInput
from migrations_app.iam.policy import IamPolicy
from migrations_app.iam.requirements.output import NEWEST_MODULE, removal_lines
from migrations_app.iam.requirements.output import PolicyRemedy as Closing
from migrations_app.iam.requirements.output import remedy as closing
from migrations_app.iam.requirements.remedies import INLINE_LIMIT, MANAGED_LIMIT, Document, removable, size_of
from migrations_app.inventory.aws_facts.permissions import RolePolicies
from migrations_app.inventory.facts.controller import installation
from migrations_app.inventory.objects.cluster_arn import read_role_arn
from migrations_app.karpenter.hops import ALPHA_LEFT, CONVERTED

MODULES = (NEWEST_MODULE, "20.37.2")
"""Versions of the Terraform EKS module to write for: the blocks of statements are spelled otherwise from 21 on."""
_KEEP = {
    "0.32": "Keep what the role has until no node of a Provisioner is left: 0.32 needs both.",
    ALPHA_LEFT: "Keep what the role has: the document of 0.33 alone refuses spot launches of 0.32.",
    CONVERTED: "Keep what the role has while a rollback is wanted: the document of 1.0 alone refuses every launch"
    " of 0.33 to 0.37.",
}
_KEEP_OTHERWISE = "Keep what the role has until the new release has proven itself."
_BY_PREFIX = re.compile(r"-\d{18}[0-9a-f]{8}", re.ASCII)
"""How Terraform ends a name that it was given a prefix for: a time stamp and a counter."""
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]", re.ASCII)
_REMOVALS_SHOWN = 15


def closing_remedies(case: CheckContext, found: tuple[RoleGaps, ...] | Unknown, *, part: str) -> Iterator[Remedy]:
    """For each role with gaps: what to do, the smallest policy, and the same as code, the tool in use first.

    `part` goes into the names of new policies, so that two checks never propose the same one.
    """
    for lack in found if isinstance(found, tuple) else ():
        if lack.gaps:
            yield from _first(_tool(case, lack.role), _of_role(case, lack, part=part))


def _first(tool: How, remedies: Iterable[Remedy]) -> Iterator[Remedy]:
    yield from sorted(remedies, key=lambda one: one.how != tool)


def _tool(case: CheckContext, one: RolePolicies) -> How:
    """The tool that keeps the role, told by the names that Terraform makes up and by what keeps the controller."""
    names = (name_of(one), *(policy.name for policy in one.policies))
    found = installation(case.inventory)
    by_terraform = (found and found.managed.by == "terraform") or any(map(_BY_PREFIX.search, names))
    return "terraform" if by_terraform else "iam"


def _of_role(case: CheckContext, lack: RoleGaps, *, part: str) -> Iterator[Remedy]:
    closed = closing(lack.report, lack.seen.site, policies=lack.role.policies)
    try:
        documents = closed.documents()
    except InvalidInput as wrong:
        yield _iam(_comments([f"no document can be proposed: {wrong}"]))
        return
    change = attaching(lack, documents, part=part) if documents else UNSET
    yield _iam("\n".join(filter(None, _steps(case, lack, closed=closed, part=part))), change)
    if not documents:
        return
    yield from (_iam(json.dumps(one, indent=2), change) for one in documents)
    role = name_of(lack.role) if lack.role.role.arn else ""
    yield _iam(cloudformation(closed, role=role), change)
    yield Remedy(how="terraform", text=terraform(closed, role=role, part=part), change=change)
    if _tool(case, lack.role) == "terraform":
        for one in MODULES:
            yield Remedy(how="terraform", text=closed.text("module", version=one), change=change)


def _iam(text: str, change: Change | UnsetType = UNSET) -> Remedy:
    return Remedy(how="iam", text=text, change=change)


def _steps(case: CheckContext, lack: RoleGaps, *, closed: Closing, part: str) -> Iterator[str]:
    """What to do, as commands and comments: add beside what is there, keep that during the hop, tidy up after it."""
    yield _comments([*_untold(lack), *_stubborn(closed)])
    if documents := closed.documents():
        keep = _KEEP.get(case.hop, _KEEP_OTHERWISE)
        yield _comments(["Before the upgrade, beside the policies that the role has: allows of several add up.", keep])
        yield aws_cli.text(attaching(lack, documents, part=part))
        yield from _afterwards(case, lack, closed=closed)


def _untold(lack: RoleGaps) -> list[str]:
    return [
        f"nothing tells the {name}: put it right in the documents before they are used" for name in lack.seen.untold
    ]


def _stubborn(closed: Closing) -> list[str]:
    rows = (f"{one.probe.action}: no added statement helps, {one.answer.because}" for one in closed.added.stubborn)
    return list(dict.fromkeys(rows))


def attaching(lack: RoleGaps, documents: Iterable[Document], *, part: str) -> Change:
    """A managed policy of each document, attached to the role; for a person where the role is not known."""
    one, site = lack.role.role, lack.seen.site
    named = {
        _NO_NAME.sub("-", f"karpenter-{site.cluster}-{lack.report.release}-{part}-{n}")[-128:]: document
        for n, document in enumerate(documents, start=1)
    }
    if read_role_arn(one.arn) is None:
        return PersonTask(
            what="attach these policies to the role of the controller",
            why="the ARN of the role is not known",
            where=name_of(lack.role),
            notes=tuple(f"{name}: {compact(document)}" for name, document in named.items()),
            aws=True,
        )
    return group(*(_attached(one.arn, name, document=document) for name, document in named.items()))


def _attached(role: str, name: str, *, document: Document) -> IamStatements:
    statements = tuple(document["Statement"])
    undo = IamStatements(role=role, policy=name, statements=statements, removed=True)
    return IamStatements(role=role, policy=name, statements=statements, undo=undo, done=f"the role has {name}")


def _afterwards(case: CheckContext, lack: RoleGaps, *, closed: Closing) -> Iterator[str]:
    added = IamPolicy(name="added", statements=closed.added.statements)
    release = str(case.step.release)
    found = removable([*lack.role.policies, added], release=release, site=lack.seen.site)
    old = [one for one in found if one.statement not in added.statements]
    if old:
        yield _comments([f"Once {release} runs and nobody wants to go back, this may go:"])
        yield _comments([f"  {line}" for line in removal_lines(old[:_REMOVALS_SHOWN])])


def _comments(lines: Iterable[str]) -> str:
    """The lines as comments. Names in documents are other people's: none of them may begin a line of its own."""
    return "\n".join(map(note, lines))


def cloudformation(closed: Closing, *, role: str) -> str:
    """A template with the policies, its parameter filled with the role's name."""
    template = json.loads(closed.text("cloudformation"))
    if role:
        template["Parameters"]["ControllerRoleName"]["Default"] = role
    return json.dumps(template, indent=2)


def terraform(closed: Closing, *, role: str, part: str) -> str:
    """The policies as resources that name the role; a variable stands for it where it is not known."""
    text = closed.text("terraform").replace("_gaps_", f"_{part}_")
    variable, _, resources = text.partition("\n\n")
    named = resources.replace("var.karpenter_controller_role_name", json.dumps(role))
    return named if role else f"{variable}\n\n{resources}"


def splitting(case: CheckContext, lack: RoleGaps) -> Iterator[Remedy]:
    """What to do where no policy of the role has room: documents of their own, or all of it divided anew."""
    closed = closing(lack.report, lack.seen.site, policies=lack.role.policies)
    own = tuple(
        policy
        for policy, document in zip(lack.role.policies, lack.role.role.policies.items, strict=True)
        if document.kind != "aws_managed"
    )
    try:
        apart, divided = closed.documents(), replace(closed, policies=own).documents("merged")
    except InvalidInput as wrong:
        yield _iam(_comments([f"no document can be proposed: {wrong}"]))
        return
    note = [
        f"A managed policy holds {MANAGED_LIMIT:,} characters, all inline policies of a role {INLINE_LIMIT:,}.",
        "Add what is missing as a policy of its own:",
    ]
    change = attaching(lack, apart, part="rest")
    remedies = [
        _iam("\n".join((_comments(note), aws_cli.text(change))), change),
        *(_iam(json.dumps(one, indent=2), change) for one in apart),
        *(_iam(json.dumps(one, indent=2)) for one in divided if len(divided) > len(apart)),
        *_inline(divided),
    ]
    yield from _first(_tool(case, lack.role), remedies)


def _inline(divided: tuple[Document, ...]) -> Iterator[Remedy]:
    """The switch of the Terraform EKS module's Karpenter submodule, where all of it fits a role inline."""
    if sum(map(size_of, divided)) <= INLINE_LIMIT:
        about = "# terraform-aws-modules/eks/aws//modules/karpenter, from 21.8: one inline policy in place of a managed"
        yield Remedy(how="terraform", text=f"{about}\nenable_inline_policy = true\n")
