"""The site that a policy is evaluated for: partition, region, account, cluster, node roles and queue."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from migrations_app.iam.partitions import dns_suffix_of, iam_region_of

# Placeholders for names that are not known. Requests and placeholders of a document are filled with the same names, so
# that an unedited template can be evaluated without any option.
SOME_CLUSTER = "my-cluster"
SOME_ACCOUNT = "000000000000"
SOME_REGION = "us-west-2"
# SSM parameters of the two usual image families, for node classes that are not known.
SOME_PARAMETERS = (
    "/aws/service/eks/optimized-ami/1.30/amazon-linux-2/recommended/image_id",
    "/aws/service/eks/optimized-ami/1.30/amazon-linux-2023/x86_64/standard/recommended/image_id",
)
_PUBLIC_PARAMETERS = "aws/service/"

_PLACEHOLDER = re.compile(r"\$\{(!?)([^{}]*)\}")


@dataclass(frozen=True, kw_only=True)
class AwsSite:
    """Names that fill requests and placeholders. `extra_tags` are those of spec.tags of the node classes, `parameters`
    the SSM parameters from which they take images, by name or ARN; empty if that is not known.
    """

    cluster: str = SOME_CLUSTER
    account: str = SOME_ACCOUNT
    region: str = SOME_REGION
    partition: str = "aws"
    node_roles: tuple[str, ...] = ()
    queue: str = ""
    assume_role_arn: str = ""
    parameters: tuple[str, ...] = ()
    extra_tags: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def roles(self) -> tuple[str, ...]:
        """Node role names with their path; the name in the official template if none is known."""
        return tuple(map(role_name, self.node_roles)) or (f"KarpenterNodeRole-{self.cluster}",)

    @property
    def parameter_places(self) -> tuple[tuple[str, str], ...]:
        """Account and path of each SSM parameter; the account is empty for those that AWS publishes."""
        return tuple(self._place(name) for name in self.parameters or SOME_PARAMETERS)

    def _place(self, parameter: str) -> tuple[str, str]:
        if parameter.startswith("arn:") and parameter.count(":") >= 5:
            _, _, _, _, account, path = parameter.split(":", 5)
            return account, path.removeprefix("parameter/")
        path = parameter.removeprefix("/")
        return "" if path.startswith(_PUBLIC_PARAMETERS) else self.account, path

    @property
    def queue_name(self) -> str:
        return self.queue.rpartition(":")[2] or self.cluster

    @property
    def iam_region(self) -> str:
        return iam_region_of(self.partition)

    def words(self) -> dict[str, str]:
        """Values for the braces in a row of requests.py or statements.py."""
        return {
            "partition": self.partition,
            "region": self.region,
            "account": self.account,
            "cluster": self.cluster,
            "queue": self.queue_name,
            "role": self.roles[0],
            "assume_role_arn": self.assume_role_arn,
        }

    def fill(self, text: str) -> str:
        """The text with every placeholder replaced that a template, a shell script or Terraform uses for these names.

        Others stay unchanged: policy variables are handled by the evaluator, and an unknown placeholder could be
        anything.
        """
        placeholders = self._placeholders()

        def value(match: re.Match[str]) -> str:
            literal, name = match.groups()
            return f"${{{name}}}" if literal else placeholders.get(name.strip(), match[0])

        return _PLACEHOLDER.sub(value, text)

    def _placeholders(self) -> dict[str, str]:
        values = {
            **dict.fromkeys(_PARTITION, self.partition),
            **dict.fromkeys(_REGION, self.region),
            **dict.fromkeys(_ACCOUNT, self.account),
            **dict.fromkeys(_CLUSTER, self.cluster),
            "AWS::URLSuffix": dns_suffix_of(self.partition),
            "Queue": self.queue_name,
            "NodeRole": self.roles[0],
            "KarpenterInterruptionQueue.Arn": "arn:{partition}:sqs:{region}:{account}:{queue}".format_map(self.words()),
            "KarpenterNodeRole.Arn": "arn:{partition}:iam::{account}:role/{role}".format_map(self.words()),
        }
        return values | ({"AssumeRoleArn": self.assume_role_arn} if self.assume_role_arn else {})


_PARTITION = ("AWS::Partition", "AWS_PARTITION", "Partition", "local.partition", "data.aws_partition.current.partition")
_REGION = ("AWS::Region", "AWS_REGION", "AWS_DEFAULT_REGION", "Region", "local.region", "data.aws_region.current.name")
_ACCOUNT = (
    "AWS::AccountId",
    "AWS_ACCOUNT_ID",
    "AccountId",
    "local.account_id",
    "data.aws_caller_identity.current.account_id",
)
_CLUSTER = ("ClusterName", "CLUSTER_NAME", "var.cluster_name", "module.eks.cluster_name")


def role_name(role: str) -> str:
    """Name of a role with its path, from a name or an ARN."""
    return role.partition(":role/")[2] if role.startswith("arn:") else role.strip("/")


def pricing_region(region: str) -> str:
    """The region of the pricing API for a cluster in `region`; few regions have an endpoint.

    Source: aws/karpenter-provider-aws@v1.14.1:pkg/providers/pricing/pricing.go
    """
    places = {"ap": "ap-south-1", "eu": "eu-central-1", "cn": "cn-northwest-1"}
    return places.get(region.partition("-")[0], "us-east-1")
