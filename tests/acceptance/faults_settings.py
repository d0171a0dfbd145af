"""Faults of settings: Helm values, variables, feature gates and the ConfigMap of old."""

import base64
import copy
import gzip
import json

from tests.acceptance.places import ENV, HOME, OLD, of_deployment, of_helm
from tests.acceptance.planting import Document, Fault, all_of, helm_values, one, put, variable


def _stopped_run(documents: list[Document]) -> None:
    """A newer revision of the controller's release, as a pipeline leaves it that was stopped."""
    deployed = one(documents, "Secret", "sh.helm.release.v1.karpenter.v3")
    body = json.loads(gzip.decompress(base64.b64decode(base64.b64decode(deployed["data"]["release"]))))
    body["info"]["status"], body["version"] = "pending-upgrade", 4
    packed = base64.b64encode(gzip.compress(json.dumps(body).encode(), mtime=0))
    made = copy.deepcopy(deployed)
    made["data"]["release"] = base64.b64encode(packed).decode()
    made["metadata"] |= {"name": "sh.helm.release.v1.karpenter.v4", "uid": "stopped"}
    made["metadata"]["labels"] |= {"status": "pending-upgrade", "version": "4"}
    documents.append(made)


HELM_FAULTS = (
    Fault(
        of="a run of Helm that was stopped",
        on="beta-037",
        plant=_stopped_run,
        check="helm_runs_finished",
        kind="HelmRelease",
        object="karpenter",
        path="info.status",
        **HOME,
    ),
    Fault(
        of="a chart without the cluster name that it requires",
        on="v1-13",
        plant=helm_values({"settings": {"clusterName": None}}),
        check="required_chart_values_given",
        **of_helm("settings.clusterName", **HOME),
    ),
    Fault(
        of="extra-objects-removed",
        on="alpha-028",
        plant=helm_values({"extraObjects": [{"kind": "Provisioner"}]}),
        check="removed_helm_keys_unused",
        **of_helm("extraObjects", **OLD),
    ),
    Fault(
        of="node-name-convention-removed",
        on="alpha-028",
        plant=helm_values({"settings": {"aws": {"nodeNameConvention": "resource-name"}}}),
        check="removed_helm_keys_unused",
        **of_helm("settings.aws.nodeNameConvention", **OLD),
    ),
    Fault(
        of="security-context-fixed",
        on="alpha-028",
        plant=helm_values({"podSecurityContext": {"fsGroup": 2000}}),
        check="removed_helm_keys_unused",
        **of_helm("podSecurityContext", **OLD),
    ),
    Fault(
        of="security-context-container-only",
        on="alpha-030",
        plant=helm_values({"controller": {"sidecarContainer": [{"name": "proxy", "image": "registry.example/p"}]}}),
        check="controller_sidecars_fit",
        **of_helm("controller.sidecarContainer[proxy].securityContext", **OLD),
    ),
    Fault(
        of="helm-values-flattened",
        on="finished-032",
        plant=helm_values({"settings": {"clusterName": None, "aws": {"clusterName": "finished-032"}}}),
        check="removed_helm_keys_unused",
        **of_helm("settings.aws.clusterName", **OLD),
    ),
    Fault(
        of="helm-interruption-queue-name",
        on="finished-032",
        plant=all_of(
            helm_values({"settings": {"interruptionQueue": None, "interruptionQueueName": "finished-032"}}),
            variable("INTERRUPTION_QUEUE", None),
        ),
        check="removed_helm_keys_unused",
        **of_helm("settings.interruptionQueueName", **OLD),
    ),
    Fault(
        of="global-settings-dropped-keys",
        on="finished-032",
        plant=helm_values({"settings": {"aws": {"tags": {"team": "shop"}}}}),
        check="removed_helm_keys_unused",
        **of_helm("settings.aws.tags", **OLD),
    ),
    Fault(
        of="global-settings-configmap-removed",
        on="finished-032",
        plant=all_of(
            put("ConfigMap", "karpenter-global-settings", "data/aws.interruptionQueueName", "finished-032"),
            variable("INTERRUPTION_QUEUE", None),
            helm_values({"settings": {"interruptionQueue": None}}),
        ),
        check="global_settings_carried_over",
        kind="ConfigMap",
        object="karpenter-global-settings",
        path="data[aws.interruptionQueueName]",
        **OLD,
    ),
    Fault(
        of="helm-values-v1",
        on="beta-037",
        plant=helm_values({"logConfig": {"enabled": True}}),
        check="removed_helm_keys_unused",
        **of_helm("logConfig.enabled", **HOME),
    ),
    Fault(
        of="PATH-01",
        on="beta-037",
        plant=helm_values({"controller": {"image": {"tag": "0.37.8"}}}),
        check="image_follows_chart",
        **of_helm("controller.image.tag", **HOME),
    ),
    Fault(
        of="drift-gate-dropped",
        on="beta-037",
        plant=variable("FEATURE_GATES", "Drift=false,SpotToSpotConsolidation=false"),
        check="drift_not_held_off",
        kind="NodePool",
        object="default",
        path="spec.disruption.budgets",
    ),
    Fault(
        of="drift-on-by-default",
        on="beta-037",
        plant=variable("FEATURE_GATES", "SpotToSpotConsolidation=true"),
        check="feature_gates_in_force",
        **of_deployment(f"{ENV}[FEATURE_GATES]", **HOME),
        beside=("drift_not_held_off",),
    ),
    Fault(
        of="env-vars-dropped-v1",
        on="beta-037",
        plant=variable("ASSUME_ROLE_ARN", "arn:aws:iam::444455556666:role/launcher"),
        check="no_role_assumed",
        **of_deployment(f"{ENV}[ASSUME_ROLE_ARN]", **HOME),
        beside=("removed_env_names_unused",),
    ),
    Fault(
        of="helm-values-flattened",
        on="beta-037",
        plant=variable("CLUSTER_NAME", None),
        check="cluster_name_given",
        **of_deployment(f"{ENV}[CLUSTER_NAME]", **HOME),
    ),
    Fault(
        of="leader-elect-renamed",
        on="beta-037",
        plant=variable("LEADER_ELECT", "false"),
        check="removed_env_names_unused",
        **of_deployment(f"{ENV}[LEADER_ELECT]", **HOME),
    ),
    Fault(
        of="v1-conversion-webhook",
        on="beta-037",
        plant=variable("DISABLE_WEBHOOK", "true"),
        check="conversion_webhook_on",
        **of_deployment(f"{ENV}[DISABLE_WEBHOOK]", **HOME),
        beside=("admission_webhooks_current",),
    ),
    Fault(
        of="CRD-04",
        on="beta-037",
        plant=helm_values({"webhook": {"enabled": False}}, chart="karpenter-crd"),
        check="crd_chart_values_match",
        **of_helm("webhook.enabled", chart="karpenter-crd", **HOME),
    ),
    Fault(
        of="crd-controller-lockstep",
        on="beta-037",
        plant=helm_values({"webhook": {"serviceName": "karpenter-webhook"}}, chart="karpenter-crd"),
        check="crd_chart_values_match",
        **of_helm("webhook.serviceName", chart="karpenter-crd", **HOME),
    ),
    Fault(
        of="webhook-values-removed",
        on="v1-10",
        plant=helm_values({"webhook": {"port": 8443}}),
        check="webhook_values_gone",
        **of_helm("webhook.port", **HOME),
    ),
    Fault(
        of="unread value",
        on="v1-13",
        plant=helm_values({"settings": {"clusterNam": "v1-13"}}),
        check="removed_helm_keys_unused",
        **of_helm("settings.clusterNam", **HOME),
    ),
)
