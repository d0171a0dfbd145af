"""Reads the capacity that AWS has for new nodes: a few requests for any size of the cluster."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from migrations_app.clients.aws.client import AwsApi
from migrations_app.collect.aws_reader import AwsReading, part, read_one
from migrations_app.inventory.aws_facts.replacement_need import OWNERS
from migrations_app.inventory.aws_facts.subnet_selection import selected_subnets, selector_keys
from migrations_app.inventory.facts.ownership import ownership
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.aws import NO_AWS, AwsSeen
from migrations_app.inventory.objects.capacity import InstanceOffering, Subnet
from migrations_app.inventory.parts import Part, Seen, Unseen
from migrations_app.karpenter.vcpu_quotas import is_instance_type

CAPACITY_PARTS = ("subnets", "quotas", "reservations", "offerings")
MAX_TYPES = 300
"""Maximum number of instance types for which offerings are read."""


def capacity_jobs(reading: AwsReading) -> dict[str, Callable[[], Part[Any]]]:
    """The function that reads each part; each may raise ReadError."""
    return {
        "subnets": lambda: _subnets(reading),
        "quotas": lambda: Seen(reading.api.vcpu_quotas()),
        "reservations": lambda: Seen(reading.api.capacity_reservations()),
        "offerings": lambda: _offerings(reading),
    }


def _subnets(reading: AwsReading) -> Part[Subnet]:
    if isinstance(reading.cluster, Unseen):
        return reading.cluster
    classes = (reading.inventory.ec2nodeclasses, reading.inventory.awsnodetemplates)
    if hidden := [node_classes for node_classes in classes if isinstance(node_classes, Unseen)]:
        return hidden[0]
    vpc = next((cluster.vpc for cluster in reading.cluster.items), "")
    if not vpc:
        return Unseen("no_vpc", "DescribeCluster names no VPC, so the subnets to read are not known")
    subnets = reading.api.subnets(vpc, keys=selector_keys(reading.inventory))
    return Seen(selected_subnets(reading.inventory, subnets))


def _offerings(reading: AwsReading) -> Part[InstanceOffering]:
    if isinstance(reading.inventory.nodes, Unseen):
        return reading.inventory.nodes
    every = {node.instance_type for node in ownership(reading.inventory).nodes if node.owner in OWNERS}
    types = sorted(filter(is_instance_type, every))
    if len(types) > MAX_TYPES:
        return Unseen("too_large", f"the nodes have more than {MAX_TYPES} instance types")
    return Seen(reading.api.offerings(types) if types else ())


def collect_capacity(api: AwsApi | None, inventory: Inventory) -> AwsSeen:
    """Reads the capacity parts only; all other parts are not requested, and neither is any part without access to AWS.

    With credentials of another account nothing is read.
    """
    if api is None:
        return NO_AWS
    identity = part(lambda: read_one(api.caller()))
    if isinstance(identity, Unseen):
        return unread_capacity(identity)
    account = identity.items[0].account
    if api.place.account not in ("", account):
        words = f"these credentials are of account {account}, the cluster is in {api.place.account}"
        return unread_capacity(Unseen("wrong_account", words))
    place = replace(api.place, account=account)
    cluster = part(lambda: read_one(api.cluster()))
    jobs = capacity_jobs(AwsReading(api=api, inventory=inventory, place=place, cluster=cluster))
    with ThreadPoolExecutor(len(jobs), thread_name_prefix="capacity") as pool:
        parts: dict[str, Any] = dict(zip(jobs, pool.map(part, jobs.values()), strict=True))
    return AwsSeen(place=place, identity=identity, cluster=cluster, **parts)


def unread_capacity(reason: Unseen) -> AwsSeen:
    """Every capacity part as unseen for that reason."""
    parts: dict[str, Any] = dict.fromkeys(CAPACITY_PARTS, reason)
    return replace(NO_AWS, **parts)
