"""Values of the charts karpenter and karpenter-crd that were added, moved or removed: what each release reads.

Sources: values.yaml, deployment.yaml and configmap.yaml of charts/karpenter and values.yaml of charts/karpenter-crd
in aws/karpenter-provider-aws at v0.28.1 .. v0.32.10, v0.33.0, v0.33.12 and the newest tag of every later minor. For
values added after 1.0 the exact patch is not known. A chart does not report a value that it does not read.
"""

from dataclasses import dataclass
from typing import NamedTuple

from migrations_app.karpenter.versions import Release, release


@dataclass(frozen=True, slots=True, kw_only=True)
class HelmKey:
    """A value and the releases whose chart reads it, both ends included: a minor, a patch, or empty for an open end.

    A key has several rows if it was removed for a while. `never` marks a value that no known chart reads. `becomes` is
    the behaviour of a release whose chart no longer reads the value: a user who set that behaviour has lost nothing.
    """

    key: str
    first: str = ""
    last: str = ""
    replacement: str = ""
    fate: str = ""
    never: bool = False
    becomes: object = None


def _moved(old: str, new: str, *, last: str = "", fate: str = "") -> tuple[HelmKey, HelmKey]:
    """A value of settings.aws that 0.32 reads under both names."""
    return (
        HelmKey(key=f"settings.aws.{old}", last="0.32", replacement=f"settings.{new}", fate=fate),
        HelmKey(key=f"settings.{new}", first="0.32", last=last, replacement=f"settings.aws.{old}", fate=fate),
    )


SETTINGS_ROWS: tuple[HelmKey, ...] = (
    *_moved("clusterName", "clusterName"),
    *_moved("clusterEndpoint", "clusterEndpoint"),
    *_moved("clusterCABundle", "clusterCABundle"),
    *_moved("interruptionQueueName", "interruptionQueue"),
    HelmKey(
        key="settings.interruptionQueueName",
        replacement="settings.interruptionQueue",
        fate="no chart reads this spelling: interruption handling is off without a word",
        never=True,
    ),
    *_moved("isolatedVPC", "isolatedVPC"),
    *_moved("vmMemoryOverheadPercent", "vmMemoryOverheadPercent"),
    *_moved("reservedENIs", "reservedENIs"),
    *_moved(
        "assumeRoleARN",
        "assumeRoleARN",
        last="0.37",
        fate="gone at 1.0: the controller would talk to its own account; chain roles through IRSA or Pod Identity",
    ),
    *_moved("assumeRoleDuration", "assumeRoleDuration", last="0.37", fate="gone at 1.0 with assumeRoleARN"),
    HelmKey(
        key="settings.aws.defaultInstanceProfile",
        last="0.32",
        replacement="EC2NodeClass spec.role or spec.instanceProfile",
        fate="0.32 reads it for alpha templates only",
    ),
    HelmKey(key="settings.aws.enablePodENI", last="0.32", fate="no longer a choice: pod-eni is always assumed"),
    HelmKey(
        key="settings.aws.enableENILimitedPodDensity",
        last="0.32",
        replacement="kubelet maxPods",
        fate="0.32 reads it for alpha templates only",
    ),
    HelmKey(
        key="settings.aws.tags",
        last="0.32",
        replacement="EC2NodeClass spec.tags",
        fate="0.32 reads it for alpha templates only",
    ),
    HelmKey(key="settings.aws.nodeNameConvention", fate="without effect from 0.28 on", never=True),
    HelmKey(key="settings.batchMaxDuration"),
    HelmKey(key="settings.batchIdleDuration"),
    HelmKey(
        key="settings.featureGates.driftEnabled",
        last="0.32",
        replacement="settings.featureGates.drift",
        fate="renamed at 0.32; from 1.0 on drift is always on",
        becomes=True,
    ),
    HelmKey(
        key="settings.featureGates.drift",
        first="0.32",
        last="0.37",
        replacement="settings.featureGates.driftEnabled",
        fate="named driftEnabled before 0.32; from 1.0 on drift is always on",
        becomes=True,
    ),
    HelmKey(key="settings.featureGates.spotToSpotConsolidation", first="0.34"),
    HelmKey(key="settings.featureGates.nodeRepair", first="1.1"),
    HelmKey(key="settings.featureGates.reservedCapacity", first="1.3"),
    HelmKey(key="settings.featureGates.nodeOverlay", first="1.7"),
    HelmKey(key="settings.featureGates.staticCapacity", first="1.8"),
    HelmKey(key="settings.featureGates.capacityBuffer", first="1.14"),
    HelmKey(key="settings.eksControlPlane", first="1.1"),
    HelmKey(key="settings.preferencePolicy", first="1.4"),
    HelmKey(key="settings.minValuesPolicy", first="1.6"),
    HelmKey(key="settings.disableDryRun", first="1.6.2"),
    HelmKey(key="settings.ignoreDRARequests", first="1.8"),
    HelmKey(key="settings.disableClusterStateObservability", first="1.8"),
    HelmKey(key="settings.enableZonalShift", first="1.12"),
    HelmKey(key="settings.amiRefreshInterval", first="1.13"),
    HelmKey(key="settings.subnetRefreshInterval", first="1.13"),
)

LOGGING_ROWS: tuple[HelmKey, ...] = (
    HelmKey(
        key="logEncoding",
        last="0.32",
        replacement="logConfig.logEncoding",
        fate="from 1.0 on always json",
        becomes="json",
    ),
    HelmKey(
        key="controller.logLevel",
        last="0.32",
        replacement="logLevel",
        fate="0.32 to 0.37 have logConfig.logLevel.controller",
    ),
    HelmKey(
        key="webhook.logLevel",
        last="0.32",
        replacement="logLevel",
        fate="0.32 to 0.37 have logConfig.logLevel.webhook",
    ),
    HelmKey(key="controller.logEncoding", last="0.31", replacement="logConfig.logEncoding"),
    HelmKey(key="controller.outputPaths", last="0.32", replacement="logOutputPaths", fate="from 1.0 on"),
    HelmKey(key="controller.errorOutputPaths", last="0.32", replacement="logErrorOutputPaths", fate="from 1.0 on"),
    HelmKey(key="logConfig.enabled", first="0.32", last="0.37", fate="gone at 1.0"),
    HelmKey(key="logConfig.logEncoding", first="0.32", last="0.37", fate="gone at 1.0: always json", becomes="json"),
    HelmKey(key="logConfig.logLevel.controller", first="0.32", last="0.37", replacement="logLevel"),
    *(
        HelmKey(key=f"logConfig.logLevel.{of}", first="0.32", last="0.37", fate="gone at 1.0: logLevel is the only one")
        for of in ("global", "webhook")
    ),
    HelmKey(key="logConfig.outputPaths", first="0.32", last="0.37", replacement="logOutputPaths"),
    HelmKey(key="logConfig.errorOutputPaths", first="0.32", last="0.37", replacement="logErrorOutputPaths"),
    HelmKey(key="logOutputPaths", first="1.0"),
    HelmKey(key="logErrorOutputPaths", first="1.0"),
)

_HOOK_PATCHES = ("0.33.6", "0.34.7", "0.35.6", "0.36.3", "0.37.1", "1.0.0")

POD_ROWS: tuple[HelmKey, ...] = (
    HelmKey(key="extraObjects", never=True, fate="gone at 0.28: deliver these objects yourself"),
    HelmKey(key="webhook.enabled", first="0.32", last="1.0", fate="1.1 has no webhooks"),
    HelmKey(key="webhook.port", last="1.0", fate="1.1 has no webhooks"),
    HelmKey(key="webhook.metrics.port", first="0.32", last="1.0", fate="1.1 has no webhooks"),
    HelmKey(key="podSecurityContext", last="0.29", fate="gone in 0.30 to 0.33"),
    HelmKey(key="podSecurityContext", first="0.34", fate="gone in 0.30 to 0.33"),
    HelmKey(key="controller.securityContext", last="0.29", fate="gone in 0.30 to 1.4"),
    HelmKey(
        key="controller.securityContext",
        first="1.5",
        fate="gone in 0.30 to 1.4; from 1.5 on appArmorProfile, seLinuxOptions and seccompProfile only",
    ),
    *(HelmKey(key="postInstallHook", first=patch, last=patch, fate="in six patches only") for patch in _HOOK_PATCHES),
    HelmKey(key="controller.containerName", first="1.1"),
    HelmKey(key="schedulerName", first="1.1"),
    HelmKey(key="service.annotations", first="1.1"),
    HelmKey(key="initContainers", first="1.4"),
    HelmKey(key="serviceMonitor.relabelings", first="1.5"),
    HelmKey(key="serviceMonitor.metricRelabelings", first="1.5"),
    HelmKey(key="serviceMonitor.sampleLimit", first="1.9"),
)

MAIN_CHART: tuple[HelmKey, ...] = (*SETTINGS_ROWS, *LOGGING_ROWS, *POD_ROWS)

_CRD_WEBHOOK_KEYS = ("webhook.enabled", "webhook.serviceName", "webhook.serviceNamespace", "webhook.port")
_CRD_WEBHOOK_SPANS = (
    ("0.33.6", "0.33"),
    ("0.34.7", "0.34"),
    ("0.35.6", "0.35"),
    ("0.36.3", "0.36"),
    ("0.37.1", "1.0"),
)

CRD_CHART: tuple[HelmKey, ...] = (
    *(
        HelmKey(key=key, first=first, last=last, fate="read where the CRDs hold two versions; gone at 1.1")
        for key in _CRD_WEBHOOK_KEYS
        for first, last in _CRD_WEBHOOK_SPANS
    ),
    HelmKey(key="additionalAnnotations", first="1.2"),
)

READ_BY_ALL: tuple[str, ...] = (
    "global",
    "additionalAnnotations",
    "additionalClusterRoleRules",
    "additionalLabels",
    "affinity",
    "controller.env",
    "controller.envFrom",
    "controller.extraVolumeMounts",
    "controller.healthProbe",
    "controller.image",
    "controller.metrics",
    "controller.resources",
    "controller.sidecarContainer",
    "controller.sidecarVolumeMounts",
    "dnsConfig",
    "dnsPolicy",
    "extraVolumes",
    "fullnameOverride",
    "hostNetwork",
    "imagePullPolicy",
    "imagePullSecrets",
    "logLevel",
    "nameOverride",
    "nodeSelector",
    "podAnnotations",
    "podDisruptionBudget",
    "podLabels",
    "priorityClassName",
    "replicas",
    "revisionHistoryLimit",
    "serviceAccount",
    "serviceMonitor.additionalLabels",
    "serviceMonitor.enabled",
    "serviceMonitor.endpointConfig",
    "strategy",
    "terminationGracePeriodSeconds",
    "tolerations",
    "topologySpreadConstraints",
)
"""Values of the chart karpenter that every known release reads, each with everything below it. Read at every tag
v0.28.0 .. v1.14.1; `global` is Helm's own.
"""


class RequiredValue(NamedTuple):
    """A value without which the chart karpenter cannot be rendered, from that release on."""

    key: str
    since: Release
    source: str


REQUIRED_VALUES: tuple[RequiredValue, ...] = (
    RequiredValue(
        "settings.clusterName",
        release("1.5.0"),
        "aws/karpenter-provider-aws@v1.5.0:charts/karpenter/templates/deployment.yaml",
    ),
)
"""Read at every tag v1.4.0 .. v1.14.1: no template asks for another value with `required` or `fail`."""
