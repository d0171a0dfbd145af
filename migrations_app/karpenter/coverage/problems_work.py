"""Coverage of the known problems with conversion, workloads, rollouts and v1."""

from migrations_app.karpenter.coverage.entry import Coverage, covered

WORK_PROBLEMS: tuple[Coverage, ...] = (
    covered(
        "CONV-01", "Spot appears although nobody asked for it", checks="pools_state_capacity_type alpha_behaviour_kept"
    ),
    covered("CONV-02", "The account has no role for spot", checks="spot_role_present"),
    covered(
        "CONV-03",
        "A pool suddenly allows other architectures and types",
        checks="alpha_behaviour_kept pools_replace_provisioners_alike",
    ),
    covered(
        "CONV-04",
        "Consolidation and expiry switch themselves on",
        checks="alpha_behaviour_kept pools_replace_provisioners_alike",
    ),
    covered(
        "CONV-05",
        "A placeholder is applied as the role",
        checks="instance_profiles_have_roles instance_profiles_named_exist node_roles_may_join",
    ),
    covered("CONV-06", "A private network without a way to IAM", checks="isolated_vpc_needs_no_iam"),
    covered(
        "CONV-07",
        "Launch templates and inline providers have no successor",
        checks="alpha_objects_convert inline_providers_gone",
    ),
    covered("CONV-08", "Lists in selectors stop matching", checks="selector_values_hold_no_comma"),
    covered("CONV-09", "Fields that are dropped in conversion", checks="alpha_objects_convert alpha_behaviour_kept"),
    covered("CONV-10", "The new node role may not join", checks="node_roles_may_join"),
    covered(
        "WL-01",
        "Pods pinned to the old label stay pending",
        checks="workloads_select_current_labels policies_name_current_keys",
        table="karpenter.tables.label_rows",
    ),
    covered("WL-02", "Rules that keep pods off Karpenter stop working", checks="workloads_select_current_labels"),
    covered(
        "WL-03",
        "Annotations that protected pods do nothing any more",
        checks="retired_annotations_replaced policies_name_current_keys",
        table="karpenter.tables.annotation_rows",
        search="the two annotations in policies of Kyverno and Gatekeeper, and Rollouts",
    ),
    covered(
        "WL-04",
        "Pods that tolerated the old taint are evicted early",
        checks="tolerations_name_current_taints",
        table="karpenter.tables.mark_rows",
    ),
    covered(
        "WL-05",
        "Beta labels of Kubernetes in requirements and pods",
        checks="workloads_select_stable_labels",
        table="karpenter.labels",
    ),
    covered(
        "WL-06",
        "A budget that is never satisfied holds up the drain",
        checks="pdbs_allow_disruption one_budget_per_pod",
    ),
    covered(
        "WL-07", "Overdue nodes are all drained at once", checks="expired_claims_gone protected_pods_off_rolled_nodes"
    ),
    covered("WL-08", "A grace period overrides protection", checks="grace_period_spares_protected_pods"),
    covered(
        "WL-09",
        "Workloads that do not survive a drain",
        checks="pods_have_controllers workloads_keep_a_pod local_data_left_behind",
    ),
    covered("WL-10", "Volumes are bound to a zone", checks="zones_of_volumes_served"),
    covered("WL-11", "Pods lose instance metadata", checks="metadata_reachable_for_pods"),
    covered("ROLL-01", "Taint and drift does nothing", checks="drift_enabled_for_rollout"),
    covered("ROLL-02", "New nodes still come from the old pool", checks="old_provisioners_fenced"),
    covered(
        "ROLL-03",
        "Deleting a pool drains all nodes at once",
        checks="provisioners_hold_no_nodes pdbs_allow_disruption workloads_keep_a_pod",
    ),
    covered(
        "ROLL-04",
        "Terraform deletes and makes the pool anew",
        checks="terraform_adds_beside",
        unjudged="what Terraform's kubectl provider applied under the name kubectl",
    ),
    covered(
        "ROLL-05",
        "GitOps undoes what is done by hand",
        checks="gitops_paused delivery_tools_agree",
        unjudged="what the repository applies next",
    ),
    covered(
        "ROLL-06",
        "Server-side apply fights over converted fields",
        checks="gitops_applies_current_versions",
        unjudged="manifests that no tool has applied yet",
    ),
    covered(
        "ROLL-07",
        "Everything drifts after an upgrade",
        checks="hashes_carry_over feature_gates_in_force claims_not_drifted",
    ),
    covered("ROLL-08", "Drift cannot be switched off any more", checks="drift_not_held_off"),
    covered("ROLL-09", "The newest image replaces nodes when AWS publishes it", checks="images_pinned"),
    covered("ROLL-10", "Consolidation becomes restless", checks="consolidation_calm consolidation_stated"),
    covered("ROLL-11", "The speed of disruption changes", checks="disruption_paced budgets_let_nodes_go"),
    covered("ROLL-12", "Objects hang because of the order", checks="nothing_stuck_deleting"),
    covered("ROLL-13", "Finalizers are left after the controller is gone", checks="finalizers_served"),
    covered("ROLL-14", "Claims without a whole node class reference", checks="node_class_references_complete"),
    covered("ROLL-15", "Claims owned by an object of the old version", checks="claims_owned_by_current_version"),
    covered(
        "ROLL-16",
        "Nodes that nobody recognises",
        checks="nodes_owned_by_nodeclaims instances_have_claims no_taint_left_behind",
    ),
    covered("ROLL-17", "Argo CD shows beta pools as progressing for ever", checks="argocd_waits_for_no_beta"),
    covered(
        "V1-01",
        "kubelet settings are lost or shared",
        checks="kubelet_settings_in_classes compatibility_annotations_gone",
    ),
    covered("V1-02", "The Ubuntu family", checks="ubuntu_images_named"),
    covered(
        "V1-03",
        "Nodes of custom images never register",
        checks="custom_images_tainted custom_images_register claims_join_their_nodes",
    ),
    covered(
        "V1-04", "Image terms are required and an alias has to fit", checks="image_terms_valid gpu_pools_name_images"
    ),
    covered(
        "V1-05",
        "Settings that vanish",
        checks="removed_env_names_unused global_settings_carried_over removed_helm_keys_unused",
        table="karpenter.tables.env_rows",
    ),
    covered(
        "V1-06",
        "Alerts and dashboards go blank",
        checks="alerts_name_current_metrics dashboards_name_current_metrics metrics_port_followed",
        table="karpenter.tables.metric_rows",
    ),
)
