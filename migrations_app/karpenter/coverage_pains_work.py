"""Coverage of the known pains of conversion, workloads, rollouts and v1."""

from migrations_app.karpenter.coverage_shape import Coverage, covered

WORK_PAINS: tuple[Coverage, ...] = (
    covered("CONV-01", "Spot appears although nobody asked for it", "pools_state_capacity_type alpha_behaviour_kept"),
    covered("CONV-02", "The account has no role for spot", "spot_role_present"),
    covered(
        "CONV-03",
        "A pool suddenly allows other architectures and types",
        "alpha_behaviour_kept pools_replace_provisioners_alike",
    ),
    covered(
        "CONV-04",
        "Consolidation and expiry switch themselves on",
        "alpha_behaviour_kept pools_replace_provisioners_alike",
    ),
    covered(
        "CONV-05", "A placeholder is applied as the role", "instance_profiles_have_roles instance_profiles_named_exist"
    ),
    covered("CONV-06", "A private network without a way to IAM", "isolated_vpc_needs_no_iam"),
    covered(
        "CONV-07",
        "Launch templates and inline providers have no successor",
        "alpha_objects_convert inline_providers_gone",
    ),
    covered("CONV-08", "Lists in selectors stop matching", "selector_values_hold_no_comma"),
    covered("CONV-09", "Fields that are dropped in conversion", "alpha_objects_convert alpha_behaviour_kept"),
    covered("CONV-10", "The new node role may not join", "node_roles_may_join"),
    covered(
        "WL-01", "Pods pinned to the old label stay pending", "workloads_select_current_labels", table="label_rows"
    ),
    covered("WL-02", "Rules that keep pods off Karpenter stop working", "workloads_select_current_labels"),
    covered(
        "WL-03",
        "Annotations that protected pods do nothing any more",
        "retired_annotations_replaced",
        table="annotation_rows",
    ),
    covered(
        "WL-04",
        "Pods that tolerated the old taint are evicted early",
        "tolerations_name_current_taints",
        table="mark_rows",
    ),
    covered(
        "WL-05",
        "Beta labels of Kubernetes in requirements and pods",
        "workloads_select_stable_labels",
        table="node_label_aliases",
    ),
    covered("WL-06", "A budget that is never satisfied holds up the drain", "pdbs_allow_disruption one_budget_per_pod"),
    covered("WL-07", "Overdue nodes are all drained at once", "expired_claims_gone protected_pods_off_rolled_nodes"),
    covered("WL-08", "A grace period overrides protection", "grace_period_spares_protected_pods"),
    covered(
        "WL-09",
        "Workloads that do not survive a drain",
        "pods_have_controllers workloads_keep_a_pod local_data_left_behind",
    ),
    covered("WL-10", "Volumes are bound to a zone", "zones_of_volumes_served"),
    covered("WL-11", "Pods lose instance metadata", "metadata_reachable_for_pods"),
    covered("ROLL-01", "Taint and drift does nothing", "drift_enabled_for_rollout"),
    covered("ROLL-02", "New nodes still come from the old pool", "old_provisioners_fenced"),
    covered(
        "ROLL-03",
        "Deleting a pool drains all nodes at once",
        "provisioners_hold_no_nodes pdbs_allow_disruption workloads_keep_a_pod",
    ),
    covered("ROLL-04", "Terraform deletes and makes the pool anew", "terraform_keeps_no_pool terraform_adds_beside"),
    covered("ROLL-05", "GitOps undoes what is done by hand", "gitops_paused delivery_tools_agree"),
    covered("ROLL-06", "Server-side apply fights over converted fields", "gitops_applies_current_versions"),
    covered(
        "ROLL-07", "Everything drifts after an upgrade", "hashes_carry_over feature_gates_in_force claims_not_drifted"
    ),
    covered("ROLL-08", "Drift cannot be switched off any more", "drift_not_held_off"),
    covered("ROLL-09", "The newest image replaces nodes when AWS publishes it", "images_pinned"),
    covered("ROLL-10", "Consolidation becomes restless", "consolidation_calm consolidation_stated"),
    covered("ROLL-11", "The speed of disruption changes", "disruption_paced budgets_let_nodes_go"),
    covered("ROLL-12", "Objects hang because of the order", "nothing_stuck_deleting"),
    covered("ROLL-13", "Finalizers are left after the controller is gone", "finalizers_served"),
    covered("ROLL-14", "Claims without a whole node class reference", "node_class_references_complete"),
    covered("ROLL-15", "Claims owned by an object of the old version", "claims_owned_by_current_version"),
    covered(
        "ROLL-16",
        "Nodes that nobody recognises",
        "nodes_owned_by_nodeclaims instances_have_claims no_taint_left_behind",
    ),
    covered("ROLL-17", "Argo CD shows beta pools as progressing for ever", "argocd_waits_for_no_beta"),
    covered(
        "V1-01", "kubelet settings are lost or shared", "kubelet_settings_in_classes compatibility_annotations_gone"
    ),
    covered("V1-02", "The Ubuntu family", "ubuntu_images_named"),
    covered(
        "V1-03",
        "Nodes of custom images never register",
        "custom_images_tainted custom_images_register claims_join_their_nodes",
    ),
    covered("V1-04", "Image terms are required and an alias has to fit", "image_terms_valid gpu_pools_name_images"),
    covered(
        "V1-05",
        "Settings that vanish",
        "removed_env_names_unused global_settings_carried_over removed_helm_keys_unused",
        table="env_rows",
    ),
    covered(
        "V1-06",
        "Alerts and dashboards go blank",
        "alerts_name_current_metrics dashboards_name_current_metrics metrics_port_followed",
        table="metric_rows",
    ),
)
