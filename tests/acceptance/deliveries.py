"""A clean cluster whose charts Flux, Argo CD or Terraform keeps: the marks that each leaves, and the objects that
deliver."""

import copy
from collections.abc import Iterable
from typing import Any, Literal

from migrations_app.samples.kubernetes_objects import doc, meta
from tests.acceptance.clusters import Clean

Document = dict[str, Any]
Tool = Literal["flux", "argocd", "terraform"]
TOOLS: tuple[Tool, ...] = ("flux", "argocd", "terraform")
CHART_KINDS = ("Deployment", "ServiceAccount", "Service", "ConfigMap", "ClusterRole")


def delivered(documents: Iterable[Document], clean: Clean, *, by: Tool) -> list[Document]:
    """The same cluster, kept by that tool."""
    found = [copy.deepcopy(one) for one in documents]
    for one in found:
        if one["kind"] == "CustomResourceDefinition":
            _mark(one, "karpenter-crd", by=by)
        elif one["kind"] in CHART_KINDS and "karpenter" in one["metadata"]["name"]:
            _mark(one, "karpenter", by=by)
    return [*found, *(_deliverer(chart, clean, by=by) for chart in ("karpenter", "karpenter-crd") if by != "terraform")]


def _mark(document: Document, chart: str, *, by: Tool) -> None:
    metadata = document["metadata"]
    match by:
        case "flux":
            marks = {"helm.toolkit.fluxcd.io/name": chart, "helm.toolkit.fluxcd.io/namespace": "flux-system"}
            metadata["labels"] = {**metadata.get("labels", {}), **marks}
        case "argocd":
            mark = {"argocd.argoproj.io/tracking-id": f"{chart}:apps/{document['kind']}:{metadata['name']}"}
            metadata["annotations"] = {**metadata.get("annotations", {}), **mark}
        case "terraform":
            for field in metadata.get("managedFields", ()):
                field["manager"] = "terraform-provider-helm_v2.12.1_x5"


def _deliverer(chart: str, clean: Clean, *, by: Tool) -> Document:
    version = clean.version if clean.place.order >= (0, 35) else f"v{clean.version}"
    if by == "flux":
        inner = {"chart": chart, "version": version, "sourceRef": {"kind": "HelmRepository", "name": "karpenter"}}
        spec = {"interval": "30m", "targetNamespace": clean.namespace, "chart": {"spec": inner}}
        return doc("helm.toolkit.fluxcd.io/v2", "HelmRelease", metadata=meta(chart, "flux-system"), spec=spec)
    source = {"repoURL": "public.ecr.aws/karpenter", "chart": chart, "targetRevision": version}
    policy = {"automated": {"prune": True, "selfHeal": True}}
    home = {"namespace": clean.namespace, "server": "https://kubernetes.default.svc"}
    spec = {"project": "default", "destination": home, "source": source, "syncPolicy": policy}
    return doc("argoproj.io/v1alpha1", "Application", metadata=meta(chart, "argocd"), spec=spec)
