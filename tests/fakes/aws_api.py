"""An AwsApi in memory: the objects of an AWS account, and calls that fail on demand."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from migrations_app.errors import ReadError
from migrations_app.inventory.aws_facts.simulation import Question, Reply
from migrations_app.inventory.objects.aws import (
    AccessEntry,
    Association,
    AttachedPolicy,
    AwsRole,
    Caller,
    EksCluster,
    InstanceProfile,
    OidcProvider,
    PolicyDocument,
    Queue,
    TaggedInstances,
)
from migrations_app.inventory.objects.capacity import (
    CapacityReservation,
    InstanceOffering,
    TaggedSubnet,
    VcpuQuota,
)
from migrations_app.inventory.objects.cluster_arn import AwsPlace

ACCOUNT = "111122223333"
PLACE = AwsPlace(region="eu-west-1", cluster="shop", account=ACCOUNT)


def role_arn(name, account=ACCOUNT, path=""):
    return f"arn:aws:iam::{account}:role/{path}{name}"


def policy_arn(name):
    return f"arn:aws:iam::{ACCOUNT}:policy/{name}"


def a_role(name, path="", boundary_arn="", trust="{}"):
    return AwsRole(
        name=name, arn=role_arn(name, path=path), path=f"/{path}", trust=trust, boundary_arn=boundary_arn,
    )  # fmt: skip


def a_document(name, text='{"Version":"2012-10-17","Statement":[]}', kind="customer_managed"):
    arn = "" if kind == "inline" else policy_arn(name)
    return PolicyDocument(name=name, kind=kind, text=text, size=len(text), arn=arn, version="v1" if arn else "")


def a_cluster(**changed):
    facts = {
        "name": "shop", "arn": PLACE.arn, "status": "ACTIVE", "version": "1.30",
        "endpoint": "https://abc.gr7.eu-west-1.eks.amazonaws.com", "ca_data": "",
        "issuer": "https://oidc.eks.eu-west-1.amazonaws.com/id/ABC", "authentication_mode": "API_AND_CONFIG_MAP",
        "vpc": "vpc-1",
    }  # fmt: skip
    return EksCluster(**facts | changed)


def allowed(arn: str, question: Question) -> tuple[Reply, ...]:
    return tuple(Reply(action=action, decision="allowed") for action in question.actions)


@dataclass(kw_only=True)
class FakeAws:
    """`fails` maps the name of a method to the error of each of its calls; `calls` lists the calls in order."""

    place: AwsPlace = PLACE
    account: str = ACCOUNT
    eks: EksCluster | None = field(default_factory=a_cluster)
    roles: dict[str, AwsRole] = field(default_factory=dict)
    attached: dict[str, list[str]] = field(default_factory=dict)
    inline: dict[str, list[PolicyDocument]] = field(default_factory=dict)
    documents: dict[str, PolicyDocument] = field(default_factory=dict)
    profiles: dict[str, InstanceProfile] = field(default_factory=dict)
    providers: dict[str, OidcProvider] = field(default_factory=dict)
    associated: dict[tuple[str, str], list[Association]] = field(default_factory=dict)
    addons: dict[str, str] = field(default_factory=dict)
    entries: dict[str, AccessEntry] = field(default_factory=dict)
    queues: dict[str, Queue] = field(default_factory=dict)
    instances: tuple[TaggedInstances, ...] = ()
    subnets_there: tuple[TaggedSubnet, ...] = ()
    quotas: tuple[VcpuQuota, ...] = ()
    reservations: tuple[CapacityReservation, ...] = ()
    offered: tuple[InstanceOffering, ...] = ()
    simulate: Callable[[str, Question], tuple[Reply, ...]] = allowed
    fails: dict[str, ReadError] = field(default_factory=dict)
    calls: list[tuple[Any, ...]] = field(default_factory=list)

    def _note(self, method: str, *given: object) -> None:
        self.calls.append((method, *given))
        if method in self.fails:
            raise self.fails[method]

    def caller(self) -> Caller:
        self._note("caller")
        return Caller(account=self.account, arn=f"arn:aws:sts::{self.account}:assumed-role/karpdash/s")

    def cluster(self) -> EksCluster | None:
        self._note("cluster")
        return self.eks

    def role(self, name: str) -> AwsRole | None:
        self._note("role", name)
        return self.roles.get(name)

    def attached_policies(self, role: str) -> tuple[AttachedPolicy, ...]:
        self._note("attached_policies", role)
        return tuple(AttachedPolicy(name=name, arn=policy_arn(name)) for name in self.attached.get(role, []))

    def inline_names(self, role: str) -> tuple[str, ...]:
        self._note("inline_names", role)
        return tuple(document.name for document in self.inline.get(role, []))

    def inline_policy(self, role: str, name: str) -> PolicyDocument | None:
        self._note("inline_policy", role, name)
        return next((document for document in self.inline.get(role, []) if document.name == name), None)

    def managed_policy(self, arn: str) -> PolicyDocument | None:
        self._note("managed_policy", arn)
        return self.documents.get(arn)

    def instance_profile(self, name: str) -> InstanceProfile | None:
        self._note("instance_profile", name)
        return self.profiles.get(name)

    def oidc_provider(self, arn: str) -> OidcProvider | None:
        self._note("oidc_provider", arn)
        return self.providers.get(arn)

    def associations(self, *, namespace: str, service_account: str) -> tuple[Association, ...]:
        self._note("associations", namespace, service_account)
        return tuple(self.associated.get((namespace, service_account), []))

    def addon_status(self, name: str) -> str | None:
        self._note("addon_status", name)
        return self.addons.get(name)

    def access_entry(self, principal_arn: str) -> AccessEntry | None:
        self._note("access_entry", principal_arn)
        return self.entries.get(principal_arn)

    def queue(self, name: str, *, account: str) -> Queue | None:
        self._note("queue", name, account)
        return self.queues.get(name)

    def tagged_instances(self) -> tuple[TaggedInstances, ...]:
        self._note("tagged_instances")
        return self.instances

    def subnets(self, vpc: str, *, keys: Collection[str]) -> tuple[TaggedSubnet, ...]:
        self._note("subnets", vpc, frozenset(keys))
        return self.subnets_there

    def vcpu_quotas(self) -> tuple[VcpuQuota, ...]:
        self._note("vcpu_quotas")
        return self.quotas

    def capacity_reservations(self) -> tuple[CapacityReservation, ...]:
        self._note("capacity_reservations")
        return self.reservations

    def offerings(self, instance_types: Iterable[str]) -> tuple[InstanceOffering, ...]:
        self._note("offerings", tuple(instance_types))
        return self.offered

    def simulated(self, role_arn: str, question: Question) -> tuple[Reply, ...]:
        self._note("simulated", role_arn, question)
        return self.simulate(role_arn, question)

    def close(self) -> None:
        self.calls.append(("close",))
