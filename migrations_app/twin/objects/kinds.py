"""The built-in kinds of an API server, and the rules of the server for each kind.

Sources: kubernetes/kubernetes@v1.20.2:pkg/registry (strategies), and the deprecation guide for first and last versions.
"""

from dataclasses import dataclass, field, replace

Place = tuple[str, str]
"""(group, plural)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedKind:
    """One kind: the paths and versions that serve it, and the rules for its objects."""

    group: str
    plural: str
    kind: str
    versions: tuple[str, ...] = ("v1",)
    storage: str = "v1"
    namespaced: bool = True
    status: bool = False
    """Whether it has the subresource status."""
    counted: bool = False
    """Whether metadata.generation counts changes of the fields that users write."""
    custom: bool = False
    """Whether a CustomResourceDefinition defines it."""
    unconditional: bool = True
    """Whether PUT is accepted without a resourceVersion."""
    returned: bool = False
    """Whether the response to a deletion is the object instead of a Status."""
    place: Place = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "place", (self.group, self.plural))

    @property
    def resource(self) -> str:
        """Such as `nodepools.karpenter.sh`: the name of the kind in sentences of the server."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def qualified(self) -> str:
        """Such as `NodePool.karpenter.sh`."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    def api_version(self, version: str) -> str:
        return f"{self.group}/{version}" if self.group else version

    @property
    def api_versions(self) -> tuple[str, ...]:
        return tuple(self.api_version(version) for version in self.versions)


def _kind(kind: str, plural: str, *, group: str = "", versions: str = "v1", flags: str = "") -> ServedKind:
    flag_set = set(flags.split())
    version_names = tuple(versions.split())
    return ServedKind(
        group=group,
        plural=plural,
        kind=kind,
        versions=version_names,
        storage=version_names[0],
        namespaced="cluster" not in flag_set,
        status="status" in flag_set,
        counted="counted" in flag_set,
        unconditional="conditional" not in flag_set,
        returned="returned" in flag_set,
    )


_ADMISSION, _RBAC, _STORAGE = "admissionregistration.k8s.io", "rbac.authorization.k8s.io", "storage.k8s.io"
_ALWAYS = (
    _kind("Namespace", "namespaces", flags="cluster status"),
    _kind("Node", "nodes", flags="cluster status"),
    _kind("Pod", "pods", flags="status returned"),
    _kind("ConfigMap", "configmaps"),
    _kind("Secret", "secrets"),
    _kind("Service", "services", flags="status returned"),
    _kind("Endpoints", "endpoints"),
    _kind("ServiceAccount", "serviceaccounts", flags="returned"),
    _kind("PersistentVolume", "persistentvolumes", flags="cluster status returned"),
    _kind("PersistentVolumeClaim", "persistentvolumeclaims", flags="status returned"),
    _kind("Event", "events"),
    _kind("LimitRange", "limitranges"),
    _kind("ResourceQuota", "resourcequotas", flags="status returned"),
    _kind("PodTemplate", "podtemplates", flags="counted returned"),
    _kind("ReplicationController", "replicationcontrollers", flags="status counted"),
    _kind("Deployment", "deployments", group="apps", flags="status counted"),
    _kind("ReplicaSet", "replicasets", group="apps", flags="status counted"),
    _kind("StatefulSet", "statefulsets", group="apps", flags="status counted"),
    _kind("DaemonSet", "daemonsets", group="apps", flags="status counted"),
    _kind("Job", "jobs", group="batch", flags="status counted"),
    _kind("NetworkPolicy", "networkpolicies", group="networking.k8s.io", flags="counted"),
    _kind("Ingress", "ingresses", group="networking.k8s.io", flags="status counted"),
    _kind("Lease", "leases", group="coordination.k8s.io", flags="conditional"),
    _kind("HorizontalPodAutoscaler", "horizontalpodautoscalers", group="autoscaling", flags="status"),
    _kind("PriorityClass", "priorityclasses", group="scheduling.k8s.io", flags="cluster counted"),
    _kind("StorageClass", "storageclasses", group=_STORAGE, flags="cluster returned"),
    _kind("CSINode", "csinodes", group=_STORAGE, flags="cluster returned"),
    _kind("ClusterRole", "clusterroles", group=_RBAC, flags="cluster"),
    _kind("ClusterRoleBinding", "clusterrolebindings", group=_RBAC, flags="cluster"),
    _kind("Role", "roles", group=_RBAC),
    _kind("RoleBinding", "rolebindings", group=_RBAC),
    _kind("APIService", "apiservices", group="apiregistration.k8s.io", flags="cluster status conditional"),
    _kind(
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        group=_ADMISSION,
        flags="cluster counted conditional",
    ),
    _kind(
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        group=_ADMISSION,
        flags="cluster counted conditional",
    ),
)
CRD = _kind(
    "CustomResourceDefinition",
    "customresourcedefinitions",
    group="apiextensions.k8s.io",
    flags="cluster status counted conditional",
)
_CRON_JOB = _kind("CronJob", "cronjobs", group="batch", versions="v1 v1beta1", flags="status counted")
_BUDGET = _kind(
    "PodDisruptionBudget",
    "poddisruptionbudgets",
    group="policy",
    versions="v1 v1beta1",
    flags="status counted conditional",
)
_SLICE = _kind("EndpointSlice", "endpointslices", group="discovery.k8s.io", versions="v1 v1beta1", flags="counted")
_FIRST_WITH_V1, _LAST_WITH_BETA = 21, 24


def built_in(minor: int) -> tuple[ServedKind, ...]:
    """Returns the kinds of the API server 1.<minor>."""
    return (*_ALWAYS, CRD, *(_of_minor(kind, minor) for kind in (_CRON_JOB, _BUDGET, _SLICE)))


def _of_minor(kind: ServedKind, minor: int) -> ServedKind:
    if minor < _FIRST_WITH_V1:
        return replace(kind, versions=("v1beta1",), storage="v1beta1")
    return kind if minor <= _LAST_WITH_BETA else replace(kind, versions=("v1",), storage="v1")
