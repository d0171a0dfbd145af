"""Projections of objects around Karpenter: the controller's permissions, network policies and Namespaces, volumes,
policies of admission controllers, and the sources of deliveries.
"""

from collections.abc import Iterator

import msgspec

from migrations_app.inventory.objects.base import NamedObject, Projection, WholeObject
from migrations_app.inventory.objects.workloads import LabelSelector, NodeTerms, SelectorExpression


class PolicyRule(Projection, frozen=True):
    api_groups: list[str] | None = None
    resources: list[str] | None = None
    resource_names: list[str] | None = None
    verbs: list[str] | None = None


class ClusterRole(NamedObject, frozen=True):
    rules: list[PolicyRule] | None = None


class Subject(Projection, frozen=True):
    kind: str = ""
    name: str = ""
    namespace: str | None = None


class RoleReference(Projection, frozen=True):
    kind: str = ""
    name: str = ""


class ClusterRoleBinding(NamedObject, frozen=True):
    role_ref: RoleReference = RoleReference()
    subjects: list[Subject] | None = None


class PolicyPort(Projection, frozen=True):
    """`port` is a number or the name of a container port; None means every port."""

    port: int | str | None = None
    end_port: int | None = None
    protocol: str | None = None


class AddressBlock(Projection, frozen=True):
    """A range of addresses; only whether a rule has one is read."""


class PolicyPeer(Projection, frozen=True):
    """Pods, by selectors that are not kept, or addresses."""

    ip_block: AddressBlock | None = None


class Ingress(Projection, frozen=True):
    """`peers` are who may call; everybody if there are none."""

    ports: list[PolicyPort] | None = None
    peers: list[PolicyPeer] | None = msgspec.field(name="from", default=None)


class NetworkPolicySpec(Projection, frozen=True):
    pod_selector: LabelSelector = LabelSelector()
    policy_types: list[str] | None = None
    ingress: list[Ingress] | None = None


class NetworkPolicy(NamedObject, frozen=True):
    spec: NetworkPolicySpec = NetworkPolicySpec()

    @property
    def guards_ingress(self) -> bool:
        """Whether the policy restricts ingress of the pods it selects: the default, unless policyTypes leaves Ingress
        out.
        """
        return self.spec.policy_types is None or "Ingress" in self.spec.policy_types


class Namespace(NamedObject, frozen=True):
    """Only its labels and annotations matter: they request the sidecars of a service mesh."""


ZONE_KEYS = (
    "topology.kubernetes.io/zone",
    "topology.ebs.csi.aws.com/zone",
    "failure-domain.beta.kubernetes.io/zone",
)
"""Keys by which volumes name their zone: Kubernetes, the EBS driver, and volumes from before Kubernetes 1.17."""


class VolumeClaimReference(Projection, frozen=True):
    namespace: str | None = None
    name: str | None = None


class VolumeNodeAffinity(Projection, frozen=True):
    required: NodeTerms | None = None


class VolumeSpec(Projection, frozen=True):
    claim_ref: VolumeClaimReference | None = None
    node_affinity: VolumeNodeAffinity | None = None


class PersistentVolume(NamedObject, frozen=True):
    spec: VolumeSpec = VolumeSpec()

    @property
    def expressions(self) -> Iterator[SelectorExpression]:
        """The requirements on the nodes that may use the volume."""
        affinity = self.spec.node_affinity
        for term in (affinity.required.node_selector_terms if affinity and affinity.required else None) or ():
            yield from term.match_expressions or ()

    @property
    def zones(self) -> frozenset[str]:
        """The zones in which the volume can be used; empty if it is bound to no zone, as with EFS."""
        zones_in_affinity = {value for row in self.expressions if row.key in ZONE_KEYS for value in row.values or ()}
        labelled = (self.metadata.label(key) for key in ZONE_KEYS)
        return frozenset(zones_in_affinity) or frozenset(zone for zone in labelled if zone)

    @property
    def claimed_in(self) -> str:
        """The namespace of its claim; empty if it is not claimed."""
        return (self.spec.claim_ref.namespace if self.spec.claim_ref else None) or ""


class AdmissionPolicy(WholeObject, frozen=True):
    """A policy of Kyverno or Kubernetes, or a mutation or constraint of Gatekeeper, that names Karpenter."""


class GitOpsSource(WholeObject, frozen=True):
    """A GitRepository, OCIRepository or HelmRepository of Flux that a delivery of Karpenter names."""

    @property
    def where(self) -> str:
        """Its address, with the branch, tag, commit or version; empty if it has no address."""
        ref = self.get("spec.ref", {})
        keys = ("branch", "tag", "semver", "commit", "name", "digest")
        at = next((f"{key} {ref[key]}" for key in keys if isinstance(ref, dict) and ref.get(key)), "")
        url = self.get("spec.url", "")
        return f"{url} {at}".strip() if isinstance(url, str) else ""
