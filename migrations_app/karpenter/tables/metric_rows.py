"""Controller metrics, and labels and label values of metrics, that were renamed or removed.

Sources: website/content/en/preview/reference/metrics.md of aws/karpenter-provider-aws at the newest tag of every
minor, and the guides named in the rows. If a guide and the reference of the tags disagree, the reference is used.
"""

from typing import NamedTuple

_BETA = "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md"
_V1 = "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md"
_GUIDE = "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md"
_ALPHA_REFERENCE = "aws/karpenter-provider-aws@v0.32.10:website/content/en/preview/reference/metrics.md"
_REFERENCE = "aws/karpenter-provider-aws@v1.0.9:website/content/en/preview/reference/metrics.md"


class MetricRow(NamedTuple):
    """`release` is the first minor without the old name. An empty new name means that nothing replaces it."""

    old: str
    new: str
    release: str
    source: str


class MetricValueRow(NamedTuple):
    """A label value of Karpenter metrics, and the first minor that writes the new value instead."""

    label: str
    old: str
    new: str
    release: str
    source: str


class MetricLabelRow(NamedTuple):
    """A label, and the first minor in which no metric has it whose name starts with one of `metrics`.

    An empty new name means that nothing replaces it.
    """

    old: str
    new: str
    release: str
    metrics: tuple[str, ...]
    source: str


def _renamed(release: str, source: str, *pairs: str) -> tuple[MetricRow, ...]:
    words = (pair.split() for pair in pairs)
    return tuple(MetricRow(f"karpenter_{old}", f"karpenter_{new}", release, source) for old, new in words)


def _dropped(release: str, source: str, *names: str) -> tuple[MetricRow, ...]:
    return tuple(MetricRow(f"karpenter_{name}", "", release, source) for name in names)


METRIC_ROWS: tuple[MetricRow, ...] = (
    # 0.32 has both names; the guide spells three of them nodepools_limit, nodepools_usage and eligible_nodeclaims, and
    # writes provisioners_ where every release up to 0.32 writes provisioner_: both are rows.
    *_renamed(
        "0.33",
        _BETA,
        "machines_created nodeclaims_created",
        "machines_disrupted nodeclaims_disrupted",
        "machines_drifted nodeclaims_drifted",
        "machines_initialized nodeclaims_initialized",
        "machines_launched nodeclaims_launched",
        "machines_registered nodeclaims_registered",
        "machines_terminated nodeclaims_terminated",
        "provisioners_limit nodepool_limit",
        "provisioners_usage nodepool_usage",
        "deprovisioning_evaluation_duration_seconds disruption_evaluation_duration_seconds",
        "deprovisioning_eligible_machines disruption_eligible_nodes",
        "deprovisioning_replacement_machine_initialized_seconds disruption_replacement_nodeclaim_initialized_seconds",
        "deprovisioning_replacement_machine_launch_failure_counter disruption_replacement_nodeclaim_failures_total",
        "deprovisioning_actions_performed disruption_actions_performed_total",
        "deprovisioning_consolidation_timeouts disruption_consolidation_timeouts_total",
    ),
    *_dropped("0.33", _BETA, "provisioners_usage_pct"),
    *_renamed("0.33", _ALPHA_REFERENCE, "provisioner_limit nodepool_limit", "provisioner_usage nodepool_usage"),
    *_dropped("0.33", _ALPHA_REFERENCE, "provisioner_usage_pct"),
    *_renamed(
        "0.36",
        _GUIDE,
        "cloudprovider_instance_type_price_estimate cloudprovider_instance_type_offering_price_estimate",
    ),
    *_renamed(
        "1.0",
        _V1,
        "nodes_termination_time_seconds nodes_termination_duration_seconds",
        "nodes_terminated nodes_terminated_total",
        "nodes_leases_deleted nodes_leases_deleted_total",
        "nodes_created nodes_created_total",
        "pods_startup_time_seconds pods_startup_duration_seconds",
        "disruption_replacement_nodeclaim_failures_total voluntary_disruption_queue_failures_total",
        "disruption_evaluation_duration_seconds voluntary_disruption_decision_evaluation_duration_seconds",
        "disruption_eligible_nodes voluntary_disruption_eligible_nodes",
        "disruption_consolidation_timeouts_total voluntary_disruption_consolidation_timeouts_total",
        "disruption_budgets_allowed_disruptions nodepools_allowed_disruptions",
        "disruption_actions_performed_total voluntary_disruption_decisions_total",
        "provisioner_scheduling_simulation_duration_seconds scheduler_scheduling_duration_seconds",
        "provisioner_scheduling_queue_depth scheduler_queue_depth",
        "interruption_received_messages interruption_received_messages_total",
        "interruption_deleted_messages interruption_deleted_messages_total",
        "interruption_message_latency_time_seconds interruption_message_queue_duration_seconds",
        "nodepool_usage nodepools_usage",
        "nodepool_limit nodepools_limit",
        "nodeclaims_terminated nodeclaims_terminated_total",
        "nodeclaims_disrupted nodeclaims_disrupted_total",
        "nodeclaims_created nodeclaims_created_total",
    ),
    *_dropped(
        "1.0",
        _V1,
        "disruption_replacement_nodeclaim_initialized_seconds",
        "disruption_queue_depth",
        "disruption_pods_disrupted_total",
        "consistency_errors",
        "nodeclaims_registered",
        "nodeclaims_launched",
        "nodeclaims_initialized",
        "nodeclaims_drifted",
        "provisioner_scheduling_duration_seconds",
        "interruption_actions_performed",
    ),
    *_dropped("1.0", _REFERENCE, "disruption_nodes_disrupted_total", "nodes_eviction_queue_depth"),
    *_dropped(
        "1.1",
        "aws/karpenter-provider-aws@v1.1.10:website/content/en/preview/reference/metrics.md",
        "nodes_leases_deleted_total",
    ),
    *_renamed("1.3", _GUIDE, "ignored_pod_count scheduler_ignored_pods_count"),
    *_renamed(
        "1.3",
        "kubernetes-sigs/karpenter@v1.3.0:pkg/controllers/metrics/pod/controller.go",
        "pods_scheduling_undecided_time_seconds pods_provisioning_scheduling_undecided_time_seconds",
    ),
    *_renamed("1.7", _GUIDE, "pods_pods_drained_total pods_drained_total"),
    *_renamed("1.9", "kubernetes-sigs/karpenter#2757", "nodes_eviction_requests_total pods_eviction_requests_total"),
)


def _controllers(release: str, source: str, *pairs: str) -> tuple[MetricValueRow, ...]:
    words = (pair.split() for pair in pairs)
    return tuple(MetricValueRow("controller", old, new, release, source) for old, new in words)


METRIC_VALUE_ROWS: tuple[MetricValueRow, ...] = (
    # Names of controllers, in calls of the cloud provider: Name() of those of v0.31.5, v0.32.10, v0.33.12 and v0.34.13.
    *_controllers(
        "0.32",
        "kubernetes-sigs/karpenter@v0.32.10:pkg/controllers",
        "daemonset state.daemonset",
        "deprovisioning disruption",
        "machine-state state.machine",
        "machine.garbagecollection nodeclaim.garbagecollection",
        "metric_scraper metrics.node",
        "node_state state.node",
        "pod_metrics metrics.pod",
        "pod_state state.pod",
        "provisioner_metrics metrics.provisioner",
        "provisioner_state state.provisioner",
        "provisioner_trigger provisioner.trigger",
        "termination node.termination",
    ),
    *_controllers(
        "0.33",
        "kubernetes-sigs/karpenter@v0.33.12:pkg/controllers",
        "consistency nodeclaim.consistency",
        "counter nodepool.counter",
        "machine.disruption nodeclaim.disruption",
        "machine.lifecycle nodeclaim.lifecycle",
        "machine.termination nodeclaim.termination",
        "metrics.provisioner metrics.nodepool",
        "provisioner.hash nodepool.hash",
        "state.machine state.nodeclaim",
        "state.provisioner state.nodepool",
    ),
    MetricValueRow(
        "controller",
        "provisioner.trigger",
        "provisioner.trigger.pod",
        "0.34",
        "kubernetes-sigs/karpenter@v0.34.13:pkg/controllers/provisioning/controller.go",
    ),
    # The guide to 0.32 names this change and leaves out the end of both values; the code has it from 0.31 on.
    MetricValueRow(
        "error",
        "MachineNotFoundError",
        "NodeClaimNotFoundError",
        "0.31",
        "kubernetes-sigs/karpenter@v0.31.0:pkg/cloudprovider/metrics/cloudprovider.go",
    ),
    MetricValueRow(
        "reason", "provisioning", "provisioned", "1.0", "kubernetes-sigs/karpenter@v1.0.0:pkg/metrics/constants.go"
    ),
    MetricValueRow("reason", "Drifted", "drifted", "1.2", _GUIDE),
    MetricValueRow("reason", "Empty", "empty", "1.2", _GUIDE),
    MetricValueRow("reason", "Expired", "expired", "1.2", _GUIDE),
    MetricValueRow("reason", "Underutilized", "underutilized", "1.2", _GUIDE),
    MetricValueRow("reason", "liveness", "registration_timeout", "1.7", _GUIDE),
)

_OF_PROVISIONERS = ("karpenter_nodes_", "karpenter_pods_state", "karpenter_machines_", "karpenter_nodeclaims_",
                    "karpenter_provisioner")  # fmt: skip
_OF_DISRUPTION = ("karpenter_deprovisioning_", "karpenter_disruption_", "karpenter_voluntary_disruption_")
_DISRUPTED = ("karpenter_nodeclaims_disrupted", "karpenter_machines_disrupted")
_TERMINATED = ("karpenter_nodeclaims_terminated", "karpenter_machines_terminated")
_ELIGIBLE = ("karpenter_disruption_eligible_nodes", "karpenter_voluntary_disruption_eligible_nodes")
_PRICES = ("karpenter_cloudprovider_instance_type_price_estimate",
           "karpenter_cloudprovider_instance_type_offering_price_estimate")  # fmt: skip
_UPSTREAM = "kubernetes-sigs/karpenter"

METRIC_LABEL_ROWS: tuple[MetricLabelRow, ...] = (
    # 0.32 still writes both; compare v0.32.10 of the same files.
    MetricLabelRow("provisioner", "nodepool", "0.33", _OF_PROVISIONERS,
                   f"{_UPSTREAM}@v0.33.0:pkg/controllers/metrics/node/controller.go"),
    MetricLabelRow("deprovisioner", "method", "0.33", _OF_DISRUPTION[:2],
                   f"{_UPSTREAM}@v0.33.0:pkg/controllers/disruption/metrics.go"),
    MetricLabelRow("method", "reason", "1.0", _OF_DISRUPTION,
                   f"{_UPSTREAM}@v1.0.0:pkg/controllers/disruption/metrics.go"),
    MetricLabelRow("action", "decision", "1.0", _OF_DISRUPTION,
                   f"{_UPSTREAM}@v1.0.0:pkg/controllers/disruption/metrics.go"),
    MetricLabelRow("consolidation_type", "", "1.0", _ELIGIBLE,
                   f"{_UPSTREAM}@v1.0.0:pkg/controllers/disruption/metrics.go"),
    MetricLabelRow("type", "reason", "1.0", _DISRUPTED, f"{_UPSTREAM}@v1.0.0:pkg/metrics/metrics.go"),
    MetricLabelRow("reason", "", "1.0", _TERMINATED, f"{_UPSTREAM}@v1.0.0:pkg/metrics/metrics.go"),
    MetricLabelRow("region", "", "0.36", _PRICES,
                   "aws/karpenter-provider-aws@v0.36.0:pkg/providers/instancetype/metrics.go"),
    MetricLabelRow("capacity_type", "", "1.6", ("karpenter_nodeclaims_created",),
                   f"{_UPSTREAM}@v1.6.0:pkg/metrics/metrics.go"),
)  # fmt: skip
