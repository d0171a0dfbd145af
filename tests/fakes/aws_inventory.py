"""Builds inventories whose objects name things in AWS."""

import msgspec

from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import (
    AWSNodeTemplate,
    ConfigMap,
    EC2NodeClass,
    Node,
    ServiceAccount,
    Workload,
)
from migrations_app.inventory.parts import Seen, Unseen

ANNOTATION = "eks.amazonaws.com/role-arn"
GLOBAL_SETTINGS = "karpenter-global-settings"


def controller(version="1.0.14", **env):
    variables = [{"name": name, "value": value} for name, value in env.items()]
    body = {
        "metadata": {"name": "karpenter", "namespace": "kube-system", "labels": {"app.kubernetes.io/version": version}},
        "spec": {"template": {"spec": {"serviceAccountName": "karpenter", "containers": [
            {"name": "controller", "image": f"public.ecr.aws/karpenter/controller:{version}", "env": variables}]}}},
    }  # fmt: skip
    return msgspec.convert(body, Workload)


def service_account(role=""):
    annotations = {ANNOTATION: role} if role else {}
    body = {"metadata": {"name": "karpenter", "namespace": "kube-system", "annotations": annotations}}
    return msgspec.convert(body, ServiceAccount)


def node_class(name="default", **spec):
    return msgspec.convert({"kind": "EC2NodeClass", "metadata": {"name": name}, "spec": spec}, EC2NodeClass)


def node_template(name="default", **spec):
    return msgspec.convert({"kind": "AWSNodeTemplate", "metadata": {"name": name}, "spec": spec}, AWSNodeTemplate)


def node(name, *, instance_type, zone):
    """A node of a NodePool."""
    marks = {
        "karpenter.sh/nodepool": "default", "node.kubernetes.io/instance-type": instance_type,
        "topology.kubernetes.io/zone": zone,
    }  # fmt: skip
    owner = {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "name": name}
    return msgspec.convert({"metadata": {"name": name, "labels": marks, "ownerReferences": [owner]}}, Node)


def config_map(name, **data):
    return msgspec.convert({"metadata": {"name": name, "namespace": "kube-system"}, "data": data}, ConfigMap)


def settings(**data):
    """The ConfigMap up to 0.32; dots of its keys are written as two underscores."""
    return config_map(GLOBAL_SETTINGS, **{key.replace("__", "."): value for key, value in data.items()})


def an_inventory(**parts):
    """Returns an inventory with a running controller and an account, in which nothing names AWS; tuples become Seen."""
    empty = {
        "controller": (controller(),), "controller_accounts": (service_account(),), "ec2nodeclasses": (),
        "awsnodetemplates": (), "settings": (), "aws_auth": (), "helm_releases": (), "deliveries": (), "nodes": (),
    }  # fmt: skip
    seen_parts = {
        name: part if isinstance(part, Seen | Unseen) else Seen(part) for name, part in (empty | parts).items()
    }
    return Inventory(cluster="shop", taken_at="2026-11-21T00:00:00Z", **seen_parts)
