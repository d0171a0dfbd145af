"""Fails for each node role that does not exist, that EC2 may not assume, without its policies or cluster access."""

import re
from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, ManualCheck, NotApplicable, Remedy
from migrations_app.checks.evidence import TEXT, split_malformed
from migrations_app.checks.remedies.aws_nodes import join_remedies, show_access_entry
from migrations_app.checks.remedies.karpenter_objects import change_remedies, edit_task
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
    how="Looks each role up in aws-auth and, where AWS was read, in IAM, with its trust, and in EKS's access entries.",
    hops=("0.32", ALPHA_LEFT),
    sources=(
        "AWS EKS User Guide, access entries and aws-auth",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
    ),
    remedy_tools=(*OBJECT_TOOLS, "iam"),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    malformed, classes = split_malformed(case.inventory.ec2nodeclasses.items, {"spec.role": TEXT})
    yield from malformed
    if not classes and not malformed:
        yield NotApplicable("there is no EC2NodeClass yet")
    roles, joined = node_access.roles_in_aws_auth(case.inventory), node_access.classes_joined(case.inventory)
    for node_class in classes:
        role, faults = node_class.get("spec.role", ""), _join_faults(case, node_class.name)
        if PLACEHOLDER.search(role):
            yield Evidence(kind="EC2NodeClass", name=node_class.name, path="spec.role", seen=role[:200], wanted=NO_ROLE)
        elif faults is not None:
            # A node that has joined proves everything except that the role still exists.
            missing = [fault for fault in faults if isinstance(fault, JoinFault) and fault.about == "role"]
            yield from (_result(node_class.name, fault) for fault in (missing if node_class.name in joined else faults))
        elif role not in roles and node_class.name not in joined:
            # Access entries live in EKS, roles of instance profiles in IAM: neither can be seen from the cluster.
            task = f"EC2NodeClass {node_class.name}: aws-auth does not name its role; look for an access entry in EKS"
            yield ManualCheck(task, tuple(show_access_entry(role, place_seen(case.inventory))))


def _join_faults(case: CheckContext, name: str) -> list[JoinFault | JoinDoubt] | None:
    """The faults that AWS shows for the role of the class; None if its role or the cluster was not read in AWS."""
    aws, owner = case.inventory.aws, ("EC2NodeClass", name)
    node_roles = [role for role in aws.node_roles.items if owner in ((by.kind, by.name) for by in role.named_by)]
    complete = bool(node_roles and aws.cluster.items) and all(isinstance(role.role, Seen) for role in node_roles)
    return [fault for role in node_roles for fault in node_access.join_problems(role, aws)] if complete else None


def _result(name: str, result: JoinFault | JoinDoubt) -> JudgeResult:
    if isinstance(result, JoinDoubt):
        return ManualCheck(f"EC2NodeClass {name}: {result.detail}")
    path = f"spec.role ({result.about} of {result.role})"
    return Evidence(kind="EC2NodeClass", name=name, path=path, seen=result.seen, wanted=result.wanted)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    nameless = [row for row in evidence if row.path == "spec.role"]
    if nameless:
        yield from change_remedies(case, nameless, what=f"write {NO_ROLE} to spec.role", line=edit_task)
    results = (result for row in evidence for result in _join_faults(case, row.name) or ())
    faults = dict.fromkeys(result for result in results if isinstance(result, JoinFault))
    yield from (remedy for fault in faults for remedy in join_remedies(fault, case.inventory.aws))
