"""The AWS account of a story: an AwsApi whose answers are computed from the story's own objects.

Its simulation uses karpdash's own evaluator: it shows what the pages look like, and proves nothing about AWS.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from migrations_app.iam.evaluate import IamRequest, RequestVerdict, evaluate
from migrations_app.iam.policy import PolicyStatement, parse_policy
from migrations_app.iam.requirements.gaps import find_gaps
from migrations_app.iam.requirements.remedies import fitted, size_of, statements_to_add
from migrations_app.iam.site import AwsSite
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
    Subnet,
    TaggedSubnet,
    VcpuQuota,
)
from migrations_app.inventory.objects.cluster_arn import AwsPlace
from migrations_app.karpenter import labels
from migrations_app.karpenter.vcpu_quotas import QUOTA_CODES
from migrations_app.manifests import JsonMap

ACCOUNT = "111122223333"
CONTROLLER = "KarpenterController"
SPOT_ROLE = "AWSServiceRoleForEC2Spot"
NODE_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryReadOnly")
DISCOVERY = "karpenter.sh/discovery"
SUBNET, FREE = 4096, 3000
"""Addresses of each subnet."""
QUOTA, VCPUS = 640, 8
"""vCPUs that are free of each quota, and those of an instance."""
MEASURED_AT = "2026-10-01T05:55:00Z"
"""When AWS measured what is used of each quota, in a story that always stays the same."""
IDS_KEPT = 3
"""Ids that AWS's client keeps of instances with the same tags."""
SENDERS = ["events.amazonaws.com", "sqs.amazonaws.com"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleAwsAccount:
    """The content of the account. `granted` are the releases whose needs the controller's policies cover."""

    cluster: str
    kubernetes: str
    region: str = "eu-central-1"
    namespace: str = "kube-system"
    granted: Sequence[str] = ()
    tagged_with_cluster: bool = False
    """Instances carry eks:eks-cluster-name, as 1.0 sets it."""
    pod_identity: bool = False
    queue: str = ""
    profiles: Sequence[str] = ()
    docs: Sequence[JsonMap] = field(default=())
    measured_at: str = MEASURED_AT


class SampleAws:
    """An AwsApi over a SampleAwsAccount."""

    def __init__(self, account: SampleAwsAccount) -> None:
        self._account = account
        self._issuer = f"https://oidc.eks.{account.region}.amazonaws.com/id/{account.cluster.upper()}"
        self._node_role = f"KarpenterNodeRole-{account.cluster}"

    @property
    def place(self) -> AwsPlace:
        return AwsPlace(region=self._account.region, cluster=self._account.cluster, account=ACCOUNT)

    def caller(self) -> Caller:
        return Caller(account=ACCOUNT, arn=f"arn:aws:sts::{ACCOUNT}:assumed-role/karpdash/sample")

    def cluster(self) -> EksCluster:
        return EksCluster(
            name=self._account.cluster,
            arn=self.place.arn,
            status="ACTIVE",
            version=self._account.kubernetes,
            endpoint=f"https://sample.gr7.{self._account.region}.eks.amazonaws.com",
            ca_data="",
            issuer=self._issuer,
            authentication_mode="API_AND_CONFIG_MAP",
            vpc="vpc-00000000",
        )

    def role(self, name: str) -> AwsRole | None:
        trusts = {CONTROLLER: self._controller_trust(), self._node_role: _trust("ec2.amazonaws.com", "sts:AssumeRole")}
        if name in trusts:
            return _role(name, trusts[name])
        if name == SPOT_ROLE:
            trust = _trust("spot.amazonaws.com", "sts:AssumeRole")
            return _role(name, trust, path="/aws-service-role/spot.amazonaws.com/")
        return None

    def attached_policies(self, role: str) -> tuple[AttachedPolicy, ...]:
        if role == CONTROLLER:
            return tuple(AttachedPolicy(name=policy.name, arn=policy.arn) for policy in self._policies)
        return tuple(AttachedPolicy(name=name, arn=f"arn:aws:iam::aws:policy/{name}") for name in NODE_POLICIES)

    def inline_names(self, role: str) -> tuple[str, ...]:  # noqa: ARG002 - the port's signature
        return ()

    def inline_policy(self, role: str, name: str) -> PolicyDocument | None:  # noqa: ARG002 - the port's signature
        return None

    def managed_policy(self, arn: str) -> PolicyDocument | None:
        return next((policy for policy in self._policies if policy.arn == arn), None)

    def instance_profile(self, name: str) -> InstanceProfile | None:
        if name not in self._account.profiles:
            return None
        arn = f"arn:aws:iam::{ACCOUNT}:instance-profile/{name}"
        return InstanceProfile(name=name, exists=True, arn=arn, role_arns=(_role_arn(self._node_role),))

    def oidc_provider(self, arn: str) -> OidcProvider | None:
        return OidcProvider(arn=arn, url=self._issuer.removeprefix("https://"), client_ids=("sts.amazonaws.com",))

    def associations(self, *, namespace: str, service_account: str) -> tuple[Association, ...]:
        if not self._account.pod_identity:
            return ()
        role = _role_arn(CONTROLLER)
        return (Association(id="a-1", namespace=namespace, service_account=service_account, role_arn=role),)

    def addon_status(self, name: str) -> str | None:  # noqa: ARG002 - the port's signature
        return "ACTIVE" if self._account.pod_identity else None

    def access_entry(self, principal_arn: str) -> AccessEntry | None:
        return AccessEntry(principal_arn=principal_arn, type="EC2_LINUX", groups=("system:nodes",))

    def queue(self, name: str, *, account: str) -> Queue | None:
        if name != self._account.queue:
            return None
        arn = f"arn:aws:sqs:{self._account.region}:{account}:{name}"
        allow = {"Effect": "Allow", "Principal": {"Service": SENDERS}, "Action": "sqs:SendMessage", "Resource": arn}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [allow]})
        return Queue(name=name, exists=True, arn=arn, policy=policy)

    @property
    def _instances(self) -> list[JsonMap]:
        """The objects that each stand for an instance."""
        return [doc for doc in self._account.docs if doc["kind"] in ("Machine", "NodeClaim")]

    def tagged_instances(self) -> tuple[TaggedInstances, ...]:
        ids: dict[tuple[tuple[str, str], ...], list[str]] = defaultdict(list)
        for doc in self._instances:
            ids[self._tags(doc)].append(doc["status"]["providerID"].rpartition("/")[2])
        return tuple(
            TaggedInstances(tags=tags, count=len(group_ids), samples=tuple(group_ids[:IDS_KEPT]))
            for tags, group_ids in sorted(ids.items())
        )

    def subnets(self, vpc: str, *, keys: Collection[str]) -> tuple[TaggedSubnet, ...]:  # noqa: ARG002 - the port's signature
        """One for nodes in each of three zones, with the tag by which node classes find it."""
        tags = ((DISCOVERY, self._account.cluster),) if DISCOVERY in keys else ()
        zones = [f"{self._account.region}{letter}" for letter in "abc"]
        subnets = (Subnet(id=f"subnet-0000000{n}", zone=zone, size=SUBNET, free=FREE) for n, zone in enumerate(zones))
        return tuple(TaggedSubnet(subnet=subnet, tags=tags) for subnet in subnets)

    def vcpu_quotas(self) -> tuple[VcpuQuota, ...]:
        used = len(self._instances) * VCPUS
        return tuple(
            VcpuQuota(code=code, limit=QUOTA + used, used=used, measured_at=self._account.measured_at)
            for code in QUOTA_CODES
        )

    def capacity_reservations(self) -> tuple[CapacityReservation, ...]:
        return ()

    def offerings(self, instance_types: Iterable[str]) -> tuple[InstanceOffering, ...]:
        """Every type in every zone."""
        zones = [f"{self._account.region}{letter}" for letter in "abc"]
        return tuple(
            InstanceOffering(instance_type=instance_type, zone=zone)
            for instance_type in instance_types
            for zone in zones
        )

    def simulated(self, role_arn: str, question: Question) -> tuple[Reply, ...]:  # noqa: ARG002 - the port's signature
        policies = [parse_policy(policy.text, name=policy.name) for policy in self._policies]
        context = dict(question.context)
        tags = {key.partition("/")[2]: value[0] for key, value in context.items() if key.startswith("aws:RequestTag/")}
        resource_tags = {
            key.partition("/")[2]: value[0] for key, value in context.items() if key.startswith("aws:ResourceTag/")
        }
        requests = (
            IamRequest(
                action=action,
                resource=question.resource,
                request_tags=tags,
                resource_tags=resource_tags,
                context=context,
            )
            for action in question.actions
        )
        return tuple(_reply(request, evaluate(request, policies).verdict) for request in requests)

    def documents(self) -> dict[str, bytes]:
        """The controller's policies as files of a bundle."""
        return {f"iam/{policy.name}.json": policy.text.encode() for policy in self._policies}

    def close(self) -> None:
        return

    @cached_property
    def _policies(self) -> tuple[PolicyDocument, ...]:
        documents = fitted(self._statements(), limit=6144)
        return tuple(_document(f"{CONTROLLER}-{n}", body) for n, body in enumerate(documents, 1))

    def _statements(self) -> Iterator[PolicyStatement]:
        site = AwsSite(
            cluster=self._account.cluster,
            account=ACCOUNT,
            region=self._account.region,
            node_roles=(self._node_role,),
            queue=self._account.queue,
        )
        for release in self._account.granted:
            yield from statements_to_add(find_gaps((), release=release, site=site), site).statements

    def _controller_trust(self) -> str:
        if self._account.pod_identity:
            return _trust("pods.eks.amazonaws.com", "sts:AssumeRole", "sts:TagSession")
        issuer = self._issuer.removeprefix("https://")
        subject = f"system:serviceaccount:{self._account.namespace}:karpenter"
        return json.dumps({"Version": "2012-10-17", "Statement": [{
            "Effect": "Allow",
            "Principal": {"Federated": f"arn:aws:iam::{ACCOUNT}:oidc-provider/{issuer}"},
            "Action": "sts:AssumeRoleWithWebIdentity",
            "Condition": {"StringEquals": {f"{issuer}:sub": subject, f"{issuer}:aud": "sts.amazonaws.com"}},
        }]})  # fmt: skip

    def _tags(self, doc: JsonMap) -> tuple[tuple[str, str], ...]:
        """The tags of the instance behind a Machine or NodeClaim that a scan reads."""
        key = labels.PROVISIONER_NAME if doc["kind"] == "Machine" else labels.NODEPOOL
        tags = {f"kubernetes.io/cluster/{self._account.cluster}": "owned", key: doc["metadata"]["labels"][key]}
        if doc["kind"] == "NodeClaim":
            tags[labels.EC2_NODE_CLASS] = doc["spec"]["nodeClassRef"]["name"]
        marked = (doc["metadata"].get("annotations") or {}).get(labels.CLUSTER_NAME_TAGGED) == "true"
        if marked or self._account.tagged_with_cluster:
            tags[labels.CLUSTER_NAME_TAG] = self._account.cluster
        else:
            tags["karpenter.sh/managed-by"] = self._account.cluster
        return tuple(sorted(tags.items()))


def _reply(request: IamRequest, verdict: RequestVerdict) -> Reply:
    return Reply(action=request.action, decision="allowed" if verdict is RequestVerdict.ALLOWED else "implicitDeny")


def _role_arn(name: str, path: str = "/") -> str:
    return f"arn:aws:iam::{ACCOUNT}:role{path}{name}"


def _role(name: str, trust: str, *, path: str = "/") -> AwsRole:
    return AwsRole(name=name, arn=_role_arn(name, path), path=path, trust=trust, boundary_arn="")


def _trust(service: str, *actions: str) -> str:
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": list(actions)}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def _document(name: str, body: JsonMap) -> PolicyDocument:
    arn = f"arn:aws:iam::{ACCOUNT}:policy/{name}"
    return PolicyDocument(
        name=name, kind="customer_managed", text=json.dumps(body), size=size_of(body), arn=arn, version="v3"
    )
