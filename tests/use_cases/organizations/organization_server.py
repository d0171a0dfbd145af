"""Helpers for tests of AWS organizations: a fake AWS with three accounts, two of which have a cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.fakes.aws_server import AwsServer
from tests.use_cases.clusters import eks

HUB_ACCOUNT, SHOP, BANK = "100000000001", "200000000002", "300000000003"
HERE, THERE = "eu-west-1", "us-east-2"
HUB = f"arn:aws:iam::{HUB_ACCOUNT}:role/karpdash-organization"


def arn(account: str, name: str, region: str = HERE) -> str:
    """Returns the ARN of an EKS cluster."""
    return f"arn:aws:eks:{region}:{account}:cluster/{name}"


def reader(account: str) -> str:
    """Returns the ARN of the role that reads an account."""
    return f"arn:aws:iam::{account}:role/karpdash-reader"


def described(account: str, name: str, region: str = HERE, **changed: Any) -> dict[str, dict[str, Any]]:
    """Returns one cluster by its name, as DescribeCluster does."""
    facts = {
        "name": name,
        "arn": arn(account, name, region),
        "status": "ACTIVE",
        "endpoint": "https://127.0.0.1:9",
        "certificateAuthority": {"data": eks.CA},
    }
    return {name: facts | changed}


@contextmanager
def running() -> Iterator[AwsServer]:
    """Runs the fake AWS during the block. Its roles have to be created by the test."""
    with eks.running() as server:
        server.accounts = [
            {"Id": SHOP, "Name": "shop", "Status": "ACTIVE"},
            {"Id": BANK, "Name": "bank", "State": "ACTIVE"},
            {"Id": "400000000004", "Name": "old", "Status": "SUSPENDED"},
        ]
        server.fleet = {(SHOP, HERE): described(SHOP, "web"), (BANK, THERE): described(BANK, "core", THERE)}
        yield server


def open_roles(server: AwsServer, external_id: str) -> None:
    """Creates the hub role and the reader roles, which only the hub role may assume, all with that external id."""
    server.roles = {HUB: external_id, reader(SHOP): external_id, reader(BANK): external_id}
    server.trusted = {reader(SHOP): "karpdash-organization", reader(BANK): "karpdash-organization"}
