"""What was seen in AWS for one EKS cluster at one moment: frozen values, each part Seen or Unseen.

Policy documents are kept as the text that AWS returned; evaluating them is for `iam` and the checks.
"""

from dataclasses import dataclass, fields
from typing import Literal

from migrations_app.inventory.objects.capacity import CapacityReservation, InstanceOffering, Subnet, VcpuQuota
from migrations_app.inventory.objects.cluster_arn import AwsPlace
from migrations_app.inventory.parts import NOT_ASKED, Part

PolicyKind = Literal["aws_managed", "customer_managed", "inline"]
FoundBy = Literal["pod_identity", "pod_identity_target", "irsa", "environment", "assume_role", "given"]
"""How a role was found; `given` means documents that a user supplied, without a role."""
SimulatorAgreement = Literal["agree", "disagree", "cannot_tell"]

# Characters without white space; the inline policies of a role share one limit.
LIMITS: dict[PolicyKind, int] = {"aws_managed": 6144, "customer_managed": 6144, "inline": 10240}


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The identity that AWS sees in karpdash's credentials."""

    account: str
    arn: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EksCluster:
    """The DescribeCluster result: `ca_data` is base64 of a PEM text, `version` the Kubernetes minor such as 1.30."""

    name: str
    arn: str
    status: str
    version: str
    endpoint: str
    ca_data: str
    issuer: str
    authentication_mode: str
    """API, API_AND_CONFIG_MAP or CONFIG_MAP; empty if the cluster is too old to report it, which means CONFIG_MAP."""
    vpc: str = ""
    """The id of the VPC that its nodes are in; empty if AWS did not tell it."""

    @property
    def asks_access_entries(self) -> bool:
        return "API" in self.authentication_mode

    @property
    def asks_aws_auth(self) -> bool:
        return self.authentication_mode != "API"


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsRole:
    """An IAM role. `trust` is its trust policy as JSON text; `boundary_arn` is empty without a permissions boundary."""

    name: str
    arn: str
    path: str
    trust: str
    boundary_arn: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedPolicy:
    """A managed policy by name; its document is not read."""

    name: str
    arn: str

    @property
    def kind(self) -> PolicyKind:
        return "aws_managed" if ":iam::aws:policy/" in self.arn else "customer_managed"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDocument:
    """A policy with its text. `arn` and `version` are empty for inline policies; `size` is counted as IAM does."""

    name: str
    kind: PolicyKind
    text: str
    size: int
    arn: str = ""
    version: str = ""

    @property
    def room(self) -> int:
        """Characters left up to the limit of its kind, as if it were the role's only inline policy."""
        return LIMITS[self.kind] - self.size


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerRole:
    """A role of the controller and how it was found. An empty `role` part means that AWS has no role with that ARN."""

    found_by: FoundBy
    arn: str
    role: Part[AwsRole]
    policies: Part[PolicyDocument]
    boundary: Part[PolicyDocument]
    """Empty if the role has none."""
    namespace: str = ""
    service_account: str = ""
    session_tags: bool = True
    """False if its Pod Identity association sends no session tags."""
    external_id: str = ""
    """What the association of a target role sends as sts:ExternalId; empty if that is not known."""

    @property
    def inline_size(self) -> int:
        """Characters of all inline policies together; the limit is 10,240."""
        return sum(policy.size for policy in self.policies.items if policy.kind == "inline")


@dataclass(frozen=True, slots=True, kw_only=True)
class Association:
    """An EKS Pod Identity association. With a target, pods run as `target_role_arn`, which is assumed
    from `role_arn` with `external_id`. With `limited` it has a policy of its own, which limits those of the role.
    """

    id: str
    namespace: str
    service_account: str
    role_arn: str
    target_role_arn: str = ""
    external_id: str = ""
    session_tags: bool = True
    limited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedBy:
    """The object that names something, and the path in it."""

    kind: str
    name: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceProfile:
    """An instance profile that some object names. `exists` False: AWS has none with that name."""

    name: str
    exists: bool
    arn: str = ""
    role_arns: tuple[str, ...] = ()
    named_by: tuple[NamedBy, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessEntry:
    """An EKS access entry; `type` is STANDARD, EC2_LINUX, EC2_WINDOWS, ..."""

    principal_arn: str
    type: str
    groups: tuple[str, ...] = ()
    username: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRole:
    """A role that nodes run as. An empty `role` part means that AWS has none with that name."""

    name: str
    role: Part[AwsRole]
    policies: Part[AttachedPolicy]
    inline: Part[str]
    """Names of its inline policies."""
    access_entry: Part[AccessEntry]
    """Empty if the cluster has no entry for the role, or uses only aws-auth."""
    named_by: tuple[NamedBy, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthRow:
    """One row of mapRoles in aws-auth."""

    role_arn: str
    username: str
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """The interruption queue of the controller's settings. `exists` False: SQS has none with that name
    in this region.
    """

    name: str
    exists: bool
    arn: str = ""
    policy: str = ""
    """Its resource policy as JSON text; empty without one."""
    kms_key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcProvider:
    """The IAM identity provider of the cluster's issuer."""

    arn: str
    url: str
    client_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggedInstances:
    """Karpenter instances that are equal in the tags by which controllers list and judge them."""

    tags: tuple[tuple[str, str], ...]
    count: int
    samples: tuple[str, ...]
    """The first instance ids, at most three."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossCheck:
    """One request as karpdash's evaluator and SimulatePrincipalPolicy judge it. `because` gives AWS's reason."""

    release: str
    role_arn: str
    action: str
    resource: str
    ours: str
    theirs: str
    agreement: SimulatorAgreement
    because: str = ""
    probes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsSeen:
    """Everything seen in AWS for one cluster. A part that was never filled in is Unseen, never empty."""

    place: AwsPlace
    identity: Part[Caller] = NOT_ASKED
    cluster: Part[EksCluster] = NOT_ASKED
    """Empty if EKS has no cluster of that name in the region."""
    controller_roles: Part[ControllerRole] = NOT_ASKED
    """Empty if no association, annotation or environment variable names one."""
    oidc_provider: Part[OidcProvider] = NOT_ASKED
    pod_identity_agent: Part[str] = NOT_ASKED
    """The add-on's status; empty if it is not installed as an EKS add-on."""
    instance_profiles: Part[InstanceProfile] = NOT_ASKED
    node_roles: Part[NodeRole] = NOT_ASKED
    aws_auth: Part[AuthRow] = NOT_ASKED
    queue: Part[Queue] = NOT_ASKED
    """Empty if no queue is configured."""
    spot_role: Part[AwsRole] = NOT_ASKED
    """The Spot service-linked role; empty if the account has none."""
    instances: Part[TaggedInstances] = NOT_ASKED
    subnets: Part[Subnet] = NOT_ASKED
    """The subnets that node classes select; empty if they select none."""
    quotas: Part[VcpuQuota] = NOT_ASKED
    reservations: Part[CapacityReservation] = NOT_ASKED
    """The active reservations of the account; empty if it has none."""
    offerings: Part[InstanceOffering] = NOT_ASKED
    """The zones that offer the instance types of Karpenter's nodes."""
    simulation: Part[CrossCheck] = NOT_ASKED

    def part(self, name: str) -> Part[object]:
        """The part of that name; raises AttributeError for an unknown name."""
        part_value: Part[object] = getattr(self, name)
        return part_value

    @property
    def asked(self) -> bool:
        """Whether AWS was read, or documents were supplied."""
        return any(self.part(name) != NOT_ASKED for name in AWS_PART_NAMES)

    @property
    def disagreements(self) -> tuple[CrossCheck, ...]:
        """Requests for which AWS and karpdash's evaluator disagree."""
        return tuple(cross_check for cross_check in self.simulation.items if cross_check.agreement == "disagree")


AWS_PART_NAMES: tuple[str, ...] = tuple(f.name for f in fields(AwsSeen) if f.name != "place")
NO_AWS = AwsSeen(place=AwsPlace(region="", cluster=""))
"""AWS access is not configured: every part is Unseen as `not_asked`."""
