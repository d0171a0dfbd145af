"""Coverage of the known problems with CRDs, versions, permissions, the AWS account and the controller."""

from migrations_app.karpenter.coverage.entry import Coverage, covered

PLATFORM_PROBLEMS: tuple[Coverage, ...] = (
    covered(
        "CRD-01",
        "Helm upgrades no CRD",
        checks="crds_match_controller crd_fields_current hop_crds_installed",
        table="karpenter.crds",
    ),
    covered("CRD-02", "karpenter-crd refuses CRDs that it does not own", checks="crds_owned_by_helm"),
    covered(
        "CRD-03", "The conversion webhook aims at a service that is not there", checks="conversion_webhook_resolves"
    ),
    covered(
        "CRD-04",
        "The CRD converts while the chart has webhooks off",
        checks="conversion_webhook_on crd_chart_values_match controller_off_bad_patches",
        table="karpenter.tables.release_rows_beta",
    ),
    covered(
        "CRD-05",
        "Webhooks are on while the CRD does not convert",
        checks="crds_match_controller conversion_webhook_resolves",
    ),
    covered(
        "CRD-06",
        "Webhooks were switched off and objects lost fields",
        checks="conversion_webhook_on stored_versions_clean",
    ),
    covered(
        "CRD-07",
        "The API server cannot reach the webhook",
        checks="ports_open controller_outside_mesh controller_outside_overlay",
        unjudged="security groups that keep the API server from the webhook's port",
    ),
    covered(
        "CRD-08", "v1beta1 is still listed as stored", checks="stored_versions_clean stored_versions_can_be_rewritten"
    ),
    covered("CRD-09", "Fields of conversion left on a CRD break the next patch", checks="crd_conversion_cleared"),
    covered(
        "CRD-10", "Objects of a version that is gone cannot be listed", checks="karpenter_lists_answer crds_served"
    ),
    covered("CRD-11", "A CRD is stuck being deleted", checks="crds_not_terminating"),
    covered(
        "CRD-12",
        "Deleting alpha CRDs deletes nodes",
        checks="alpha_crds_outlive_chart legacy_provisioners_gone legacy_machines_gone",
    ),
    covered("CRD-13", "Two tools deliver the same CRD", checks="one_owner_of_crds delivery_tools_agree"),
    covered(
        "CRD-14",
        "Admission webhooks of an older chart are left",
        checks="admission_webhooks_current",
        table="karpenter.release_facts",
    ),
    covered(
        "CRD-15",
        "The post-install Job never ends under Argo CD",
        checks="controller_off_bad_patches hook_jobs_finished",
        table="karpenter.tables.release_rows_beta",
    ),
    covered(
        "PATH-01",
        "Nobody knows which hops are allowed",
        checks="hop_start_runs image_matches_records image_follows_chart running_release_known",
        table="karpenter.hops",
    ),
    covered(
        "PATH-02",
        "0.33 while alpha objects are left",
        checks="legacy_provisioners_gone legacy_node_templates_gone legacy_machines_gone",
    ),
    covered(
        "PATH-03",
        "A rollback target that cannot take over",
        checks="way_back_open rollback_loses_nothing",
        table="karpenter.tables.release_rows_v1",
    ),
    covered(
        "PATH-04",
        "Kubernetes outside of the window",
        checks="kubernetes_inside_window running_release_fits_kubernetes",
        table="karpenter.tables.release_rows_v1",
    ),
    covered(
        "PATH-05",
        "Releases known to be bad",
        checks="controller_off_bad_patches",
        table="karpenter.tables.release_rows_v1",
    ),
    covered(
        "PATH-06", "Up, down and up again across 0.28 ends instances", checks="instances_have_claims way_back_open"
    ),
    covered(
        "IAM-01",
        "Permissions on instance profiles are missing",
        checks="controller_permitted role_profiles_permitted simulation_agrees",
        table="iam.requirements.requests",
    ),
    covered(
        "IAM-02",
        "Tagging of spot requests is refused",
        checks="controller_permitted",
        table="iam.requirements.requests",
    ),
    covered(
        "IAM-03",
        "Running nodes cannot be tagged anew",
        checks="controller_permitted instance_tags_match_conditions",
        table="iam.requirements.requests",
    ),
    covered("IAM-04", "The managed policy grows too large", checks="policy_size_fits"),
    covered("IAM-05", "PassRole does not cover a role in use", checks="role_profiles_permitted controller_permitted"),
    covered(
        "IAM-06",
        "A move of namespace breaks trust and may leave two controllers",
        checks="controller_role_named controller_trust_fits one_controller_runs namespace_move_prepared",
    ),
    covered(
        "IAM-07",
        "A service control policy demands associatePublicIPAddress",
        checks="public_addresses_stated",
        search="ec2:AssociatePublicIpAddress in service control policies",
    ),
    covered(
        "IAM-08",
        "Policies and cost tools go by old tags",
        checks="instance_tags_match_conditions sources_outside_current",
        table="karpenter.tables.outside_rows",
        search="karpenter.sh/provisioner-name in policies, event rules and cost reports",
    ),
    covered(
        "AWS-01",
        "No room for the nodes that replace others",
        checks="pools_have_room aws_has_room",
    ),
    covered(
        "AWS-02",
        "Interruptions are silently not handled",
        checks="global_settings_carried_over removed_helm_keys_unused interruption_queue_answers",
        table="karpenter.release_facts",
    ),
    covered("AWS-03", "The queue that is named does not exist", checks="interruption_queue_answers"),
    covered("AWS-04", "Instances without an owner", checks="instances_have_claims"),
    covered(
        "AWS-05",
        "Later hops need permissions and fields too",
        checks="controller_permitted crd_fields_current",
        table="iam.requirements.needs",
    ),
    covered("CTL-01", "The controller runs on nodes that it manages", checks="controller_off_its_nodes"),
    covered("CTL-02", "The second replica finds no node", checks="controller_runs_redundantly one_controller_runs"),
    covered("CTL-03", "The controller runs out of memory", checks="controller_resources_sized"),
    covered("CTL-04", "The controller needs the DNS that waits for its nodes", checks="controller_dns_reachable"),
    covered(
        "CTL-05",
        "The controller lacks rights in the cluster",
        checks="controller_rbac_current",
        table="karpenter.tables.rbac_rows",
    ),
    covered("CTL-06", "Two autoscalers", checks="one_autoscaler_runs"),
    covered("CTL-07", "Tools break on what conversion cannot answer", checks="karpenter_lists_answer"),
)
