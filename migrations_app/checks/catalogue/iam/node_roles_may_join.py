"""Fails for each node role that does not exist, lacks its policies, or has no access to the cluster."""

import re
from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, ManualCheck, NotApplicable, Remedy
from migrations_app.checks.evidence import TEXT, apart
from migrations_app.checks.remedies.aws_nodes import entry_looked_up, let_in
from migrations_app.checks.remedies.karpenter_objects import changed, edited
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.aws_facts import node_access
from migrations_app.inventory.aws_facts.node_access import JoinDoubt, JoinFault
from migrations_app.inventory.aws_facts.permissions import place_seen
from migrations_app.inventory.parts import Seen
from migrations_app.karpenter.hops import ALPHA_LEFT

PLACEHOLDER = re.compile(r"[$<{]|ROLE_?NAME", re.ASCII)
NO_ROLE = "the name of an IAM role"
check = Check(
    __name__,
    title="The role of every node class may join the cluster",
    phase="iam",
    severity="warning",
    why="A node whose role has no access to the cluster never registers: its pods stay pending after the drain.",
    reads=("ec2nodeclasses", "aws_auth"),
    says=("{count} fault stops nodes from joining the cluster", "{count} faults stop nodes from joining the cluster"),
    how="Looks each role up in aws-auth and, where AWS was read, in IAM and among the access entries of EKS.",
    hops=("0.32", ALPHA_LEFT),
    sources=(
        "AWS EKS User Guide, access entries and aws-auth",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
    ),
    remedy_tools=(*OBJECT_TOOLS, "iam"),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    strange, classes = apart(case.inventory.ec2nodeclasses.items, {"spec.role": TEXT})
    yield from strange
    if not classes and not strange:
        yield NotApplicable("there is no EC2NodeClass yet")
    known, proven = node_access.roles_in_aws_auth(case.inventory), node_access.classes_joined(case.inventory)
    for one in classes:
        role, shown = one.get("spec.role", ""), _shown(case, one.name)
        if PLACEHOLDER.search(role):
            yield Evidence(kind="EC2NodeClass", name=one.name, path="spec.role", seen=role[:200], wanted=NO_ROLE)
        elif shown is not None:
            # A node that has joined proves everything except that the role still exists.
            gone = [found for found in shown if isinstance(found, JoinFault) and found.about == "role"]
            yield from (_word(one.name, found) for found in (gone if one.name in proven else shown))
        elif role not in known and one.name not in proven:
            # Access entries live in EKS, roles of instance profiles in IAM: neither can be seen from the cluster.
            task = f"EC2NodeClass {one.name}: aws-auth does not name its role; look for an access entry in EKS"
            yield ManualCheck(task, tuple(entry_looked_up(role, place_seen(case.inventory))))


def _shown(case: CheckContext, name: str) -> list[JoinFault | JoinDoubt] | None:
    """The faults that AWS shows for the role of the class; None if its role or the cluster was not read in AWS."""
    aws, me = case.inventory.aws, ("EC2NodeClass", name)
    node_roles = [one for one in aws.node_roles.items if me in ((by.kind, by.name) for by in one.named_by)]
    whole = bool(node_roles and aws.cluster.items) and all(isinstance(one.role, Seen) for one in node_roles)
    return [fault for one in node_roles for fault in node_access.joining(one, aws)] if whole else None


def _word(name: str, result: JoinFault | JoinDoubt) -> JudgeResult:
    if isinstance(result, JoinDoubt):
        return ManualCheck(f"EC2NodeClass {name}: {result.detail}")
    path = f"spec.role ({result.about} of {result.role})"
    return Evidence(kind="EC2NodeClass", name=name, path=path, seen=result.seen, wanted=result.wanted)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    nameless = [row for row in evidence if row.path == "spec.role"]
    if nameless:
        yield from changed(case, nameless, what=f"write {NO_ROLE} to spec.role", line=edited)
    faults = {found: None for row in evidence for found in _shown(case, row.name) or () if isinstance(found, JoinFault)}
    yield from (remedy for fault in faults for remedy in let_in(fault, case.inventory.aws))
