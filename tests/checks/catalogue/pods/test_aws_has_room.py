import pytest

from migrations_app.checks.base import Evidence
from migrations_app.inventory.objects.capacity import InstanceOffering
from migrations_app.inventory.parts import Unseen
from tests.builders.capacity import (
    AT,
    CLASS,
    NEXT_ZONE,
    SPOT,
    STANDARD,
    TYPE,
    ZONE,
    aws_node,
    launched,
    offered,
    quota,
    reserved,
    rolled,
    roomy,
    subnet,
)
from tests.builders.clusters import a_cluster, asked_hops, finding_of, reads, remedies, result_of, result_without
from tests.builders.pods import NOTHING, is_shell

CHECK = "aws_has_room"
GOOD = ("pass", "AWS has capacity for the replacement nodes", ())
TWO = launched(20)
EACH = "each node takes up to as many addresses as it may have pods, and one of its own"
UNMEASURED = "AWS published no measurement of what is used in the last hour"
BLOCKS = "each node takes whole /28 blocks, whose 16 addresses have to be free in a row, and one address"


def found(cluster, **parts):
    return result_of(CHECK, "1.0", roomy(cluster, **parts))


def failed(*rows):
    words = "AWS limit is" if len(rows) == 1 else "AWS limits are"
    return ("fail", f"{len(rows)} {words} too low for the replacement nodes", rows)


def row(kind, name, path, seen, wanted):
    return Evidence(kind=kind, name=name, path=path, seen=seen, wanted=f"{wanted} at the peak of the rollout")


def addresses(free, wanted, why=EACH, zone=ZONE):
    return row("Zone", zone, "free addresses of subnets", f"{free} free ({why})", f"{wanted} addresses")


def vcpus(name, free, wanted, limit):
    return row("ServiceQuota", name, "vCPUs", f"{free} free (100 of {limit} used at {AT})", f"{wanted} vCPUs")


def test_room_for_all():
    assert found(rolled(*TWO)) == GOOD
    assert found(rolled(*TWO), quotas=(quota(16),), subnets=(subnet(118),)) == GOOD


def test_too_few_vcpus():
    short = found(rolled(*TWO), quotas=(quota(15), quota(500, SPOT)))
    assert short == failed(vcpus("On-Demand Standard", 15, 16, 115))


def test_spot_has_a_quota_of_its_own():
    cluster = rolled(*launched(20, capacity="spot"))
    assert found(cluster, quotas=(quota(0), quota(16, SPOT))) == GOOD
    assert found(cluster, quotas=(quota(500), quota(0, SPOT))) == failed(vcpus("Spot Standard", 0, 16, 100))


def test_more_than_the_whole_quota_is_certain_without_a_measurement():
    (kind, summary, evidence) = found(rolled(*TWO), quotas=(quota(None, used=15),))
    assert (kind, summary) == ("fail", "1 AWS limit is too low for the replacement nodes")
    assert evidence[0].seen.startswith("15 free (the quota is 15; AWS published no measurement")


def test_too_few_addresses_of_a_zone():
    assert found(rolled(*TWO), subnets=(subnet(117),)) == failed(addresses(117, 118))
    elsewhere = (subnet(117), subnet(900, zone=NEXT_ZONE))
    assert found(rolled(*TWO), subnets=elsewhere) == failed(addresses(117, 118, f"{EACH}; 900 are free in other zones"))


def test_zones_are_judged_apart():
    nodes = (*launched(10), *launched(10, zone=NEXT_ZONE, first=11))
    short = found(rolled(*nodes), subnets=(subnet(0), subnet(118, zone=NEXT_ZONE)))
    assert short == failed(addresses(0, 118, f"{EACH}; 118 are free in other zones"))


def test_prefixes_take_whole_blocks():
    cluster = rolled(*TWO, cni=aws_node(ENABLE_PREFIX_DELEGATION="true"))
    need = 2 * (1 + 16 * (4 + 1))
    assert found(cluster, subnets=(subnet(4091),)) == GOOD
    assert found(cluster, subnets=(subnet(need - 1),)) == failed(addresses(need - 1, need, BLOCKS))
    assert found(cluster, subnets=(subnet(3000),)) == (
        "unknown", f"free addresses of subnets of {ZONE}: {BLOCKS}", (),
    )  # fmt: skip


def test_pods_with_ipv6_take_none():
    cluster = rolled(*TWO, cni=aws_node(ENABLE_IPv6="true"))
    assert found(cluster, subnets=(subnet(2),)) == GOOD
    assert found(cluster, subnets=(subnet(0, ipv6_only=True, size=0),)) == GOOD
    why = "pods have IPv6 addresses; each node takes one IPv4 address"
    assert found(cluster, subnets=(subnet(1),)) == failed(addresses(1, 2, why))


@pytest.mark.parametrize(
    ("env", "why"),
    [
        (
            {"AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG": "true"},
            "pods take addresses of subnets that ENIConfigs name, which are not read",
        ),
        (None, "no node runs the DaemonSet aws-node: whether pods take addresses of the subnets is not known"),
    ],
)
def test_where_pods_have_addresses_of_other_places(env, why):
    cluster = rolled(*TWO, cni=aws_node(**env)) if env else rolled(*TWO).without("daemonsets")
    unknown = ("unknown", f"free addresses of subnets of {ZONE}: {why}", ())
    assert found(cluster, subnets=(subnet(3000),)) == unknown
    assert found(cluster, subnets=(subnet(1),)) == failed(addresses(1, 2, why))


def test_node_classes_that_share_subnets():
    two = rolled(*launched(10), *launched(10, name="batch", first=50))
    assert found(two, subnets=(subnet(117),)) == failed(addresses(117, 118))
    assert found(two, subnets=(subnet(118, CLASS, "EC2NodeClass/other"),)) == GOOD


def test_reserved_capacity_of_that_very_zone():
    cluster = rolled(*launched(20, capacity="reserved"))
    assert found(cluster, reservations=(reserved(2),), quotas=(quota(0),)) == GOOD
    name, path = f"{TYPE} in {ZONE}", "free instances"
    seen = "1 free (7 are free in other zones, which do not count)"
    short = row("CapacityReservation", name, path, seen, "2 instances")
    assert found(cluster, reservations=(reserved(1), reserved(7, zone=NEXT_ZONE))) == failed(short)
    other_type = row("CapacityReservation", name, path, "0 free", "2 instances")
    assert found(cluster, reservations=(reserved(9, kind="m6i.large"),)) == failed(other_type)


def test_a_type_that_the_zone_does_not_offer():
    seen = f"0 free (not offered: {TYPE} in {ZONE})"
    short = row("InstanceType", "instance types by zone", "zones", seen, "1 types and zones")
    assert found(rolled(*TWO), offerings=offered(NEXT_ZONE)) == failed(short)
    assert found(rolled(*TWO), offerings=(InstanceOffering(instance_type="m6i.large", zone=ZONE),)) == failed(short)


@pytest.mark.parametrize("part", ["subnets", "quotas", "offerings"])
def test_a_refused_part_is_unknown(part):
    assert found(rolled(*TWO), **{part: Unseen("forbidden", "may not")}) == (
        "unknown", f"aws.{part} could not be read: forbidden (may not)", (),
    )  # fmt: skip


def test_refused_reservations_matter_to_reserved_nodes_alone():
    refused = Unseen("forbidden", "may not")
    assert found(rolled(*TWO), reservations=refused) == GOOD
    assert found(rolled(*launched(20, capacity="reserved")), reservations=refused)[0] == "unknown"


def test_a_shortage_beside_a_refusal_is_told():
    (status, summary, evidence) = found(rolled(*TWO), quotas=Unseen("timeout"), subnets=(subnet(0),))
    assert (status, summary, len(evidence)) == (
        "fail", "at least 1 AWS limit is too low for the replacement nodes", 1,
    )  # fmt: skip


def test_without_aws_it_is_unknown_and_a_warning():
    answer = finding_of(CHECK, "1.0", rolled(*TWO))
    assert (answer.status, answer.severity, answer.reason.code) == ("unknown", "warning", "aws_not_asked")


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({"quotas": ()}, f"vCPUs of On-Demand Standard: AWS lists no quota {STANDARD}"),
        (
            {"quotas": (quota(None, used=500),)},
            f"vCPUs of On-Demand Standard: the quota is 500; {UNMEASURED}",
        ),
        (
            {"subnets": (subnet(500, "EC2NodeClass/other"),)},
            f"free addresses of subnets of {ZONE}: no subnet of the zone is known for {CLASS}",
        ),
        (
            {"subnets": (subnet(500, zone=NEXT_ZONE),)},
            f"free addresses of subnets of {ZONE}: no subnet of the zone is known for {CLASS}",
        ),
    ],
)
def test_what_aws_does_not_tell_is_unknown(parts, why):
    assert found(rolled(*TWO), **parts) == ("unknown", why, ())


def test_nodes_that_do_not_tell_their_size():
    cluster = rolled(*TWO)
    for place, node in enumerate(cluster._items["nodes"]):
        cluster._items["nodes"][place] = type(node)(metadata=node.metadata, spec=node.spec)
    assert found(cluster) == ("unknown", "vCPUs of On-Demand Standard: a node does not tell its size", ())


def test_families_without_a_known_quota():
    cluster = rolled(*TWO)
    for node in cluster._items["nodes"]:
        node.metadata.labels["node.kubernetes.io/instance-type"] = "q9.large"
    (status, why, _) = found(cluster, offerings=offered(ZONE, kind="q9.large"))
    assert (status, why) == ("unknown", "vCPUs of other families: which quota counts is not known for q9.large")


def test_it_does_not_arise():
    assert result_of(CHECK, "1.0", roomy(a_cluster())) == NOTHING
    assert asked_hops(CHECK)[0] == "0.33+"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_a_quota_is_raised_by_a_request():
    (remedy,) = remedies(CHECK, "1.0", roomy(rolled(*TWO), quotas=(quota(3),)))
    assert remedy.text == (
        f"aws service-quotas request-service-quota-increase --service-code ec2 --quota-code {STANDARD}"
        " --desired-value 116 --region eu-central-1"
    )
    assert (remedy.how, remedy.change.final) == ("iam", "AWS decides on the request, which may take days")
    assert is_shell(remedy.text)


@pytest.mark.parametrize(
    "parts",
    [{"subnets": (subnet(0),)}, {"offerings": ()}, {"reservations": ()}],
)
def test_everything_else_is_for_a_person(parts):
    market = "reserved" if "reservations" in parts else "on-demand"
    (remedy,) = remedies(CHECK, "1.0", roomy(rolled(*launched(20, capacity=market)), **parts))
    assert remedy.change.why
    assert remedy.text.startswith("#")
