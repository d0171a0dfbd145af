"""What tests of AWS organizations share: a fake AWS with three accounts, two of which have a cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.fakes.aws_server import AwsServer
from tests.use_cases import eks

HUB_ACCOUNT, SHOP, BANK = "100000000001", "200000000002", "300000000003"
HERE, THERE = "eu-west-1", "us-east-2"
HUB = f"arn:aws:iam::{HUB_ACCOUNT}:role/karpdash-organization"


def arn(account: str, name: str, region: str = HERE) -> str:
    """The ARN of an EKS cluster."""
    return f"arn:aws:eks:{region}:{account}:cluster/{name}"


def reader(account: str) -> str:
    """The ARN of the role that reads an account."""
    return f"arn:aws:iam::{account}:role/karpdash-reader"


def described(account: str, name: str, region: str = HERE, **changed: Any) -> dict[str, dict[str, Any]]:
    """One cluster by its name, as DescribeCluster tells it."""
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
    """The fake AWS; it ends with the block. Its roles are still to be made."""
    with eks.running() as server:
        server.accounts = [
            {"Id": SHOP, "Name": "shop", "Status": "ACTIVE"},
            {"Id": BANK, "Name": "bank", "State": "ACTIVE"},
            {"Id": "400000000004", "Name": "old", "Status": "SUSPENDED"},
        ]
        server.fleet = {(SHOP, HERE): described(SHOP, "web"), (BANK, THERE): described(BANK, "core", THERE)}
        yield server


def open_roles(server: AwsServer, external_id: str) -> None:
    """Makes the hub role and the readers, which open to the hub role only, all with that external id."""
    server.roles = {HUB: external_id, reader(SHOP): external_id, reader(BANK): external_id}
    server.trusted = {reader(SHOP): "karpdash-organization", reader(BANK): "karpdash-organization"}
