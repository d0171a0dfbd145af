"""The Helm values and environment variables of the Karpenter charts that are kept; of all others only the names are
kept (T23).

Values may contain credentials, so this is an allow-list. Source: values.yaml and the templates of charts/karpenter
and charts/karpenter-crd in aws/karpenter-provider-aws, v0.28.1 to v1.14.
"""

from collections.abc import Mapping
from typing import Any

from migrations_app.redaction import REMOVED, redacted_tree

_CONTEXT = "securityContext"

_WHOLE_BRANCHES = frozenset(
    {
        "settings",
        "webhook",
        "logConfig",
        "serviceMonitor",
        "podDisruptionBudget",
        "podSecurityContext",
        "affinity",
        "nodeSelector",
        "tolerations",
        "topologySpreadConstraints",
        "strategy",
        "image",
        "postInstallHook",
        "service",
        "serviceAccount",
        "additionalAnnotations",
        "additionalLabels",
        "podAnnotations",
        "podLabels",
    }
)
_PLAIN_KEYS = frozenset(
    {
        "logLevel",
        "logEncoding",
        "logOutputPaths",
        "logErrorOutputPaths",
        "dnsPolicy",
        "dnsConfig",
        "hostNetwork",
        "replicas",
        "nameOverride",
        "fullnameOverride",
        "priorityClassName",
        "revisionHistoryLimit",
        "schedulerName",
        "terminationGracePeriodSeconds",
        "additionalClusterRoleRules",
        "imagePullPolicy",
    }
)
_CONTROLLER_KEYS = frozenset(
    {
        "image",
        "metrics",
        "healthProbe",
        "logLevel",
        "logEncoding",
        "outputPaths",
        "errorOutputPaths",
        "securityContext",
        "resources",
        "containerName",
        "batchMaxDuration",
        "batchIdleDuration",
    }
)
MAX_UNKNOWN = 50
"""How many names of unknown values are kept at each level; more than a few cannot be typing errors."""
LONGEST_NAME = 120

ENV_NAMES = frozenset(
    [
        "AMI_REFRESH_INTERVAL",
        "ASSUME_ROLE_ARN",
        "ASSUME_ROLE_DURATION",
        "AWS_DEFAULT_INSTANCE_PROFILE",
        "AWS_REGION",
        "BATCH_IDLE_DURATION",
        "BATCH_MAX_DURATION",
        "CLUSTER_CA_BUNDLE",
        "CLUSTER_ENDPOINT",
        "CLUSTER_NAME",
        "DISABLE_CLUSTER_STATE_OBSERVABILITY",
        "DISABLE_DRY_RUN",
        "DISABLE_LEADER_ELECTION",
        "DISABLE_WEBHOOK",
        "EKS_CONTROL_PLANE",
        "ENABLE_PROFILING",
        "ENABLE_ZONAL_SHIFT",
        "FEATURE_GATES",
        "HEALTH_PROBE_PORT",
        "IGNORE_DRA_REQUESTS",
        "INTERRUPTION_QUEUE",
        "ISOLATED_VPC",
        "KARPENTER_SERVICE",
        "KUBERNETES_MIN_VERSION",
        "LEADER_ELECT",
        "LEADER_ELECTION_NAME",
        "LEADER_ELECTION_NAMESPACE",
        "LOG_ERROR_OUTPUT_PATHS",
        "LOG_LEVEL",
        "LOG_OUTPUT_PATHS",
        "MEMORY_LIMIT",
        "METRICS_PORT",
        "MIN_VALUES_POLICY",
        "PREFERENCE_POLICY",
        "RESERVED_ENIS",
        "SERVICE_NAME",
        "SUBNET_REFRESH_INTERVAL",
        "SYSTEM_NAMESPACE",
        "VM_MEMORY_OVERHEAD_PERCENT",
        "WEBHOOK_METRICS_PORT",
        "WEBHOOK_PORT",
    ]
)
"""Environment variables of the controller whose values are settings and not credentials."""


def kept_env(entries: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - as above
    """The names of all variables; the values of known settings only."""
    variables = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    return [_kept_variable(entry) for entry in variables if isinstance(entry.get("name"), str)]


def _kept_variable(entry: dict[str, Any]) -> dict[str, Any]:
    name, value = entry["name"], entry.get("value")
    if name in ENV_NAMES and isinstance(value, str):
        return {"name": name, "value": redacted_tree(value)}
    return {"name": name} if value is None else {"name": name, "value": REMOVED}


def kept_values(values: Any) -> dict[str, Any]:  # noqa: ANN401 - as above
    """The values that upgrade checks read. Of all others only the name is kept, since the fact that they are set may
    matter.
    """
    kept_by_key = {
        key: value_kept for key, value in _items(values) if (value_kept := _kept_value(key, value)) is not None
    }
    return kept_by_key | _unknown_names(values, kept_by_key)


def _kept_value(key: str, value: Any) -> Any:  # noqa: ANN401 - as above
    if key in _WHOLE_BRANCHES or key in _PLAIN_KEYS:
        return redacted_tree(value)
    return _controller(value) if key == "controller" else None


def _controller(values: Any) -> dict[str, Any]:  # noqa: ANN401 - as above
    kept_by_key = {key: redacted_tree(value) for key, value in _items(values) if key in _CONTROLLER_KEYS}
    controller_values = dict(_items(values))
    if controller_values.get("env") is not None:
        kept_by_key["env"] = kept_env(controller_values["env"])
    if controller_values.get("sidecarContainer"):
        kept_by_key["sidecarContainer"] = _sidecars(controller_values["sidecarContainer"])
    return kept_by_key | _unknown_names(values, kept_by_key)


def _sidecars(sidecars: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - as above
    """The names of the sidecars, and whether they have their own security context."""
    sidecar_list = sidecars if isinstance(sidecars, list) else [sidecars]
    sidecar_maps = [sidecar for sidecar in sidecar_list if isinstance(sidecar, dict)]
    return [
        {"name": redacted_tree(sidecar.get("name"))} | ({_CONTEXT: {}} if sidecar.get(_CONTEXT) else {})
        for sidecar in sidecar_maps
    ]


def _unknown_names(values: Any, kept_by_key: Mapping[str, Any]) -> dict[str, str]:  # noqa: ANN401 - as above
    others = [key for key, value in _items(values) if key not in kept_by_key and value not in (None, "", {}, [])]
    return dict.fromkeys((key[:LONGEST_NAME] for key in others[:MAX_UNKNOWN]), REMOVED)


def _items(values: Any) -> list[tuple[str, Any]]:  # noqa: ANN401 - as above
    return [(key, value) for key, value in values.items() if isinstance(key, str)] if isinstance(values, dict) else []
