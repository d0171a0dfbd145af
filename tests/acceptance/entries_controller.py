"""Entries of the coverage that show in the controller, its release, its CRDs and what delivers them."""

from migrations_app.errors import CONVERSION_FAILED, ServerFailed
from migrations_app.karpenter import kinds
from migrations_app.samples.kubernetes_objects import doc, meta, owner
from tests.acceptance.clusters import find
from tests.acceptance.deliveries import delivered
from tests.acceptance.own_objects import of
from tests.acceptance.places import CLAIMS, CRD, DEPLOYMENT, HOME, IMAGE, OLD, POOLS, of_deployment, of_helm
from tests.acceptance.planted_entries import PlantedEntry, as_it_is, rebuilt, refused, taken_from
from tests.acceptance.planting import Document, Plant, add, all_of, helm_values, one, put, without
from tests.builders.newest import NEWEST_MINOR

METRICS = {"kind": "Service", "object": "karpenter", "path": "spec.ports[http-metrics]"}
SIDECAR = {"controller": {"sidecarContainer": [{"name": "proxy", "image": "registry.example/p"}]}}
VALIDATING = "ValidatingWebhookConfiguration"
GONE = "request to convert CR from an invalid group/version: karpenter.sh/v1beta1"
OVERLAYS, BUFFERS = "nodeoverlays.karpenter.sh", "capacitybuffers.autoscaling.x-k8s.io"


def _role_of_ones_own() -> tuple[Document, Document]:
    """A role beside those of the chart, from a time when the controller made the nodes itself."""
    rules = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["create"]}]
    role = doc("rbac.authorization.k8s.io/v1", "ClusterRole", metadata=meta("karpenter-extra"), rules=rules)
    binding = doc(
        "rbac.authorization.k8s.io/v1",
        "ClusterRoleBinding",
        metadata=meta("karpenter-extra"),
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "karpenter-extra"},
        subjects=[{"kind": "ServiceAccount", "name": "karpenter", "namespace": "kube-system"}],
    )
    return role, binding


def _by_argo(on: str, *, version: str = "", automated: bool = False) -> Plant:
    """Argo CD delivers both charts, in that spelling of their version where one is given."""

    def plant(documents: list[Document]) -> None:
        documents[:] = delivered(documents, find(on), by="argocd")
        for application in (found for found in documents if found["kind"] == "Application"):
            application["spec"]["source"]["targetRevision"] = version or application["spec"]["source"]["targetRevision"]
            if not automated:
                del application["spec"]["syncPolicy"]

    return plant


def _rule(expression: str) -> Document:
    groups = [{"name": "g", "rules": [{"alert": "X", "expr": expression}]}]
    return doc(
        "monitoring.coreos.com/v1", "PrometheusRule", metadata=meta("karpenter", "monitoring"), spec={"groups": groups}
    )


def _record_of_another(documents: list[Document]) -> None:
    """An upgrade that kept the old image: record and labels name the release, the image another."""
    container = one(documents, DEPLOYMENT, "karpenter")["spec"]["template"]["spec"]["containers"][0]
    container["image"] = container["image"].replace("0.37.8", "0.37.6")


CONTROLLER_ENTRIES = (
    PlantedEntry(
        of=("log-level-values",),
        on="alpha-031",
        plant=helm_values({"logLevel": "warn"}),
        check="log_level_accepted",
        **of_helm("logLevel", **OLD),
        says="warn",
    ),
    PlantedEntry(
        of=("logging-config",),
        on="alpha-031",
        ready=helm_values({"logEncoding": "console"}),
        plant=helm_values({"logEncoding": None}),
        check="log_settings_kept",
        **of_helm("logConfig.logEncoding", **OLD),
        says="console becomes json",
    ),
    PlantedEntry(
        of=("webhook-metrics-port",),
        on="alpha-031",
        plant=put(DEPLOYMENT, "karpenter", "spec/template/spec/hostNetwork", True),
        check="metrics_port_followed",
        **of_deployment("spec.template.spec.hostNetwork", **OLD),
        says="8001",
    ),
    PlantedEntry(
        of=("log-level-info",),
        on="finished-032",
        ready=helm_values({"logLevel": "debug"}),
        plant=helm_values({"logLevel": None}),
        check="log_settings_kept",
        **of_helm("logLevel", **OLD),
        says="debug becomes info",
    ),
    PlantedEntry(
        of=("log-config-mounted",),
        on="finished-032",
        plant=helm_values({"logConfig": {"logLevel": {"global": "debug"}}}),
        check="log_settings_kept",
        **of_helm("logConfig.enabled", **OLD),
    ),
    PlantedEntry(
        of=("namespace-kube-system",),
        on="beta-036-read-as-v1",
        plant=rebuilt("beta-036-read-as-v1", namespace="karpenter"),
        check="namespace_move_prepared",
        **of_deployment("spec.template.spec.serviceAccountName", **OLD),
    ),
    PlantedEntry(
        of=("alpha-crds-left-behind",),
        on="beta-033",
        plant=taken_from("finished-032", CRD, ("provisioners.karpenter.sh",)),
        check="alpha_crds_gone",
        **of(CRD, "metadata.name", "provisioners.karpenter.sh"),
    ),
    PlantedEntry(
        of=("argocd-webhook-owner-reference",),
        on="beta-033",
        other={"version": "0.33.9"},
        plant=put(
            VALIDATING,
            "validation.webhook.karpenter.sh",
            "metadata/ownerReferences",
            [owner("Namespace", "kube-system", api_version="v1")],
        ),
        hop="0.33+",
        check="webhooks_not_owned_by_namespace",
        **of(VALIDATING, "metadata.ownerReferences", "validation.webhook.karpenter.sh"),
    ),
    PlantedEntry(
        of=("webhooks-off-by-default-cel",),
        on="beta-033",
        other={"version": "0.33.4", "webhooks": False},
        plant=taken_from("beta-033", VALIDATING, ("validation.webhook.karpenter.sh",)),
        hop="0.33+",
        check="admission_webhooks_current",
        **of(VALIDATING, "", "validation.webhook.karpenter.sh"),
        says="webhooks off",
    ),
    PlantedEntry(
        of=("pod-security-context-fsgroup",),
        on="beta-033",
        plant=helm_values(SIDECAR),
        check="controller_sidecars_fit",
        **of_helm("controller.sidecarContainer[proxy].securityContext", **HOME),
    ),
    PlantedEntry(
        of=("nodes-create-rbac",),
        on="beta-033",
        plant=add(*_role_of_ones_own()),
        check="controller_rights_minimal",
        **of("ClusterRole", "rules[nodes]", "karpenter-extra"),
    ),
    PlantedEntry(
        of=("oci-tag-prefix-dropped",),
        on="beta-037",
        ready=_by_argo("beta-037"),
        plant=put("Application", "", "spec/source/targetRevision", "v0.37.8"),
        check="deliveries_name_the_chart",
        **of("Application", "spec.source.targetRevision", "karpenter"),
        namespace="argocd",
    ),
    PlantedEntry(
        of=("ROLL-05",),
        on="beta-037",
        ready=_by_argo("beta-037"),
        plant=put("Application", "", "spec/syncPolicy", {"automated": {"selfHeal": True}}),
        check="gitops_paused",
        **of("Application", "spec.syncPolicy.automated", "karpenter"),
        namespace="argocd",
        says="selfHeal",
    ),
    PlantedEntry(
        of=("metric-offering-price-estimate",),
        on="beta-033",
        plant=add(_rule("max(karpenter_cloudprovider_instance_type_price_estimate) > 1")),
        check="alerts_name_current_metrics",
        **of("PrometheusRule", "spec.groups[g].rules[X].expr", "karpenter"),
        namespace="monitoring",
    ),
    PlantedEntry(
        of=("selector-hash-collision",),
        on="beta-037",
        plant=rebuilt("beta-037", version="0.37.7"),
        check="known_fixes_running",
        **of_deployment(IMAGE, **HOME),
        says="0.37.7",
    ),
    PlantedEntry(
        of=("alias-version-annotation",),
        on="v1-10",
        plant=rebuilt("v1-10", version="1.0.2"),
        check="controller_off_bad_patches",
        hop="1.0",
        **of_deployment(IMAGE, **HOME),
        says="alias",
    ),
    PlantedEntry(
        of=("kubernetes-1.25-minimum",),
        on="beta-037",
        plant=as_it_is,
        kubernetes="1.24",
        check="kubernetes_inside_window",
        **of("Cluster", "gitVersion", "beta-037"),
    ),
    PlantedEntry(
        of=("metrics-port-8080",),
        on="beta-037",
        ready=helm_values({"controller": {"metrics": {"port": 8000}}}),
        plant=helm_values({"controller": {"metrics": None}}),
        check="metrics_port_followed",
        **METRICS,
        **HOME,
        says="8000 now",
    ),
    PlantedEntry(
        of=("PATH-01",),
        on="beta-037",
        plant=_record_of_another,
        hop="0.33+",
        check="image_matches_records",
        **of_deployment(IMAGE, **HOME),
    ),
    PlantedEntry(
        of=("nodeoverlay-crd",),
        on="v1-18",
        plant=without(CRD, OVERLAYS),
        check="optional_crds_installed",
        **of(CRD, "spec.versions", OVERLAYS),
        says="absent",
        beside=frozenset({"running_release_known"}),
    ),
    PlantedEntry(
        of=("capacitybuffer-crd",),
        on="v1-newest",
        plant=put(CRD, BUFFERS, "metadata/annotations/meta.helm.sh~release-name", "cluster-autoscaler"),
        check="optional_crds_installed",
        **of(CRD, "metadata", BUFFERS),
        says="cluster-autoscaler",
        hop=NEWEST_MINOR,
    ),
    PlantedEntry(
        of=("gte-lte-crd",),
        on="v1-18",
        other={"version": "1.9.1"},
        plant=all_of(without(CRD, CLAIMS), taken_from("v1-18", CRD, (CLAIMS,))),
        check="crd_fields_current",
        **of(CRD, "spec.versions[v1].schema spec.requirements[].operator=Gte", CLAIMS),
    ),
    PlantedEntry(
        of=("metrics-port-8000",),
        on="alpha-028",
        other={"version": "0.27.6"},
        ready=put("Service", "karpenter", "spec/ports/0/port", 8000),
        plant=put("Service", "karpenter", "spec/ports/0/port", 8080),
        check="metrics_port_followed",
        **METRICS,
        **OLD,
        says="8080 now",
    ),
    PlantedEntry(
        of=("CTL-07",),
        on="beta-037",
        plant=as_it_is,
        refused=(refused(kinds.NODE_POOL, why=CONVERSION_FAILED, detail="conversion webhook failed: no endpoints"),),
        check="karpenter_lists_answer",
        **of("NodePool", "list", POOLS),
        says="conversion webhook failed",
        beside=frozenset({"conversion_webhook_resolves"}),
    ),
    PlantedEntry(
        of=("CRD-10",),
        on="v1-13",
        plant=as_it_is,
        refused=(refused(kinds.NODE_CLAIM, why=ServerFailed.code, detail=GONE),),
        check="karpenter_lists_answer",
        **of("NodeClaim", "list", CLAIMS),
        says=GONE,
    ),
)
