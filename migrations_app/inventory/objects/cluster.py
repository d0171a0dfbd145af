"""Projections of the controller's permissions and reachability: cluster roles, their bindings, network policies."""

from migrations_app.inventory.objects.base import NamedObject, Projection
from migrations_app.inventory.objects.workloads import LabelSelector


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


class Ingress(Projection, frozen=True):
    ports: list[PolicyPort] | None = None


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
