"""Environment variables of the controller, by release.

Sources: charts/karpenter/templates/deployment.yaml of aws/karpenter-provider-aws at the newest tag of every minor,
and website/content/en/v1.0/upgrading/v1-migration.md. The charts write no variable for an empty value.
"""

from typing import NamedTuple


class EnvName(NamedTuple):
    """A variable and the releases that read it, both ends included; an empty end is open. Up to 0.31 settings came
    from a ConfigMap.
    """

    name: str
    first: str = ""
    last: str = ""
    replacement: str = ""
    fate: str = ""


ENV_NAMES: tuple[EnvName, ...] = (
    EnvName("CLUSTER_NAME", "0.32"),
    EnvName("CLUSTER_ENDPOINT", "0.32"),
    EnvName("CLUSTER_CA_BUNDLE", "0.32"),
    EnvName("INTERRUPTION_QUEUE", "0.32"),
    EnvName("ISOLATED_VPC", "0.32"),
    EnvName("VM_MEMORY_OVERHEAD_PERCENT", "0.32"),
    EnvName("RESERVED_ENIS", "0.32"),
    EnvName("BATCH_MAX_DURATION", "0.32"),
    EnvName("BATCH_IDLE_DURATION", "0.32"),
    EnvName("FEATURE_GATES", "0.32"),
    EnvName(
        "ASSUME_ROLE_ARN",
        "0.32",
        "0.37",
        "",
        "gone at 1.0: the controller would talk to its own account; chain roles through IRSA or Pod Identity",
    ),
    EnvName("ASSUME_ROLE_DURATION", "0.32", "0.37", "", "gone at 1.0 with ASSUME_ROLE_ARN"),
    EnvName("LOGGING_CONFIG", "", "0.37", "LOG_LEVEL", "gone at 1.0"),
    EnvName("LOG_OUTPUT_PATHS", "1.0"),
    EnvName("LOG_ERROR_OUTPUT_PATHS", "1.0"),
    EnvName("LEADER_ELECT", "", "0.37", "DISABLE_LEADER_ELECTION", "renamed at 1.0 with the opposite meaning"),
    EnvName("DISABLE_LEADER_ELECTION", "1.0", "", "LEADER_ELECT", "before 1.0 the name had the opposite meaning"),
    EnvName("DISABLE_WEBHOOK", "0.30", "1.0", "", "1.1 has no webhooks"),
    EnvName("WEBHOOK_METRICS_PORT", "0.32", "1.0", "", "1.1 has no webhooks"),
    EnvName("EKS_CONTROL_PLANE", "1.1"),
    EnvName("PREFERENCE_POLICY", "1.4"),
    EnvName("MIN_VALUES_POLICY", "1.6"),
    EnvName("DISABLE_DRY_RUN", "1.6.2"),
    EnvName("IGNORE_DRA_REQUESTS", "1.7"),
    EnvName("DISABLE_CLUSTER_STATE_OBSERVABILITY", "1.7"),
    EnvName("ENABLE_ZONAL_SHIFT", "1.12"),
    EnvName("AMI_REFRESH_INTERVAL", "1.13"),
    EnvName("SUBNET_REFRESH_INTERVAL", "1.13"),
)
