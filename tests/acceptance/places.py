"""Where the faults of an installation show: the objects and paths that findings name."""

from typing import Any

CRD, DEPLOYMENT, HELM = "CustomResourceDefinition", "Deployment", "HelmRelease"
POOLS, CLAIMS, CLASSES = "nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws"
ENV = "spec.template.spec.containers[].env"
IMAGE = "spec.template.spec.containers[].image"
OLD: dict[str, Any] = {"namespace": "karpenter"}
HOME: dict[str, Any] = {"namespace": "kube-system"}


def of_helm(key: str, *, chart: str = "karpenter", **more: Any) -> dict[str, Any]:
    return {"kind": HELM, "object": chart, "path": f"config.{key}"} | more


def of_deployment(path: str, **more: Any) -> dict[str, Any]:
    return {"kind": DEPLOYMENT, "object": "karpenter", "path": path} | more
