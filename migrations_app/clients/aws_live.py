"""The port over the real AWS: reads only, each of them a row of aws_rights.py."""

from typing import Any

from migrations_app.clients import aws_answers as answers
from migrations_app.clients import aws_rights as rights
from migrations_app.clients.aws_access import DEFAULT, AwsLimits
from migrations_app.clients.aws_answers import Answer
from migrations_app.clients.aws_calls import AwsCalls
from migrations_app.clients.aws_session import AwsSession
from migrations_app.inventory.aws import (
    AccessEntry,
    Association,
    AttachedPolicy,
    Caller,
    EksCluster,
    InstanceProfile,
    OidcProvider,
    PolicyDocument,
    Queue,
    Role,
    TaggedInstances,
)
from migrations_app.inventory.aws_crosscheck import Question, Reply
from migrations_app.inventory.aws_place import AwsPlace
from migrations_app.karpenter import labels

_QUEUE_FACTS = ["KmsMasterKeyId", "MessageRetentionPeriod", "Policy", "QueueArn", "SqsManagedSseEnabled"]
_STATES = ["pending", "running", "stopping", "stopped"]
_PAGE = 1000


class LiveAws:
    """An AwsApi; its methods may be called from several threads."""

    def __init__(self, calls: AwsCalls, place: AwsPlace) -> None:
        self._calls = calls
        self._place = place

    @property
    def place(self) -> AwsPlace:
        return self._place

    def caller(self) -> Caller:
        return self._calls.get(rights.WHO_AM_I, lambda found: Caller(account=found["Account"], arn=found["Arn"]))

    def cluster(self) -> EksCluster | None:
        return self._calls.find(
            rights.DESCRIBE_CLUSTER, lambda found: answers.eks_cluster(found["cluster"]), name=self._place.cluster
        )

    def role(self, name: str) -> Role | None:
        return self._calls.find(rights.GET_ROLE, lambda found: answers.role(found["Role"]), RoleName=name)

    def attached_policies(self, role: str) -> tuple[AttachedPolicy, ...]:
        found = self._calls.pages(rights.LIST_ATTACHED, lambda page: page["AttachedPolicies"], RoleName=role)
        return tuple(AttachedPolicy(name=one["PolicyName"], arn=one["PolicyArn"]) for one in found)

    def inline_names(self, role: str) -> tuple[str, ...]:
        return tuple(self._calls.pages(rights.LIST_INLINE, lambda page: page["PolicyNames"], RoleName=role))

    def inline_policy(self, role: str, name: str) -> PolicyDocument | None:
        return self._calls.find(rights.GET_INLINE, answers.inline_policy, RoleName=role, PolicyName=name)

    def managed_policy(self, arn: str) -> PolicyDocument | None:
        policy: Answer | None = self._calls.find(rights.GET_POLICY, lambda found: found["Policy"], PolicyArn=arn)
        if policy is None:
            return None
        return self._calls.find(
            rights.GET_VERSION,
            lambda found: answers.managed_policy(policy, found["PolicyVersion"]),
            PolicyArn=arn,
            VersionId=policy.get("DefaultVersionId", "v1"),
        )

    def instance_profile(self, name: str) -> InstanceProfile | None:
        return self._calls.find(
            rights.GET_PROFILE,
            lambda found: answers.instance_profile(found["InstanceProfile"]),
            InstanceProfileName=name,
        )

    def oidc_provider(self, arn: str) -> OidcProvider | None:
        return self._calls.find(
            rights.GET_PROVIDER, lambda found: answers.oidc_provider(arn, found), OpenIDConnectProviderArn=arn
        )

    def associations(self, *, namespace: str, service_account: str) -> tuple[Association, ...]:
        listed = self._calls.pages(
            rights.LIST_ASSOCIATIONS,
            lambda page: [one["associationId"] for one in page["associations"]],
            clusterName=self._place.cluster,
            namespace=namespace,
            serviceAccount=service_account,
        )
        found = (self._association(identity) for identity in listed)
        return tuple(one for one in found if one is not None)

    def _association(self, identity: str) -> Association | None:
        return self._calls.find(
            rights.DESCRIBE_ASSOCIATION,
            lambda found: answers.association(found["association"]),
            clusterName=self._place.cluster,
            associationId=identity,
        )

    def addon_status(self, name: str) -> str | None:
        return self._calls.find(
            rights.DESCRIBE_ADDON,
            lambda found: str(found["addon"].get("status", "")),
            clusterName=self._place.cluster,
            addonName=name,
        )

    def access_entry(self, principal_arn: str) -> AccessEntry | None:
        return self._calls.find(
            rights.DESCRIBE_ENTRY,
            lambda found: answers.access_entry(found["accessEntry"]),
            clusterName=self._place.cluster,
            principalArn=principal_arn,
        )

    def queue(self, name: str, *, account: str) -> Queue | None:
        owner = {"QueueOwnerAWSAccountId": account} if account else {}
        url: str | None = self._calls.find(
            rights.GET_QUEUE_URL, lambda found: str(found["QueueUrl"]), QueueName=name, **owner
        )
        if url is None:
            return None
        return self._calls.find(
            rights.GET_QUEUE,
            lambda found: answers.queue(name, found["Attributes"]),
            QueueUrl=url,
            AttributeNames=_QUEUE_FACTS,
        )

    def tagged_instances(self) -> tuple[TaggedInstances, ...]:
        wanted = [
            _filter(f"tag:kubernetes.io/cluster/{self._place.cluster}", ["owned"]),
            _filter("tag-key", [labels.NODEPOOL, labels.PROVISIONER_NAME]),
            _filter("instance-state-name", _STATES),
        ]
        found = self._calls.pages(
            rights.DESCRIBE_INSTANCES,
            lambda page: [one for group in page["Reservations"] for one in group["Instances"]],
            Filters=wanted,
            PaginationConfig={"PageSize": _PAGE},
        )
        return answers.tagged_instances(found)

    def simulated(self, role_arn: str, question: Question) -> tuple[Reply, ...]:
        found = self._calls.pages(
            rights.SIMULATE,
            lambda page: [answers.reply(one) for one in page["EvaluationResults"]],
            PolicySourceArn=role_arn,
            ActionNames=list(question.actions),
            ResourceArns=[question.resource],
            ContextEntries=[_context(key, values) for key, values in question.context],
        )
        return tuple(found)

    def close(self) -> None:
        self._calls.close()


def _filter(name: str, values: list[str]) -> dict[str, Any]:
    return {"Name": name, "Values": values}


def _context(key: str, values: tuple[str, ...]) -> dict[str, Any]:
    kind = "stringList" if key == "aws:TagKeys" else "string"
    return {"ContextKeyName": key, "ContextKeyValues": list(values), "ContextKeyType": kind}


def open_aws(session: AwsSession, place: AwsPlace, *, limits: AwsLimits = DEFAULT) -> LiveAws:
    """A client for that cluster; nothing is sent yet."""
    return LiveAws(AwsCalls(session, limits), place)
