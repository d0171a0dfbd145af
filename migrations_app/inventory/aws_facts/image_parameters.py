"""The SSM parameters from which the node classes of a cluster take their images.

Sources: pkg/providers/amifamily of aws/karpenter-provider-aws at v0.32.10, v0.37.8, v1.0.14 and v1.14.1. Of the
variants of a family only the usual one is named: images resolve as long as one variant does.
"""

from collections.abc import Iterator

from migrations_app.inventory.facts.node_pools import AMI_TERMS, FAMILIES, rows, text
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import AWSNodeTemplate, EC2NodeClass
from migrations_app.inventory.parts import is_whole
from migrations_app.karpenter.versions import kubernetes_minor

LATEST = "latest"
_EKS = "/aws/service/eks/optimized-ami"


def image_parameters(inventory: Inventory) -> tuple[str, ...]:
    """Names or ARNs, each once; empty if a node class, a template or the Kubernetes version was not read."""
    kubernetes = next((kubernetes_minor(version.git_version) for version in inventory.version.items), None)
    classes, templates = inventory.ec2nodeclasses, inventory.awsnodetemplates
    if kubernetes is None or not is_whole(classes) or not is_whole(templates):
        return ()
    named = [name for one in classes.items for name in _of_class(one, kubernetes)]
    named += [name for one in templates.items for name in _of_template(one, kubernetes)]
    return tuple(dict.fromkeys(named))


def _of_class(node_class: EC2NodeClass, kubernetes: str) -> Iterator[str]:
    terms = [term for _, term in rows(node_class, AMI_TERMS)]
    for term in terms:
        alias, parameter = term.get("alias"), term.get("ssmParameter")
        if isinstance(alias, str):
            family, _, version = alias.partition("@")
            yield from _of_family(FAMILIES.get(family.lower(), ""), kubernetes, version=version or LATEST)
        elif isinstance(parameter, str) and parameter:
            yield parameter
    if not terms:
        yield from _of_family(text(node_class, "spec.amiFamily"), kubernetes)


def _of_template(template: AWSNodeTemplate, kubernetes: str) -> Iterator[str]:
    if not template.get("spec.amiSelector") and not template.get("spec.launchTemplate"):
        yield from _of_family(text(template, "spec.amiFamily") or "AL2", kubernetes)


def _of_family(family: str, kubernetes: str, *, version: str = LATEST) -> Iterator[str]:
    """The parameter of the family's usual image; nothing for a family without one."""
    latest = version == LATEST
    match family:
        case "AL2":
            image = "recommended" if latest else f"amazon-eks-node-{kubernetes}-{version}"
            yield f"{_EKS}/{kubernetes}/amazon-linux-2/{image}/image_id"
        case "AL2023":
            image = "recommended" if latest else f"amazon-eks-node-al2023-x86_64-standard-{kubernetes}-{version}"
            yield f"{_EKS}/{kubernetes}/amazon-linux-2023/x86_64/standard/{image}/image_id"
        case "Bottlerocket":
            yield f"/aws/service/bottlerocket/aws-k8s-{kubernetes}/x86_64/{version.lstrip('v')}/image_id"
        case "Ubuntu":
            yield f"/aws/service/canonical/ubuntu/eks/20.04/{kubernetes}/stable/current/amd64/hvm/ebs-gp2/ami-id"
        case "Windows2019" | "Windows2022" | "Windows2025":
            image = f"Windows_Server-{family.removeprefix('Windows')}-English-Core-EKS_Optimized-{kubernetes}"
            yield f"/aws/service/ami-windows-latest/{image}/image_id"
