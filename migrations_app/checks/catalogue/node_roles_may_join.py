"""Nodes of every node class may join: their role is real, and aws-auth lets it in."""

import re
from collections.abc import Iterator

from migrations_app.checks.base import Case, Check
from migrations_app.checks.remedies import kubectl
from migrations_app.checks.values import ByHand, Evidence, NotApplicable, Remedy, Word
from migrations_app.inventory.objects import ConfigMap
from migrations_app.karpenter.hop_spans import ALPHA_LEFT

ROLE = re.compile(r"rolearn:\s*[\"']?arn:[^:\s]+:iam::\d{12}:role/(?:[^\s\"']*/)?([\w+=,.@-]+)", re.ASCII)
PLACEHOLDER = re.compile(r"[$<{]|ROLE_?NAME", re.ASCII)
check = Check(
    __name__,
    title="The role of every node class may join",
    phase="iam",
    severity="warning",
    why="A node whose role the cluster does not know never registers: its pods stay pending once the old node is gone.",
    reads=("ec2nodeclasses", "aws_auth"),
    says=("{count} node class has a role that is none", "{count} node classes have a role that is none"),
    hops=("0.32", ALPHA_LEFT),
    sources=(
        "AWS EKS User Guide, access entries and aws-auth",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
    ),
)


@check.judge
def judge(case: Case) -> Iterator[Word]:
    classes = case.inventory.ec2nodeclasses.items
    if not classes:
        yield NotApplicable("there is no EC2NodeClass yet")
    known = {role for config in case.inventory.aws_auth.items for role in _roles(config)}
    proven = _proven(case)
    for one in classes:
        role = one.get("spec.role", "")
        if isinstance(role, str) and PLACEHOLDER.search(role):
            wanted = "the name of an IAM role"
            yield Evidence(kind="EC2NodeClass", name=one.name, path="spec.role", seen=role[:200], wanted=wanted)
        elif role not in known and one.name not in proven:
            # Access entries live in EKS, roles of instance profiles in IAM: neither can be seen from the cluster.
            yield ByHand(f"EC2NodeClass {one.name}: aws-auth does not name its role; look for an access entry in EKS")


def _roles(config: ConfigMap) -> list[str]:
    return [found[1] for found in ROLE.finditer((config.data or {}).get("mapRoles", ""))]


def _proven(case: Case) -> set[str]:
    """Node classes of which a node has joined: no better proof is needed."""
    joined = (claim for claim in case.inventory.nodeclaims.items if claim.condition("Registered") == "True")
    return {(claim.spec.node_class_ref and claim.spec.node_class_ref.name) or "" for claim in joined}


@check.advise
def advise(_case: Case, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    patch = '{"spec":{"role":"ROLE"}}'
    yield kubectl(
        *(f"kubectl patch ec2nodeclasses.karpenter.k8s.aws {row.name} --type=merge -p '{patch}'" for row in evidence)
    )
