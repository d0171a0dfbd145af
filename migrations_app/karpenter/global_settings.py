"""Keys of the ConfigMap karpenter-global-settings, and where each setting lives once the ConfigMap is no longer read.

Source: charts/karpenter/templates/configmap.yaml of v0.31.5 and deployment.yaml of v0.32.10 and v0.33.12 in
aws/karpenter-provider-aws. From 0.33 on the ConfigMap is neither read nor rendered.
"""

from typing import NamedTuple

LAST_READ = "0.32"


class SettingRow(NamedTuple):
    """`env` and `value` are the variable and the Helm value that took over; both empty where nothing did, and then
    `fate` says what to do instead. `default` is what holds when neither is given."""

    key: str
    env: str = ""
    value: str = ""
    default: str = ""
    fate: str = ""


SETTINGS: tuple[SettingRow, ...] = (
    SettingRow("aws.clusterName", "CLUSTER_NAME", "settings.clusterName"),
    SettingRow("aws.clusterEndpoint", "CLUSTER_ENDPOINT", "settings.clusterEndpoint"),
    SettingRow("aws.clusterCABundle", "CLUSTER_CA_BUNDLE", "settings.clusterCABundle"),
    SettingRow("aws.interruptionQueueName", "INTERRUPTION_QUEUE", "settings.interruptionQueue"),
    SettingRow("aws.isolatedVPC", "ISOLATED_VPC", "settings.isolatedVPC", "false"),
    SettingRow(
        "aws.vmMemoryOverheadPercent", "VM_MEMORY_OVERHEAD_PERCENT", "settings.vmMemoryOverheadPercent", "0.075"
    ),
    SettingRow("aws.reservedENIs", "RESERVED_ENIS", "settings.reservedENIs", "0"),
    SettingRow("aws.assumeRoleARN", "ASSUME_ROLE_ARN", "settings.assumeRoleARN"),
    SettingRow("aws.assumeRoleDuration", "ASSUME_ROLE_DURATION", "settings.assumeRoleDuration", "15m"),
    SettingRow("batchMaxDuration", "BATCH_MAX_DURATION", "settings.batchMaxDuration", "10s"),
    SettingRow("batchIdleDuration", "BATCH_IDLE_DURATION", "settings.batchIdleDuration", "1s"),
    SettingRow("aws.defaultInstanceProfile", fate="set spec.role or spec.instanceProfile on every EC2NodeClass"),
    SettingRow("aws.tags", default="{}", fate="set spec.tags on every EC2NodeClass"),
    SettingRow(
        "aws.enableENILimitedPodDensity", default="true", fate="set maxPods in the kubelet settings of the pools"
    ),
)


def setting_row(key: str) -> SettingRow | None:
    """The row of a key of the ConfigMap; None for one that needs nothing or that we do not know."""
    return next((row for row in SETTINGS if row.key == key), None)
