"""Coverage of the changes on the way from beta to v1, 1.0 and 1.1."""

from migrations_app.karpenter.coverage_shape import Coverage, covered

TO_V1_CHANGES: tuple[Coverage, ...] = (
    covered(
        "al2023-gpu-discovery",
        "Standard AL2023 images are not used for accelerators",
        "gpu_pools_name_images",
        release="1.0",
    ),
    covered(
        "al2023-nodeconfig-precedence",
        "The generated NodeConfig wins over user data",
        "node_config_left_to_karpenter",
        release="1.0",
    ),
    covered(
        "ami-selector-terms-required",
        "Image terms are required, and an alias stands alone",
        "image_terms_valid images_pinned",
        release="1.0",
    ),
    covered(
        "ubuntu-family-dropped", "amiFamily Ubuntu is gone", "ubuntu_images_named beta_objects_convert", release="1.0"
    ),
    covered(
        "alias-version-annotation",
        "Read as v1beta1, a pinned alias lives in an annotation",
        "controller_off_bad_patches way_back_open",
        release="1.0",
        table="release_rows_v1",
    ),
    covered(
        "annotations-dropped-v1",
        "do-not-evict and do-not-consolidate do nothing any more",
        "retired_annotations_replaced",
        release="1.0",
        table="annotation_rows",
    ),
    covered(
        "drift-gate-dropped", "Drift cannot be switched off", "drift_not_held_off claims_not_drifted", release="1.0"
    ),
    covered("forceful-expiration", "An expired claim is drained at once", "expired_claims_gone", release="1.0"),
    covered(
        "instance-termination-wait",
        "Objects stay until the instance is gone, and an error is counted meanwhile",
        "queries_outside_current",
        release="1.0",
        table="outside_rows",
        search="alerts on karpenter_cloudprovider_errors_total",
    ),
    covered(
        "env-vars-dropped-v1",
        "ASSUME_ROLE_ARN and LOGGING_CONFIG are ignored",
        "removed_env_names_unused no_role_assumed",
        release="1.0",
        table="env_rows",
    ),
    covered(
        "leader-elect-renamed",
        "LEADER_ELECT becomes DISABLE_LEADER_ELECTION",
        "removed_env_names_unused",
        release="1.0",
        table="env_rows",
    ),
    covered(
        "helm-values-v1",
        "logConfig, assumeRole and the drift gate leave the chart",
        "removed_helm_keys_unused",
        release="1.0",
        table="helm_rows",
    ),
    covered(
        "post-install-hook",
        "Some patches change the CRDs from a Job",
        "controller_off_bad_patches hook_jobs_finished",
        release="1.0",
        table="release_rows_beta",
    ),
    covered(
        "topology-spread-required", "Replicas have to spread over zones", "controller_runs_redundantly", release="1.0"
    ),
    covered(
        "iam-v1-policy",
        "Requests carry eks:eks-cluster-name",
        "controller_permitted instance_tags_match_conditions",
        release="1.0",
        table="iam.probes",
    ),
    covered(
        "kubernetes-1.25-minimum",
        "1.0 needs Kubernetes 1.25",
        "kubernetes_inside_window",
        release="1.0",
        table="release_rows_v1",
    ),
    covered(
        "managed-by-tag-dropped",
        "karpenter.sh/managed-by is not written any more",
        "instances_listed_after_hop sources_outside_current",
        release="1.0",
        table="outside_rows",
        search="karpenter.sh/managed-by in service control policies and cost reports",
    ),
    covered(
        "metrics-port-8080",
        "Metrics go back to port 8080",
        "metrics_port_followed",
        release="1.0",
        table="release_rows_v1",
    ),
    covered(
        "metrics-renamed-v1",
        "Counters end in _total, and disruption has other names",
        "alerts_name_current_metrics dashboards_name_current_metrics queries_outside_current",
        release="1.0",
        table="metric_rows",
    ),
    covered(
        "associate-public-ip",
        "associatePublicIPAddress is not forced to false any more",
        "public_addresses_stated beta_behaviour_kept",
        release="1.0",
    ),
    covered(
        "imds-hop-limit", "Pods cannot reach instance metadata by default", "metadata_reachable_for_pods", release="1.0"
    ),
    covered(
        "consolidate-after-required",
        "consolidateAfter is required",
        "consolidation_stated beta_objects_convert",
        release="1.0",
    ),
    covered(
        "consolidation-policy-renamed",
        "WhenUnderutilized has another name",
        "consolidation_stated beta_objects_convert",
        release="1.0",
    ),
    covered(
        "expireafter-moved",
        "expireAfter moves to the template and is part of drift",
        "expiry_stated beta_behaviour_kept",
        release="1.0",
    ),
    covered(
        "kubelet-moved",
        "kubelet settings move to the node class",
        "kubelet_settings_in_classes compatibility_annotations_gone",
        release="1.0",
    ),
    covered(
        "nodeclassref-group",
        "A node class reference needs group and kind",
        "node_class_references_complete",
        release="1.0",
    ),
    covered(
        "readiness-conditions", "What is not Ready is left out of scheduling", "pools_and_classes_ready", release="1.0"
    ),
    covered(
        "rbac-v1",
        "The controller needs more rights in the cluster",
        "controller_rbac_current",
        release="1.0",
        table="rbac_rows",
    ),
    covered(
        "disrupted-taint-v1",
        "The disruption taint has another key",
        "tolerations_name_current_taints",
        release="1.0",
        table="mark_rows",
    ),
    covered(
        "unregistered-taint",
        "Custom images have to join with the unregistered taint",
        "custom_images_tainted custom_images_register claims_join_their_nodes",
        release="1.0",
    ),
    covered(
        "conversion-webhook-service",
        "The conversion webhook has to name the real Service",
        "conversion_webhook_resolves crd_chart_values_match",
        release="1.0",
    ),
    covered(
        "gitops-conversion-fight",
        "GitOps tools take conversion for drift",
        "one_owner_of_crds gitops_applies_current_versions",
        release="1.0",
    ),
    covered(
        "stale-admission-webhooks",
        "Admission webhooks left behind refuse writes",
        "admission_webhooks_current",
        release="1.0",
        table="admission_webhooks",
    ),
    covered(
        "v1-conversion-webhook",
        "v1beta1 is served through a conversion webhook",
        "conversion_webhook_on conversion_webhook_resolves",
        release="1.0",
    ),
    covered(
        "compat-annotations-dropped",
        "Compatibility annotations are ignored",
        "compatibility_annotations_gone",
        release="1.1",
        table="annotation_rows",
    ),
    covered(
        "stored-versions",
        "CRDs without v1beta1 are refused while it is stored",
        "stored_versions_clean stored_versions_can_be_rewritten",
        release="1.1",
    ),
    covered(
        "v1beta1-dropped",
        "v1beta1 is neither served nor converted",
        "gitops_applies_current_versions sources_outside_current",
        release="1.1",
        table="outside_rows",
        search="apiVersion v1beta1 in Git, Terraform, charts and pipelines",
    ),
    covered(
        "instance-cluster-name-tag",
        "1.1 sees only instances tagged with the cluster",
        "claims_tagged_with_cluster instances_listed_after_hop",
        release="1.1",
    ),
)
