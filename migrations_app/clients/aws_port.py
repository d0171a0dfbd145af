"""The port through which AWS is read for one cluster, and its harmless twin for clusters without an AWS account."""

from typing import Protocol

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


class AwsApi(Protocol):
    """Reads of one account and region. Every failure is an errors.CouldNotLook; None means that AWS has none such."""

    @property
    def place(self) -> AwsPlace:
        """The cluster all reads are about; its account is empty when nobody told it."""

    def caller(self) -> Caller:
        """Who AWS takes us for."""

    def cluster(self) -> EksCluster | None:
        """The EKS cluster of the place."""

    def role(self, name: str) -> Role | None:
        """The role of that name in our account, whatever its path."""

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
        """The EKS Pod Identity associations of a service account; at most one by today's rules."""

    def addon_status(self, name: str) -> str | None:
        """Status of an add-on of the cluster, such as ACTIVE."""

    def access_entry(self, principal_arn: str) -> AccessEntry | None:
        """What the cluster grants to a principal by an access entry."""

    def queue(self, name: str, *, account: str) -> Queue | None: ...

    def tagged_instances(self) -> tuple[TaggedInstances, ...]:
        """Instances of the cluster that carry a tag of Karpenter, in groups of equal tags."""

    def simulated(self, role_arn: str, question: Question) -> tuple[Reply, ...]:
        """SimulatePrincipalPolicy for the actions of one question."""

    def close(self) -> None:
        """Forgets credentials; harmless when called twice."""
