"""Coverage of the changes within the alpha releases, 0.28 to 0.31."""

from migrations_app.karpenter.coverage.entry import Coverage, covered, uncovered

ALPHA_CHANGES: tuple[Coverage, ...] = (
    covered(
        "rollback-managed-by-tag",
        "An instance that was tagged by 0.28 and lost its Machine is removed when the upgrade is tried again",
        checks="way_back_open instances_have_claims",
        release="0.28",
    ),
    covered(
        "machine-crd-required",
        "0.28 needs the CRD of Machine, which Helm does not bring",
        checks="crds_match_controller hop_crds_installed",
        release="0.28",
        table="karpenter.crds",
    ),
    covered(
        "extra-objects-removed",
        "extraObjects is gone from the chart",
        checks="removed_helm_keys_unused",
        release="0.28",
        table="karpenter.tables.helm_rows",
    ),
    covered(
        "node-name-convention-removed",
        "aws.nodeNameConvention is ignored",
        checks="removed_helm_keys_unused global_settings_carried_over",
        release="0.28",
        table="karpenter.tables.helm_rows",
    ),
    covered(
        "kubernetes-1.26-incompatible-0.28.0",
        "0.28.0 launches too many nodes on Kubernetes 1.26 and later",
        checks="controller_off_bad_patches",
        release="0.28",
        table="karpenter.tables.release_rows_alpha",
    ),
    covered(
        "version-outside-matrix",
        "A minor supports a range of Kubernetes",
        checks="kubernetes_inside_window",
        release="0.28",
        table="karpenter.tables.release_rows_v1",
    ),
    covered(
        "metrics-port-8000",
        "Metrics move from port 8080 to 8000",
        checks="metrics_port_followed",
        release="0.28",
        table="karpenter.tables.release_rows_alpha",
    ),
    covered("restricted-tags-alpha", "Three EC2 tags are reserved", checks="reserved_tags_left_alone", release="0.28"),
    covered(
        "sg-subnet-drift",
        "A change of security groups or subnets counts as drift",
        checks="sources_outside_current",
        release="0.29",
        table="karpenter.tables.outside_rows",
        search="AWSNodeTemplates whose selectors were changed since their instances started",
    ),
    uncovered(
        "iam-scoped-policy-0.29",
        "The reference policy is scoped by tags",
        cause="harmless",
        reason="The wider policy keeps working; the sheet of permissions shows what is not needed.",
        release="0.29",
    ),
    covered(
        "service-ports-0.29",
        "Default ports of the Service become 8000 and 8443",
        checks="ports_open",
        release="0.29",
        table="karpenter.tables.release_rows_alpha",
    ),
    covered(
        "static-drift-alpha",
        "Drift by hash passes over Machines made before 0.30",
        checks="drift_enabled_for_rollout",
        release="0.30",
    ),
    covered(
        "security-context-fixed",
        "Security contexts can no longer be set in the chart",
        checks="removed_helm_keys_unused controller_sidecars_fit",
        release="0.30",
        table="karpenter.tables.helm_rows",
    ),
    covered(
        "selector-id-exclusive",
        "Ids may not be mixed with tags in a selector",
        checks="alpha_behaviour_kept",
        release="0.30",
    ),
    covered(
        "security-context-container-only",
        "A sidecar no longer inherits the restricted context",
        checks="controller_sidecars_fit",
        release="0.31",
        table="karpenter.tables.helm_rows",
    ),
)
