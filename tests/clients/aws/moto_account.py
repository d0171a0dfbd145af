"""An account in moto's server, and recorded answers for the calls that moto does not have, such as QUOTAS.

Those answers are checked against botocore's models, as its Stubber does, but may come in any order and from any thread.
"""

import json

import boto3
from botocore.awsrequest import AWSResponse
from botocore.validate import validate_parameters

from migrations_app.clients.aws.cross_account import AwsCredentials, ClusterAccountAccess, OwnIdentity
from migrations_app.clients.aws.session import AwsSession
from migrations_app.clients.secret import Secret

ACCOUNT = "123456789012"
REGION = "eu-west-1"
KEYS = AwsCredentials(access_key_id="AKIAMOTO", secret=Secret("moto"))
_USAGE = {"Class": "Standard/OnDemand", "Resource": "vCPU", "Service": "EC2", "Type": "Resource"}
QUOTAS = {
    "Quotas": [
        {
            "ServiceCode": "ec2", "QuotaCode": "L-1216C47A", "Value": 640.0,
            "QuotaName": "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances",
            "UsageMetric": {
                "MetricNamespace": "AWS/Usage", "MetricName": "ResourceCount", "MetricDimensions": _USAGE,
                "MetricStatisticRecommendation": "Maximum",
            },
        },
    ],
}  # fmt: skip
CLUSTER_TAGS = {"karpenter.sh/nodepool": "default", "kubernetes.io/cluster/shop": "owned"}
ANYTHING = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]})


def arn(kind, name, service="iam", region=""):
    return f"arn:aws:{service}:{region}:{ACCOUNT}:{kind}/{name}"


def trust(service):
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


class Account:
    """Makes things in moto as their owner would."""

    def __init__(self, url):
        given = {"endpoint_url": url, "region_name": REGION, "aws_access_key_id": "a", "aws_secret_access_key": "b"}
        self.iam, self.eks, self.sqs, self.ec2 = (boto3.client(name, **given) for name in ("iam", "eks", "sqs", "ec2"))

    def role(self, name, service="ec2.amazonaws.com", **given):
        return self.iam.create_role(RoleName=name, AssumeRolePolicyDocument=trust(service), **given)["Role"]["Arn"]

    def policy(self, name, text=ANYTHING):
        return self.iam.create_policy(PolicyName=name, PolicyDocument=text)["Policy"]["Arn"]

    def cluster(self, name="shop"):
        made = self.eks.create_cluster(
            name=name, version="1.30", roleArn=arn("role", "eks"),
            resourcesVpcConfig={"subnetIds": [], "securityGroupIds": []},
        )  # fmt: skip
        return made["cluster"]

    def profile(self, name, role):
        self.iam.create_instance_profile(InstanceProfileName=name)
        self.iam.add_role_to_instance_profile(InstanceProfileName=name, RoleName=role)

    def subnets(self, tags, *blocks):
        """A VPC with a subnet of each of these blocks, one a zone; its id."""
        vpc = self.ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        rows = [{"Key": key, "Value": value} for key, value in tags.items()]
        for letter, block in zip("abc", blocks, strict=False):
            tagged = [{"ResourceType": "subnet", "Tags": rows}] if rows else []
            self.ec2.create_subnet(
                VpcId=vpc, CidrBlock=block, AvailabilityZone=f"{REGION}{letter}", TagSpecifications=tagged
            )
        return vpc

    def instances(self, count, tags):
        image = self.ec2.describe_images()["Images"][0]["ImageId"]
        rows = [{"Key": key, "Value": value} for key, value in tags.items()]
        self.ec2.run_instances(
            ImageId=image, MinCount=count, MaxCount=count,
            TagSpecifications=[{"ResourceType": "instance", "Tags": rows}],
        )  # fmt: skip


class Recording(AwsSession):
    """A session at moto's server that notes each call; `answers` maps an operation to what moto cannot say."""

    def __init__(self, url, *, region=REGION, account=ACCOUNT):
        super().__init__(
            ClusterAccountAccess(region=region, account=account, keys=KEYS), OwnIdentity(keys=KEYS, endpoint=url)
        )
        self.answers, self.calls, self.made = {}, set(), {}
        self.vpc = ""

    def client(self, service):
        if service not in self.made:
            made = self.made[service] = super().client(service)
            made.meta.events.register("before-call.*.*", self._called)
            made.meta.events.register("after-call.eks.DescribeCluster", self._described)
        return self.made[service]

    def _called(self, model, **_given):
        self.calls.add((model.service_model.service_name, model.name))
        if model.name not in self.answers:
            return None
        answer = self.answers[model.name]
        if isinstance(answer, str):
            return AWSResponse(None, 400, {}, None), {"Error": {"Code": answer, "Message": answer}}
        validate_parameters(answer, model.output_shape)
        return AWSResponse(None, 200, {}, None), answer | {"ResponseMetadata": {"HTTPStatusCode": 200}}

    def _described(self, parsed, **_given):
        """moto forgets how a cluster authenticates, and in which VPC it is."""
        if "cluster" in parsed:
            parsed["cluster"]["accessConfig"] = {"authenticationMode": "API_AND_CONFIG_MAP"}
            parsed["cluster"]["resourcesVpcConfig"] = {"vpcId": self.vpc}
