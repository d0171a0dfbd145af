"""Builds what a scan of AWS reads: instances by their tags, node roles, profiles, queues."""

import json
import shutil
import subprocess
from dataclasses import replace
from typing import Any

import pytest

from migrations_app.checks.base import Remedy
from migrations_app.inventory.objects.aws import (
    AttachedPolicy,
    ControllerRole,
    InstanceProfile,
    NamedBy,
    NodeRole,
    Queue,
    TaggedInstances,
)
from migrations_app.inventory.parts import Seen, Unseen
from tests.fakes.aws_api import ACCOUNT, a_document, a_role, role_arn

OWNED = {"kubernetes.io/cluster/test": "owned"}
QUEUE_ARN = f"arn:aws:sqs:eu-central-1:{ACCOUNT}:test"
SENDERS = ["events.amazonaws.com", "sqs.amazonaws.com"]
NODE_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryReadOnly", "AmazonEKS_CNI_Policy")


def instances(tags: dict[str, str], *, count: int = 2, ids: tuple[str, ...] = ("i-1", "i-2")) -> TaggedInstances:
    return TaggedInstances(tags=tuple(sorted((OWNED | tags).items())), count=count, samples=ids)


def alpha(name: str = "web", **more: str) -> TaggedInstances:
    return instances({"karpenter.sh/provisioner-name": name, "karpenter.sh/managed-by": "test"} | more)


def beta(name: str = "web", **more: str) -> TaggedInstances:
    tags = {"karpenter.sh/nodepool": name, "karpenter.k8s.aws/ec2nodeclass": "default"}
    return instances(tags | {"karpenter.sh/managed-by": "test"} | more)


def v1(name: str = "web", *, cluster: str = "test") -> TaggedInstances:
    tags = {"karpenter.sh/nodepool": name, "karpenter.k8s.aws/ec2nodeclass": "default"}
    return instances(tags | {"eks:eks-cluster-name": cluster})


def with_roles(*statements: dict[str, Any], groups: tuple[TaggedInstances, ...] = ()) -> dict[str, Any]:
    """Returns parts of AWS: a controller role with one document of these statements, and instances."""
    return {"controller_roles": (a_controller_role(*statements),), "instances": groups}


def a_controller_role(*statements: dict[str, Any], **parts: Any) -> ControllerRole:
    document = a_document("karpenter", json.dumps({"Version": "2012-10-17", "Statement": list(statements)}))
    usual = {"role": Seen((a_role("karpenter"),)), "policies": Seen((document,)), "boundary": Seen(())}
    return ControllerRole(**({"found_by": "irsa", "arn": role_arn("karpenter")} | usual | parts))


def by_class(name: str = "default", path: str = "spec.role") -> NamedBy:
    return NamedBy(kind="EC2NodeClass", name=name, path=path)


BY_EC2 = (
    '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},'
    '"Action":"sts:AssumeRole"}]}'
)


def a_node_role(
    name: str = "KarpenterNodeRole-test",
    *,
    policies: tuple[str, ...] = NODE_POLICIES,
    own: tuple[str, ...] = (),
    **parts: Any,
) -> NodeRole:
    """Returns an existing role with managed policies of AWS and `own` ones, and no access entry."""
    attached = [AttachedPolicy(name=one, arn=f"arn:aws:iam::aws:policy/{one}") for one in policies]
    attached += [AttachedPolicy(name=one, arn=f"arn:aws:iam::{ACCOUNT}:policy/{one}") for one in own]
    usual = {"role": Seen((a_role(name, trust=BY_EC2),)), "policies": Seen(tuple(attached)), "inline": Seen(())}
    return NodeRole(name=name, **(usual | {"access_entry": Seen(()), "named_by": (by_class(),)} | parts))


def no_role(name: str = "KarpenterNodeRole-test") -> NodeRole:
    return a_node_role(name, policies=(), role=Seen(()))


def unread_role(name: str = "KarpenterNodeRole-test") -> NodeRole:
    refused = Unseen("forbidden", "iam:GetRole is refused")
    return replace(a_node_role(name), role=refused, policies=refused, inline=refused, access_entry=refused)


def a_profile(name: str, *roles: str, exists: bool = True, by: NamedBy | None = None) -> InstanceProfile:
    arns = tuple(f"arn:aws:iam::{ACCOUNT}:role/{role}" for role in roles)
    named = by or NamedBy(kind="AWSNodeTemplate", name="default", path="spec.instanceProfile")
    return InstanceProfile(name=name, exists=exists, role_arns=arns, named_by=(named,))


def send(*services: str, effect: str = "Allow", **more: Any) -> dict[str, Any]:
    """Returns a statement of the queue's policy."""
    principal: Any = {"Service": list(services)} if services else "*"
    return {"Effect": effect, "Principal": principal, "Action": "sqs:SendMessage", "Resource": QUEUE_ARN, **more}


def a_queue(*statements: dict[str, Any], **more: Any) -> Queue:
    policy = json.dumps({"Version": "2012-10-17", "Statement": list(statements)}) if statements else ""
    return Queue(**({"name": "test", "exists": True, "arn": QUEUE_ARN, "policy": policy} | more))


def parse_all(remedies: tuple[Remedy, ...]) -> None:
    """Checks that every command parses in bash and every document is JSON; Terraform is checked if it is installed."""
    for remedy in remedies:
        if remedy.text.startswith("{"):
            json.loads(remedy.text)
        elif remedy.how in ("iam", "kubectl", "helm"):
            done = subprocess.run(["bash", "-n"], input=remedy.text, text=True, capture_output=True, check=False)
            assert done.returncode == 0, done.stderr
        elif remedy.how == "terraform" and remedy.text.startswith("resource"):
            _formatted(remedy.text)


def _formatted(text: str) -> None:
    program = shutil.which("terraform")
    if program is None:
        pytest.skip("terraform is not at hand to read it")
    done = subprocess.run([program, "fmt", "-"], input=text, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
