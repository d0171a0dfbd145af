"""An account in moto's server, made as the guides of a release ask for it, and a scan that reads it through boto3.

moto has neither Pod Identity nor access entries, add-ons, SimulatePrincipalPolicy, quotas that are applied, what is
used of them and capacity reservations: recorded shapes answer those.
"""

import json
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import boto3

from migrations_app.clients.aws.client import open_aws
from migrations_app.collect.aws import add_aws
from migrations_app.inventory.objects.cluster_arn import AwsPlace
from migrations_app.karpenter.release_facts import RULES
from migrations_app.karpenter.vcpu_quotas import QUOTAS, QuotaRow
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.report import CollectResult, Report
from tests.acceptance.clusters import Clean, made
from tests.acceptance.judging import as_list, collected
from tests.acceptance.planting import Plant
from tests.clients.aws.moto_account import Recording
from tests.servers import processes
from tests.upstream import FOLDER

ACCOUNT, REGION = "111122223333", "us-west-2"
THEN = datetime(2026, 11, 21, tzinfo=UTC)
NODE_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryReadOnly")
SENDERS = ["events.amazonaws.com", "sqs.amazonaws.com"]
SPOT = "AWSServiceRoleForEC2Spot"


def policy(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def trust(service: str) -> str:
    return policy({"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"})


def _quota(row: QuotaRow) -> dict[str, Any]:
    kind = f"{row.name}/{'Spot' if row.spot else 'OnDemand'}".replace(" ", "")
    metric = {
        "MetricNamespace": "AWS/Usage",
        "MetricName": "ResourceCount",
        "MetricDimensions": {"Class": kind, "Resource": "vCPU", "Service": "EC2", "Type": "Resource"},
    }
    return {"ServiceCode": "ec2", "QuotaCode": row.code, "Value": 640.0, "UsageMetric": metric}


@contextmanager
def moto() -> Iterator[str]:
    """The address of a server of moto's that has nothing but the policies which AWS manages."""
    home, port = processes.folder("moto"), processes.free_port()
    url = f"http://127.0.0.1:{port}"
    child = processes.Child(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        log=home / "log",
        env={"MOTO_IAM_LOAD_MANAGED_POLICIES": "true", "MOTO_ACCOUNT_ID": ACCOUNT},
    )
    child.wait_until(lambda: _answers(url), what="moto")
    yield url
    child.stop()
    processes.discard(home)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/moto-api/", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


class CleanAccount:
    """The account of one clean cluster. The controller has the official policies of the releases `tags`, which let it
    pass the role of the nodes, or `passes` in its place."""

    def __init__(self, url: str, clean: Clean, *, tags: tuple[str, ...], passes: str = "") -> None:
        self.url, self.clean, self.passes = url, clean, passes
        self.entries = True
        """Whether the cluster has an access entry for a role that is asked for."""
        self.used = 100
        """vCPUs of 640 that are used of each quota."""
        urllib.request.urlopen(urllib.request.Request(f"{url}/moto-api/reset", method="POST"), timeout=30).close()
        self.clients: dict[str, Any] = {}
        self.vpc = self._network()
        issuer = self._cluster()
        self._controller(issuer, tags)
        self._nodes()
        self._queue()
        self.client("iam").create_role(
            RoleName=SPOT,
            Path="/aws-service-role/spot.amazonaws.com/",
            AssumeRolePolicyDocument=trust("spot.amazonaws.com"),
        )

    def client(self, service: str) -> Any:
        """A client as the owner of the account has it."""
        if service not in self.clients:
            given = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": REGION}
            self.clients[service] = boto3.client(service, endpoint_url=self.url, **given)
        return self.clients[service]

    @property
    def controller(self) -> str:
        return f"{self.clean.name}-karpenter"

    @property
    def nodes(self) -> str:
        return f"KarpenterNodeRole-{self.clean.name}"

    def arn(self, kind: str, name: str) -> str:
        return f"arn:aws:iam::{ACCOUNT}:{kind}/{name}"

    def _network(self) -> str:
        """A VPC with a subnet in each of three zones that nodes may use."""
        ec2 = self.client("ec2")
        vpc: str = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        for place, letter in enumerate("abc"):
            self.subnet(vpc, f"10.0.{16 * place}.0/20", zone=f"{REGION}{letter}")
        return vpc

    def subnet(self, vpc: str, block: str, *, zone: str) -> None:
        """A subnet with the tag by which node classes find it."""
        tags = [{"Key": "karpenter.sh/discovery", "Value": self.clean.name}]
        self.client("ec2").create_subnet(
            VpcId=vpc,
            CidrBlock=block,
            AvailabilityZone=zone,
            TagSpecifications=[{"ResourceType": "subnet", "Tags": tags}],
        )

    def _cluster(self) -> str:
        made = self.client("eks").create_cluster(
            name=self.clean.name,
            version=self.clean.kubernetes,
            roleArn=self.arn("role", "eks"),
            resourcesVpcConfig={"subnetIds": [], "securityGroupIds": []},
        )
        issuer: str = made["cluster"]["identity"]["oidc"]["issuer"].removeprefix("https://")
        self.client("iam").create_open_id_connect_provider(
            Url=f"https://{issuer}", ClientIDList=["sts.amazonaws.com"], ThumbprintList=["0" * 40]
        )
        return issuer

    def _controller(self, issuer: str, tags: tuple[str, ...]) -> None:
        """A role with the official policy of each of these releases."""
        account = f"system:serviceaccount:{self.clean.namespace}:karpenter"
        asked = {"StringEquals": {f"{issuer}:sub": account, f"{issuer}:aud": "sts.amazonaws.com"}}
        by_token = {
            "Effect": "Allow",
            "Principal": {"Federated": self.arn("oidc-provider", issuer)},
            "Action": "sts:AssumeRoleWithWebIdentity",
            "Condition": asked,
        }
        by_agent = {
            "Effect": "Allow",
            "Principal": {"Service": "pods.eks.amazonaws.com"},
            "Action": ["sts:AssumeRole", "sts:TagSession"],
        }
        trusted = policy(by_agent if self.clean.pod_identity else by_token)
        iam = self.client("iam")
        iam.create_role(RoleName=self.controller, AssumeRolePolicyDocument=trusted)
        for tag in tags:
            for file in sorted((FOLDER / "iam" / tag).glob("*-policy.json")):
                if tag == "v1.14.1" and file.name != "controller-policy.json":
                    continue
                self.attach(f"{tag.replace('.', '-')}-{file.stem}", self._filled(file.read_text()))

    def attach(self, name: str, text: str) -> None:
        iam = self.client("iam")
        iam.put_role_policy(RoleName=self.controller, PolicyName=name, PolicyDocument=text)

    def _filled(self, text: str) -> str:
        filled = {
            "AWS::AccountId": ACCOUNT,
            "AWS::Partition": "aws",
            "AWS::Region": REGION,
            "ClusterName": self.clean.name,
            "KarpenterInterruptionQueue.Arn": self.queue_arn,
            "KarpenterNodeRole.Arn": self.arn("role", self.passes or self.nodes),
        }
        for name, value in filled.items():
            text = text.replace(f"${{{name}}}", value)
        return text

    def _nodes(self) -> None:
        iam = self.client("iam")
        for role in (self.nodes, f"eksctl-{self.clean.name}-nodegroup-NodeInstanceRole"):
            iam.create_role(RoleName=role, AssumeRolePolicyDocument=trust("ec2.amazonaws.com"))
            for name in NODE_POLICIES:
                iam.attach_role_policy(RoleName=role, PolicyArn=f"arn:aws:iam::aws:policy/{name}")
        profile = f"KarpenterNodeInstanceProfile-{self.clean.name}"
        iam.create_instance_profile(InstanceProfileName=profile)
        iam.add_role_to_instance_profile(InstanceProfileName=profile, RoleName=self.nodes)

    @property
    def queue_arn(self) -> str:
        return f"arn:aws:sqs:{REGION}:{ACCOUNT}:{self.clean.name}"

    def _queue(self) -> None:
        name = self.clean.name
        statement = {"Effect": "Allow", "Principal": {"Service": SENDERS}, "Action": "sqs:SendMessage"}
        attributes = {
            "MessageRetentionPeriod": "300",
            "SqsManagedSseEnabled": "true",
            "Policy": policy({**statement, "Resource": self.queue_arn}),
        }
        self.client("sqs").create_queue(QueueName=name, Attributes=attributes)
        events = self.client("events")
        for rule in RULES:
            events.put_rule(Name=f"{name}-{rule.id}", EventPattern=rule.pattern)
            events.put_targets(Rule=f"{name}-{rule.id}", Targets=[{"Id": "karpenter", "Arn": self.queue_arn}])

    def recorded(self) -> dict[str, Any]:
        """What moto cannot say of this cluster; text is the code of an error."""
        own = {"clusterName": self.clean.name, "namespace": self.clean.namespace, "serviceAccount": "karpenter"}
        own["associationId"] = "a-1"
        given = [own] if self.clean.pod_identity else []
        joins = {"principalArn": self.arn("role", self.nodes), "type": "EC2_LINUX", "createdAt": THEN}
        return {
            "ListPodIdentityAssociations": {"associations": given},
            "DescribePodIdentityAssociation": {
                "association": own | {"roleArn": self.arn("role", self.controller)},
            },
            "DescribeAccessEntry": {"accessEntry": joins} if self.entries else "ResourceNotFoundException",
            "DescribeAddon": {"addon": {"addonName": "eks-pod-identity-agent", "status": "ACTIVE"}},
            "SimulatePrincipalPolicy": "AccessDenied",
            "ListServiceQuotas": {"Quotas": [_quota(row) for row in QUOTAS]},
            "GetMetricData": {"MetricDataResults": [self._measured(number) for number in range(len(QUOTAS))]},
            "DescribeCapacityReservations": {"CapacityReservations": []},
        }

    def _measured(self, number: int) -> dict[str, Any]:
        return {"Id": f"q{number}", "Timestamps": [THEN], "Values": [float(self.used)], "StatusCode": "Complete"}

    def scan(self, plant: Plant = lambda _: None) -> tuple[CollectResult, Report]:
        """The cluster, with that planted in it, and this account, judged."""
        clean = self.clean
        session = Recording(self.url, region=REGION, account=ACCOUNT)
        session.answers, session.vpc = self.recorded(), self.vpc
        place = AwsPlace(region=REGION, cluster=clean.name, account=ACCOUNT)
        documents = made(clean)
        plant(documents)
        seen = collected(clean.name, as_list(documents, kubernetes=clean.kubernetes))
        whole = add_aws(seen, open_aws(session, place))
        return whole, evaluate(whole).report
