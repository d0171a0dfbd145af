"""The inventory: every part of a scan, each Seen or Unseen; and `once`, which caches derived facts for
each inventory. A TrackedInventory records the fields that each fact reads. After a change of some parts, the facts
that read none of them are taken over.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import wraps
from typing import Any, TypeVar

from migrations_app.inventory.metric_queries import MetricMonitor, MetricUser
from migrations_app.inventory.objects import karpenter as o
from migrations_app.inventory.objects.aws import AWS_PART_NAMES, NO_AWS, AwsSeen
from migrations_app.inventory.objects.cluster import (
    AdmissionPolicy,
    ClusterRole,
    GitOpsSource,
    Namespace,
    NetworkPolicy,
    PersistentVolume,
)
from migrations_app.inventory.parts import NOT_ASKED, Part

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """Everything seen in one cluster at one moment. A part that was never filled in is Unseen, never empty."""

    cluster: str
    taken_at: str
    """RFC 3339, UTC; from the server's clock if it gives one."""
    version: Part[o.ServerVersion] = NOT_ASKED
    discovery: Part[o.ServedResource] = NOT_ASKED
    crds: Part[o.CRD] = NOT_ASKED
    """Only CRDs of Karpenter's groups."""
    provisioners: Part[o.Provisioner] = NOT_ASKED
    awsnodetemplates: Part[o.AWSNodeTemplate] = NOT_ASKED
    machines: Part[o.Machine] = NOT_ASKED
    nodepools: Part[o.NodePool] = NOT_ASKED
    ec2nodeclasses: Part[o.EC2NodeClass] = NOT_ASKED
    nodeclaims: Part[o.NodeClaim] = NOT_ASKED
    nodes: Part[o.Node] = NOT_ASKED
    pods: Part[o.PodGroup] = NOT_ASKED
    """Groups of pods; `Seen.total` is the number of pods."""
    deployments: Part[o.Workload] = NOT_ASKED
    """Only workloads that name a Karpenter key, Karpenter's own and network plugins; `Seen.total` counts all. The same
    holds for the next five parts.
    """
    statefulsets: Part[o.Workload] = NOT_ASKED
    daemonsets: Part[o.Workload] = NOT_ASKED
    jobs: Part[o.Workload] = NOT_ASKED
    cronjobs: Part[o.Workload] = NOT_ASKED
    argo_rollouts: Part[o.Workload] = NOT_ASKED
    pdbs: Part[o.DisruptionBudget] = NOT_ASKED
    controller: Part[o.Workload] = NOT_ASKED
    """The Karpenter Deployments; empty if there is none."""
    controller_pods: Part[o.ControllerPod] = NOT_ASKED
    controller_accounts: Part[o.ServiceAccount] = NOT_ASKED
    services: Part[o.Service] = NOT_ASKED
    """The Karpenter Services, and those that a conversion or admission webhook names."""
    endpoints: Part[o.Endpoints] = NOT_ASKED
    """The endpoints of those Services."""
    settings: Part[o.ConfigMap] = NOT_ASKED
    """karpenter-global-settings."""
    aws_auth: Part[o.ConfigMap] = NOT_ASKED
    cilium_config: Part[o.ConfigMap] = NOT_ASKED
    """The ConfigMap of Cilium in kube-system, of which only the key `ipam` is kept; empty if there is none."""
    webhooks: Part[o.WebhookConfiguration] = NOT_ASKED
    """Admission webhooks that belong to Karpenter or point at a Karpenter service or group."""
    helm_releases: Part[o.HelmRelease] = NOT_ASKED
    """The deployed karpenter and karpenter-crd releases."""
    deliveries: Part[o.GitOpsDelivery] = NOT_ASKED
    """Flux and Argo CD objects that deliver Karpenter."""
    prometheus_rules: Part[MetricUser] = NOT_ASKED
    """PrometheusRules that name a Karpenter metric; `Seen.total` counts all. The same holds for the next part."""
    dashboards: Part[MetricUser] = NOT_ASKED
    """ConfigMaps with Grafana dashboards, found by their label."""
    other_queries: Part[MetricUser] = NOT_ASKED
    """VMRules of VictoriaMetrics, and ScaledObjects and ScaledJobs of KEDA, that name a Karpenter metric."""
    controller_rbac: Part[ClusterRole] = NOT_ASKED
    """The ClusterRoles bound to the controllers' service accounts."""
    network_policies: Part[NetworkPolicy] = NOT_ASKED
    """All NetworkPolicies in the controllers' namespaces."""
    namespaces: Part[Namespace] = NOT_ASKED
    """The controllers' namespaces; `Seen.total` counts all. The same holds for the parts after `volumes`."""
    volumes: Part[PersistentVolume] = NOT_ASKED
    """Every PersistentVolume, with its requirements on nodes and the namespace of its claim."""
    monitors: Part[MetricMonitor] = NOT_ASKED
    """ServiceMonitors and PodMonitors that name Karpenter."""
    policies: Part[AdmissionPolicy] = NOT_ASKED
    """Policies of Kyverno, mutations and constraints of Gatekeeper that name Karpenter."""
    admission_policies: Part[AdmissionPolicy] = NOT_ASKED
    """ValidatingAdmissionPolicies and MutatingAdmissionPolicies of Kubernetes that name Karpenter."""
    sources: Part[GitOpsSource] = NOT_ASKED
    """The sources of Flux that the deliveries name."""
    aws: AwsSeen = NO_AWS
    """What AWS shows about the cluster; its parts are named `aws.queue` and so on."""
    known: dict[object, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Cache of `once`; a copy with other parts starts with an empty one."""

    def part(self, name: str) -> Part[object]:
        """The part of that name; raises AttributeError for an unknown name."""
        if name.startswith(AWS_PREFIX):
            return self.aws.part(name.removeprefix(AWS_PREFIX))
        part_value: Part[object] = getattr(self, name)
        return part_value


AWS_PREFIX = "aws."
PART_NAMES: tuple[str, ...] = tuple(
    f.name for f in fields(Inventory) if f.name not in ("cluster", "taken_at", "aws", "known")
)
"""Parts read from the cluster itself."""
AWS_PARTS: tuple[str, ...] = tuple(AWS_PREFIX + name for name in AWS_PART_NAMES)
"""Parts read from AWS, if access to it was configured."""
WORKLOAD_PARTS = ("deployments", "statefulsets", "daemonsets", "jobs", "cronjobs", "argo_rollouts")


@dataclass(frozen=True, slots=True)
class Fact:
    """The result of a function of an inventory, and the fields that the function read."""

    value: Any
    reads: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedInventory(Inventory):
    """An inventory that records which of its fields are read. `replace` returns a copy without records and cache;
    `after` lets that copy take over the facts that still hold.
    """

    noted: list[set[str]] = field(default_factory=list, init=False, repr=False, compare=False)
    """The fields read so far: one set for each running function, the innermost last."""

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401 - any field
        value = object.__getattribute__(self, name)
        if name in FIELDS and (noted := object.__getattribute__(self, "noted")):
            noted[-1].add(name)
        return value

    def reading(self, function: Callable[[], T]) -> tuple[T, frozenset[str]]:
        """The result of the function, and the fields of the inventory that it read."""
        self.noted.append(set())
        try:
            result = function()
        finally:
            reads = self.noted.pop()
        return result, frozenset(reads)

    def note(self, reads: frozenset[str]) -> None:
        """Records these fields as read by the function that runs now."""
        if self.noted:
            self.noted[-1].update(reads)

    def after(self, before: "TrackedInventory") -> frozenset[str]:
        """Takes over every fact of `before` that read no changed field. Returns the names of the changed fields."""
        get = object.__getattribute__
        changed = frozenset(name for name in FIELDS if get(self, name) is not get(before, name))
        self.known.update({key: fact for key, fact in before.known.items() if not fact.reads & changed})
        return changed


FIELDS: frozenset[str] = frozenset((*PART_NAMES, "aws", "cluster", "taken_at"))
"""The fields of an inventory whose reads are recorded."""


def track_reads(inventory: Inventory) -> TrackedInventory:
    """The inventory as one that records its reads."""
    if isinstance(inventory, TrackedInventory):
        return inventory
    return TrackedInventory(**{name: getattr(inventory, name) for name in sorted(FIELDS)})


def once(function: Callable[[Inventory], T]) -> Callable[[Inventory], T]:
    """Decorator for a pure function: it runs once for each inventory and its result is cached."""

    @wraps(function)
    def known(inventory: Inventory) -> T:
        if function not in inventory.known:
            inventory.known[function] = _computed(inventory, function)
        fact: Fact = inventory.known[function]
        if isinstance(inventory, TrackedInventory):
            inventory.note(fact.reads)
        answer: T = fact.value
        return answer

    return known


def _computed(inventory: Inventory, function: Callable[[Inventory], object]) -> Fact:
    if isinstance(inventory, TrackedInventory):
        return Fact(*inventory.reading(lambda: function(inventory)))
    return Fact(function(inventory), FIELDS)
