"""What AWS says about capacity, page by page: cut, empty and hostile answers."""

from datetime import UTC, datetime, timedelta

import pytest
from botocore.stub import ANY, Stubber

from migrations_app.clients.aws.client import open_aws
from migrations_app.clients.aws.cross_account import AwsCredentials, AwsLimits, ClusterAccountAccess, OwnIdentity
from migrations_app.clients.aws.session import AwsSession
from migrations_app.clients.secret import Secret
from migrations_app.errors import Forbidden, InvalidResponse, ReadError, ServerFailed, TooLarge
from migrations_app.inventory.objects.capacity import (
    CapacityReservation,
    InstanceOffering,
    Subnet,
    TaggedSubnet,
    VcpuQuota,
)
from tests.fakes.aws_api import PLACE

KEYS = AwsCredentials(access_key_id="AKIA", secret=Secret("s"))
AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
STANDARD, SPOT = "L-1216C47A", "L-34B43A08"
SERVICES = ("ec2", "service-quotas", "cloudwatch")


class Stubbed(AwsSession):
    """A session that hands out stubbed clients."""

    def __init__(self):
        super().__init__(ClusterAccountAccess(region="eu-west-1", keys=KEYS), OwnIdentity())
        self.clients = {service: super(Stubbed, self).client(service) for service in SERVICES}
        self.stubs = {service: Stubber(client) for service, client in self.clients.items()}
        for stub in self.stubs.values():
            stub.activate()

    def client(self, service):
        return self.clients[service]


@pytest.fixture(scope="module")
def made():
    return Stubbed()


@pytest.fixture
def session(made):
    yield made
    for stub in made.stubs.values():
        stub.assert_no_pending_responses()


def api(session, **limits):
    return open_aws(session, PLACE, limits=AwsLimits(**limits))


def subnet(name="subnet-1", **changed):
    facts = {
        "SubnetId": name, "AvailabilityZone": "eu-west-1a", "AvailableIpAddressCount": 250, "CidrBlock": "10.0.0.0/24",
        "Tags": [{"Key": "Name", "Value": "secret"}, {"Key": "karpenter.sh/discovery", "Value": "shop"}],
    }  # fmt: skip
    return facts | changed


def quota(code=STANDARD, value=64.0, metric=None):
    dimensions = {"Class": "Standard/OnDemand", "Resource": "vCPU", "Service": "EC2", "Type": "Resource"}
    usage = {"MetricNamespace": "AWS/Usage", "MetricName": "ResourceCount", "MetricDimensions": dimensions}
    return {"QuotaCode": code, "Value": value, "UsageMetric": usage if metric is None else metric}


def measured(*values, name="q0", code="Complete"):
    times = [AT - timedelta(minutes=5 * place) for place in range(len(values))]
    return {"Id": name, "Timestamps": times, "Values": list(values), "StatusCode": code}


def read_quotas(session, quotas, *results):
    session.stubs["service-quotas"].add_response("list_service_quotas", {"Quotas": quotas})
    if results:
        session.stubs["cloudwatch"].add_response("get_metric_data", {"MetricDataResults": list(results)})
    return api(session).vcpu_quotas()


def test_subnets_of_the_vpc_with_the_tags_that_are_asked_for(session):
    asked = {"Filters": [{"Name": "vpc-id", "Values": ["vpc-1"]}], "MaxResults": 1000}
    stub = session.stubs["ec2"]
    stub.add_response("describe_subnets", {"Subnets": [subnet()], "NextToken": "t"}, asked)
    last = subnet("subnet-2", CidrBlock="", AvailableIpAddressCount=0, Ipv6Native=True, Tags=[])
    stub.add_response("describe_subnets", {"Subnets": [last]}, asked | {"NextToken": "t"})
    assert api(session).subnets("vpc-1", keys={"karpenter.sh/discovery"}) == (
        TaggedSubnet(
            subnet=Subnet(id="subnet-1", zone="eu-west-1a", size=256, free=250),
            tags=(("karpenter.sh/discovery", "shop"),),
        ),
        TaggedSubnet(subnet=Subnet(id="subnet-2", zone="eu-west-1a", size=0, free=0, ipv6_only=True)),
    )


def test_pages_that_are_cut_and_lists_without_an_end(session):
    stub = session.stubs["ec2"]
    stub.add_response("describe_subnets", {"Subnets": [subnet()], "NextToken": "t"})
    stub.add_client_error("describe_subnets", "RequestLimitExceeded", http_status_code=503)
    with pytest.raises(ServerFailed) as caught:
        api(session).subnets("vpc-1", keys=())
    assert caught.value.code == "throttled"
    for token in ("t", "u"):
        stub.add_response("describe_subnets", {"Subnets": [subnet()], "NextToken": token})
    with pytest.raises(TooLarge):
        api(session, pages=2).subnets("vpc-1", keys=())


def test_thousands_of_subnets(session):
    stub = session.stubs["ec2"]
    for page in range(5):
        more = {"NextToken": f"t{page}"} if page < 4 else {}
        rows = [subnet(f"subnet-{page}-{number}") for number in range(1000)]
        stub.add_response("describe_subnets", {"Subnets": rows, **more})
    assert len({one.subnet.id for one in api(session).subnets("vpc-1", keys=())}) == 5000


@pytest.mark.parametrize(
    "odd",
    [
        {"AvailableIpAddressCount": -1},
        {"AvailableIpAddressCount": 10**12},
        {"CidrBlock": "10.0.0.0/99"},
        {"CidrBlock": "everything"},
        {"SubnetId": "subnet\x1b[31m"},
        {"AvailabilityZone": ""},
        {"AvailabilityZone": "a" * 500},
    ],
)
def test_a_subnet_that_cannot_be(session, odd):
    session.stubs["ec2"].add_response("describe_subnets", {"Subnets": [subnet(**odd)]})
    with pytest.raises(InvalidResponse):
        api(session).subnets("vpc-1", keys=())


def test_a_subnet_without_its_number(session):
    session.stubs["ec2"].add_response("describe_subnets", {"Subnets": [{"SubnetId": "subnet-1"}]})
    with pytest.raises(InvalidResponse):
        api(session).subnets("vpc-1", keys=())


def test_quotas_and_what_is_used_of_them(session):
    found = read_quotas(
        session, [quota(), quota("L-0263D0A3", 5.0), quota(SPOT, 12.7)], measured(31.2, 99.0), measured(name="q1")
    )
    assert found == (
        VcpuQuota(code=STANDARD, limit=64, used=32, measured_at="2026-11-21T12:00:00Z"),
        VcpuQuota(code=SPOT, limit=12),
    )


def test_the_question_to_cloudwatch_names_the_metric_of_the_quota(session):
    session.stubs["service-quotas"].add_response(
        "list_service_quotas", {"Quotas": [quota()]}, {"ServiceCode": "ec2", "MaxResults": 100}
    )
    dimensions = [
        {"Name": name, "Value": value}
        for name, value in (
            ("Class", "Standard/OnDemand"),
            ("Resource", "vCPU"),
            ("Service", "EC2"),
            ("Type", "Resource"),
        )
    ]
    metric = {"Namespace": "AWS/Usage", "MetricName": "ResourceCount", "Dimensions": dimensions}
    asked = {
        "MetricDataQueries": [{"Id": "q0", "MetricStat": {"Metric": metric, "Period": 300, "Stat": "Maximum"}}],
        "StartTime": ANY,
        "EndTime": ANY,
        "ScanBy": "TimestampDescending",
    }
    session.stubs["cloudwatch"].add_response("get_metric_data", {"MetricDataResults": []}, asked)
    assert api(session).vcpu_quotas() == (VcpuQuota(code=STANDARD, limit=64),)


@pytest.mark.parametrize(
    "metric",
    [
        {},
        {"MetricNamespace": "Ours", "MetricName": "ResourceCount", "MetricDimensions": {"Class": "x"}},
        {"MetricNamespace": "AWS/Usage", "MetricName": "ResourceCount", "MetricDimensions": {"Class": "x"}},
        {
            "MetricNamespace": "AWS/Usage",
            "MetricName": "ResourceCount",
            "MetricDimensions": {"Class": "x\n", "Resource": "vCPU", "Service": "EC2", "Type": "Resource"},
        },
    ],
)
def test_a_quota_without_a_metric_of_usage_asks_for_none(session, metric):
    assert read_quotas(session, [quota(metric=metric)]) == (VcpuQuota(code=STANDARD, limit=64),)


def test_no_quotas_at_all(session):
    assert read_quotas(session, []) == ()


def test_a_measurement_that_failed_or_is_of_another_question(session):
    odd = (measured(5.0, code="InternalError"), measured(7.0, name="q9"))
    assert read_quotas(session, [quota()], *odd) == (VcpuQuota(code=STANDARD, limit=64),)


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_measurements_that_cannot_be(session, value):
    with pytest.raises(InvalidResponse):
        read_quotas(session, [quota()], measured(value))


@pytest.mark.parametrize("value", [1e12, float("nan"), float("inf")])
def test_quotas_that_cannot_be(session, value):
    session.stubs["service-quotas"].add_response("list_service_quotas", {"Quotas": [quota(value=value)]})
    with pytest.raises(InvalidResponse):
        api(session).vcpu_quotas()


def test_a_refused_measurement_is_no_quota_that_is_free(session):
    session.stubs["service-quotas"].add_response("list_service_quotas", {"Quotas": [quota()]})
    session.stubs["cloudwatch"].add_client_error("get_metric_data", "AccessDenied", http_status_code=403)
    with pytest.raises(Forbidden, match="cloudwatch:GetMetricData"):
        api(session).vcpu_quotas()


def test_refused_quotas_name_the_action_of_iam(session):
    session.stubs["service-quotas"].add_client_error(
        "list_service_quotas", "AccessDeniedException", http_status_code=400
    )
    with pytest.raises(Forbidden, match="servicequotas:ListServiceQuotas"):
        api(session).vcpu_quotas()


def test_reservations_that_are_active(session):
    row = {
        "CapacityReservationId": "cr-1", "InstanceType": "m6i.large", "AvailabilityZone": "eu-west-1a",
        "TotalInstanceCount": 5, "AvailableInstanceCount": 2,
    }  # fmt: skip
    asked = {"Filters": [{"Name": "state", "Values": ["active"]}], "MaxResults": 1000}
    session.stubs["ec2"].add_response("describe_capacity_reservations", {"CapacityReservations": [row]}, asked)
    assert api(session).capacity_reservations() == (
        CapacityReservation(id="cr-1", instance_type="m6i.large", zone="eu-west-1a", total=5, free=2),
    )


def test_offerings_are_asked_for_a_hundred_types_at_a_time(session):
    types = [f"m6i.{number:03d}large" for number in range(150)]
    for chunk in (types[:100], types[100:]):
        asked = {
            "LocationType": "availability-zone",
            "Filters": [{"Name": "instance-type", "Values": chunk}],
            "MaxResults": 1000,
        }
        rows = [{"InstanceType": chunk[0], "LocationType": "availability-zone", "Location": "eu-west-1a"}]
        session.stubs["ec2"].add_response("describe_instance_type_offerings", {"InstanceTypeOfferings": rows}, asked)
    assert api(session).offerings([*types, *types]) == (
        InstanceOffering(instance_type=types[0], zone="eu-west-1a"),
        InstanceOffering(instance_type=types[100], zone="eu-west-1a"),
    )


@pytest.mark.parametrize("call", ["capacity_reservations", "vcpu_quotas"])
def test_a_throttled_account(session, call):
    for service, method in (("ec2", "describe_capacity_reservations"), ("service-quotas", "list_service_quotas")):
        if (call == "vcpu_quotas") == (service == "service-quotas"):
            session.stubs[service].add_client_error(method, "ThrottlingException", http_status_code=400)
    with pytest.raises(ReadError) as caught:
        getattr(api(session), call)()
    assert caught.value.code == "throttled"
