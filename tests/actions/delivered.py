"""Objects of Flux and Argo CD that deliver Karpenter: documents, CRDs with their published fields, and a stand-in for
the controllers that would bring what the objects say.
"""

from collections.abc import Mapping
from typing import Any

from migrations_app.manifests import JsonMap
from migrations_app.samples.kubernetes_objects import doc, meta
from tests.servers.apiserver import ApiServer

FLUX, KUSTOMIZE, ARGO = "helm.toolkit.fluxcd.io/v2", "kustomize.toolkit.fluxcd.io/v1", "argoproj.io/v1alpha1"
GIVEN: Mapping[str, Any] = {"settings": {"clusterName": "shop"}, "replicas": 2}
FROM_GIT = {"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
HELM_RELEASES = "/apis/helm.toolkit.fluxcd.io/v2/namespaces/flux-system/helmreleases"
APPLICATIONS = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications"
AUTOMATED = {"prune": True, "selfHeal": True, "allowEmpty": False}


def helm_release(version: str = "1.0.8", *, chart: str = "karpenter", marks: Any = None, **spec: Any) -> JsonMap:
    source = {"kind": "HelmRepository", "name": "karpenter"}
    told = {"chart": {"spec": {"chart": chart, "version": version, "sourceRef": source}}, "interval": "5m"}
    given = {"values": dict(GIVEN)} if chart == "karpenter" else {}
    labels = {"labels": dict(marks)} if marks else {}
    return doc(FLUX, "HelmRelease", metadata=meta(chart, "flux-system") | labels, spec=told | given | spec)


def application(version: str = "1.0.8", *, helm: Any = None, automated: Any = None, **spec: Any) -> JsonMap:
    source = {"repoURL": "public.ecr.aws/karpenter", "chart": "karpenter", "targetRevision": version}
    policy = {} if automated is None else {"syncPolicy": {"automated": dict(automated)}}
    told = {
        "project": "default",
        "source": source | ({"helm": helm} if helm else {}),
        "destination": {"server": "https://kubernetes.default.svc", "namespace": "kube-system"},
    }
    return doc(ARGO, "Application", metadata=meta("karpenter", "argocd"), spec=told | policy | spec)


def kustomization(**spec: Any) -> JsonMap:
    told = {"path": "./karpenter", "prune": True, "interval": "5m"}
    return doc(KUSTOMIZE, "Kustomization", metadata=meta("karpenter", "flux-system"), spec=told | spec)


def definitions() -> list[JsonMap]:
    """The CRDs, open for every field; only HelmRelease and Kustomization have a status of their own, as published."""
    return [
        _definition("helm.toolkit.fluxcd.io", "v2", "HelmRelease", own_status=True),
        _definition("kustomize.toolkit.fluxcd.io", "v1", "Kustomization", own_status=True),
        _definition("argoproj.io", "v1alpha1", "Application", own_status=False),
    ]


def _definition(group: str, version: str, kind: str, *, own_status: bool) -> JsonMap:
    plural, whole = f"{kind.lower()}s", {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    fields = dict.fromkeys(("spec", "status", "operation"), whole)
    shape = {"type": "object", "properties": fields}
    served = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": shape}}
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": names,
            "versions": [served | ({"subresources": {"status": {}}} if own_status else {})],
        },
    }


def flux_brings(server: ApiServer, name: str = "karpenter") -> None:
    """What helm-controller tells once it has brought what the object says now."""
    path = f"{HELM_RELEASES}/{name}"
    read = server.admin.get(path)
    generation = read["metadata"]["generation"]
    told = {"chartVersion": read["spec"]["chart"]["spec"]["version"], "status": "deployed"}
    ready = {"type": "Ready", "status": "True", "reason": "UpgradeSucceeded", "message": ""}
    status = {"observedGeneration": generation, "history": [told], "conditions": [ready]}
    server.admin.patch(f"{path}/status", {"status": status})


def argo_brings(server: ApiServer) -> None:
    """What Argo CD tells once it has synced what the object says now."""
    read = server.admin.get(f"{APPLICATIONS}/karpenter")
    source = read["spec"]["source"]
    status = {
        "sync": {"status": "Synced", "revision": source["targetRevision"], "comparedTo": {"source": source}},
        "health": {"status": "Healthy"},
        "operationState": {"phase": "Succeeded", "message": ""},
    }
    server.admin.patch(f"{APPLICATIONS}/karpenter", {"operation": None, "status": status})
