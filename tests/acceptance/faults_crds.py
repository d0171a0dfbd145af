"""Faults of CRDs: missing, too old, unowned, being deleted, converting badly, storing what is gone."""

from typing import Any

from migrations_app.samples.kubernetes_objects import doc, meta
from tests.acceptance.places import CLAIMS, CLASSES, CRD, POOLS
from tests.acceptance.planting import Document, Fault, Plant, add, all_of, cut, one, put, without


def _no_field(crd: str, version: str, *steps: str) -> Plant:
    def plant(documents: list[Document]) -> None:
        spec = one(documents, CRD, crd)["spec"]
        here = next(v for v in spec["versions"] if v["name"] == version)["schema"]["openAPIV3Schema"]
        *way, last = steps
        for step in way:
            here = here["items"] if step == "[]" else here["properties"][step]
        del here["properties"][last]

    return plant


def _argo(chart: str, **helm: Any) -> Document:
    source = {"chart": chart, "repoURL": "public.ecr.aws/karpenter", "targetRevision": "0.37.8", "helm": helm}
    spec = {"source": source, "destination": {"namespace": "kube-system"}, "project": "default"}
    return doc("argoproj.io/v1alpha1", "Application", metadata=meta(chart, "argocd"), spec=spec)


CRD_FAULTS = (
    Fault(
        of="machine-crd-required",
        on="alpha-028",
        plant=all_of(without(CRD, "machines.karpenter.sh"), without("Machine")),
        check="crds_match_controller",
        kind=CRD,
        object="machines.karpenter.sh",
        path="spec.versions",
    ),
    Fault(
        of="CRD-02",
        on="alpha-031",
        # A release that holds them marks them anew: they belong to nobody once its record is gone.
        plant=all_of(
            cut(CRD, "", "metadata/labels"),
            cut(CRD, "", "metadata/annotations/meta.helm.sh~release-name"),
            without("Secret", "sh.helm.release.v1.karpenter-crd.v3"),
        ),
        check="crds_owned_by_helm",
        kind=CRD,
        object="provisioners.karpenter.sh",
        path="metadata.annotations[meta.helm.sh/release-name]",
    ),
    Fault(
        of="crd-upgrade-manual",
        on="finished-032",
        plant=without(CRD, CLAIMS),
        check="crds_match_controller",
        kind=CRD,
        object=CLAIMS,
        path="spec.versions",
    ),
    Fault(
        of="CRD-11",
        on="beta-033",
        plant=put(CRD, POOLS, "metadata/deletionTimestamp", "2026-09-20T10:00:00Z"),
        check="crds_not_terminating",
        kind=CRD,
        object=POOLS,
        path="metadata.deletionTimestamp",
    ),
    Fault(
        of="nodeclass-readiness-crd",
        on="beta-037-read-as-beta",
        plant=_no_field(CLASSES, "v1beta1", "status", "conditions"),
        check="crd_fields_current",
        kind=CRD,
        object=CLASSES,
        path="spec.versions[v1beta1].schema status.conditions",
    ),
    Fault(
        of="disruption-budgets-10-percent",
        on="beta-037-read-as-beta",
        plant=_no_field(POOLS, "v1beta1", "spec", "disruption", "budgets"),
        check="crd_fields_current",
        kind=CRD,
        object=POOLS,
        path="spec.versions[v1beta1].schema spec.disruption.budgets",
    ),
    Fault(
        of="CRD-03",
        on="beta-037",
        plant=put(CRD, POOLS, "spec/conversion/webhook/clientConfig/service/namespace", "karpenter"),
        check="conversion_webhook_resolves",
        kind=CRD,
        object=POOLS,
        path="spec.conversion.webhook.clientConfig.service",
    ),
    Fault(
        of="CRD-05",
        on="beta-037",
        plant=put(CRD, CLAIMS, "spec/conversion", {"strategy": "None"}),
        check="conversion_webhook_resolves",
        kind=CRD,
        object=CLAIMS,
        path="spec.conversion.strategy",
    ),
    Fault(
        of="conversion-webhook-service",
        on="beta-037",
        plant=put("Endpoints", "karpenter", "subsets", []),
        check="conversion_webhook_resolves",
        kind=CRD,
        object=POOLS,
        path="spec.conversion.webhook.clientConfig.service",
        beside=("admission_webhooks_current",),
    ),
    Fault(
        of="CRD-13",
        on="beta-037",
        plant=add(_argo("karpenter", skipCrds=False), _argo("karpenter-crd")),
        check="one_owner_of_crds",
        kind="Application",
        object="karpenter",
        path="spec.source.helm.skipCrds",
        namespace="argocd",
    ),
    Fault(
        of="stored-versions",
        on="v1-10",
        plant=put(CRD, CLASSES, "status/storedVersions", ["v1beta1", "v1"]),
        check="stored_versions_clean",
        kind=CRD,
        object=CLASSES,
        path="status.storedVersions",
    ),
    Fault(
        of="CRD-08",
        on="v1-10",
        plant=all_of(
            put(CRD, POOLS, "status/storedVersions", ["v1beta1", "v1"]),
            cut("NodePool", "", "metadata/annotations/karpenter.sh~stored-version-migrated"),
        ),
        check="stored_versions_can_be_rewritten",
        kind="NodePool",
        object="default",
        path="metadata.annotations[karpenter.sh/stored-version-migrated]",
        beside=("stored_versions_clean",),
    ),
    Fault(
        of="crd-conversion-leftovers",
        on="v1-10",
        plant=all_of(
            cut(CRD, "", "metadata/annotations/meta.helm.sh~release-name"),
            put(CRD, "", "metadata/annotations/argocd.argoproj.io~tracking-id", "crds:apiextensions.k8s.io/x:/y"),
        ),
        check="crd_conversion_cleared",
        kind=CRD,
        object=POOLS,
        path="spec.conversion",
    ),
    Fault(
        of="CRDs of an older minor",
        on="v1-16",
        plant=_no_field(POOLS, "v1", "status", "nodeClassObservedGeneration"),
        check="crd_fields_current",
        kind=CRD,
        object=POOLS,
        path="spec.versions[v1].schema status.nodeClassObservedGeneration",
    ),
)
