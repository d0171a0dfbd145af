"""Reads AWS for one cluster: the protocol `AwsApi`, and its implementation over boto3.

Every call is a read, is declared in permissions.py, and runs under a deadline.
"""

from typing import Any, Protocol

from migrations_app.clients.aws import answers
from migrations_app.clients.aws import permissions as rights
from migrations_app.clients.aws.answers import AwsAnswer
from migrations_app.clients.aws.calls import AwsCalls
from migrations_app.clients.aws.capacity import CapacityApi, CapacityReads
from migrations_app.clients.aws.cross_account import DEFAULT, AwsLimits
from migrations_app.clients.aws.session import AwsSession
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
from migrations_app.inventory.objects.cluster_arn import AwsPlace
from migrations_app.karpenter import labels

_QUEUE_FACTS = ["KmsMasterKeyId", "Policy", "QueueArn"]
_STATES = ["pending", "running", "stopping", "stopped"]
_PAGE = 1000


class LiveAws(CapacityReads):
    """Implementation of AwsApi over boto3. Thread-safe."""

    def __init__(self, calls: AwsCalls, place: AwsPlace) -> None:
        super().__init__(calls)
        self._place = place

    @property
    def place(self) -> AwsPlace:
        return self._place

    def caller(self) -> Caller:
        return self._calls.get(
            rights.WHO_AM_I, lambda response: Caller(account=response["Account"], arn=response["Arn"])
        )

    def cluster(self) -> EksCluster | None:
        return self._calls.find(
            rights.DESCRIBE_CLUSTER, lambda response: answers.eks_cluster(response["cluster"]), name=self._place.cluster
        )

    def role(self, name: str) -> AwsRole | None:
        return self._calls.find(rights.GET_ROLE, lambda response: answers.role(response["Role"]), RoleName=name)

    def attached_policies(self, role: str) -> tuple[AttachedPolicy, ...]:
        policies = self._calls.pages(rights.LIST_ATTACHED, lambda page: page["AttachedPolicies"], RoleName=role)
        return tuple(AttachedPolicy(name=policy["PolicyName"], arn=policy["PolicyArn"]) for policy in policies)

    def inline_names(self, role: str) -> tuple[str, ...]:
        return tuple(self._calls.pages(rights.LIST_INLINE, lambda page: page["PolicyNames"], RoleName=role))

    def inline_policy(self, role: str, name: str) -> PolicyDocument | None:
        return self._calls.find(rights.GET_INLINE, answers.inline_policy, RoleName=role, PolicyName=name)

    def managed_policy(self, arn: str) -> PolicyDocument | None:
        policy: AwsAnswer | None = self._calls.find(
            rights.GET_POLICY, lambda response: response["Policy"], PolicyArn=arn
        )
        if policy is None:
            return None
        return self._calls.find(
            rights.GET_VERSION,
            lambda response: answers.managed_policy(policy, response["PolicyVersion"]),
            PolicyArn=arn,
            VersionId=policy.get("DefaultVersionId", "v1"),
        )

    def instance_profile(self, name: str) -> InstanceProfile | None:
        return self._calls.find(
            rights.GET_PROFILE,
            lambda response: answers.instance_profile(response["InstanceProfile"]),
            InstanceProfileName=name,
        )

    def oidc_provider(self, arn: str) -> OidcProvider | None:
        return self._calls.find(
            rights.GET_PROVIDER, lambda response: answers.oidc_provider(arn, response), OpenIDConnectProviderArn=arn
        )

    def associations(self, *, namespace: str, service_account: str) -> tuple[Association, ...]:
        identities = self._calls.pages(
            rights.LIST_ASSOCIATIONS,
            lambda page: [association["associationId"] for association in page["associations"]],
            clusterName=self._place.cluster,
            namespace=namespace,
            serviceAccount=service_account,
        )
        complete_identities = (self._association(identity) for identity in identities)
        return tuple(association for association in complete_identities if association is not None)

    def _association(self, identity: str) -> Association | None:
        return self._calls.find(
            rights.DESCRIBE_ASSOCIATION,
            lambda response: answers.association(response["association"]),
            clusterName=self._place.cluster,
            associationId=identity,
        )

    def addon_status(self, name: str) -> str | None:
        return self._calls.find(
            rights.DESCRIBE_ADDON,
            lambda response: str(response["addon"].get("status", "")),
            clusterName=self._place.cluster,
            addonName=name,
        )

    def access_entry(self, principal_arn: str) -> AccessEntry | None:
        return self._calls.find(
            rights.DESCRIBE_ENTRY,
            lambda response: answers.access_entry(response["accessEntry"]),
            clusterName=self._place.cluster,
            principalArn=principal_arn,
        )

    def queue(self, name: str, *, account: str) -> Queue | None:
        owner = {"QueueOwnerAWSAccountId": account} if account else {}
        url: str | None = self._calls.find(
            rights.GET_QUEUE_URL, lambda response: str(response["QueueUrl"]), QueueName=name, **owner
        )
        if url is None:
            return None
        return self._calls.find(
            rights.GET_QUEUE,
            lambda response: answers.queue(name, response["Attributes"]),
            QueueUrl=url,
            AttributeNames=_QUEUE_FACTS,
        )

    def tagged_instances(self) -> tuple[TaggedInstances, ...]:
        filters = [
            _filter(f"tag:kubernetes.io/cluster/{self._place.cluster}", ["owned"]),
            _filter("tag-key", [labels.NODEPOOL, labels.PROVISIONER_NAME]),
            _filter("instance-state-name", _STATES),
        ]
        instances = self._calls.pages(
            rights.DESCRIBE_INSTANCES,
            lambda page: [instance for group in page["Reservations"] for instance in group["Instances"]],
            Filters=filters,
            PaginationConfig={"PageSize": _PAGE},
        )
        return answers.tagged_instances(instances)

    def simulated(self, role_arn: str, question: Question) -> tuple[Reply, ...]:
        replies = self._calls.pages(
            rights.SIMULATE,
            lambda page: [answers.reply(evaluation_result) for evaluation_result in page["EvaluationResults"]],
            PolicySourceArn=role_arn,
            ActionNames=list(question.actions),
            ResourceArns=[question.resource],
            ContextEntries=[_context(key, values) for key, values in question.context],
        )
        return tuple(replies)

    def close(self) -> None:
        self._calls.close()


def _filter(name: str, values: list[str]) -> dict[str, Any]:
    return {"Name": name, "Values": values}


def _context(key: str, values: tuple[str, ...]) -> dict[str, Any]:
    kind = "stringList" if key == "aws:TagKeys" else "string"
    return {"ContextKeyName": key, "ContextKeyValues": list(values), "ContextKeyType": kind}


def open_aws(session: AwsSession, place: AwsPlace, *, limits: AwsLimits = DEFAULT) -> LiveAws:
    """A client for that cluster. Sends nothing yet."""
    return LiveAws(AwsCalls(session, limits), place)


class AwsApi(CapacityApi, Protocol):
    """Reads of one AWS account and region. Every failure is an errors.ReadError; None means that the object does not
    exist.
    """

    @property
    def place(self) -> AwsPlace:
        """The cluster that all reads are about; its account is empty if it is not known."""

    def caller(self) -> Caller:
        """The identity that AWS sees in these credentials."""

    def cluster(self) -> EksCluster | None:
        """The EKS cluster of `place`."""

    def role(self, name: str) -> AwsRole | None:
        """The role of that name in this account, with any path."""

    def attached_policies(self, role: str) -> tuple[AttachedPolicy, ...]:
        """The managed policies attached to a role."""

    def inline_names(self, role: str) -> tuple[str, ...]:
        """Names of the inline policies of a role."""

    def inline_policy(self, role: str, name: str) -> PolicyDocument | None: ...

    def managed_policy(self, arn: str) -> PolicyDocument | None:
        """A managed policy in its default version."""

    def instance_profile(self, name: str) -> InstanceProfile | None: ...

    def oidc_provider(self, arn: str) -> OidcProvider | None: ...

    def associations(self, *, namespace: str, service_account: str) -> tuple[Association, ...]:
        """The EKS Pod Identity associations of a service account; EKS allows at most one today."""

    def addon_status(self, name: str) -> str | None:
        """The status of an add-on of the cluster, such as ACTIVE."""

    def access_entry(self, principal_arn: str) -> AccessEntry | None:
        """The EKS access entry of a principal."""

    def queue(self, name: str, *, account: str) -> Queue | None: ...

    def tagged_instances(self) -> tuple[TaggedInstances, ...]:
        """Instances of the cluster that carry a Karpenter tag, grouped by equal tags."""

    def simulated(self, role_arn: str, question: Question) -> tuple[Reply, ...]:
        """The SimulatePrincipalPolicy results for the actions of one question."""

    def close(self) -> None:
        """Drops the credentials; safe to call twice."""
