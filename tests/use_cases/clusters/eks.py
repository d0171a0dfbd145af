"""Helpers for tests of EKS registration: the fake AWS, the settings for it, and one registration."""

import base64
import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager

from migrations_app.models.cluster import Cluster
from migrations_app.use_cases.clusters.eks_registration import AccessDraft, draft_access, register_eks
from migrations_app.use_cases.clusters.registration import Details
from tests.fakes.aws_server import ARN, ROLE, AwsServer
from tests.fakes.evilk8s import AUTHORITY

CA = base64.b64encode(AUTHORITY.pem.encode()).decode()
KEYS = (("k1", b"0" * 32),)


@contextmanager
def running() -> Iterator[AwsServer]:
    """Runs a fake AWS during the block; its cluster `shop` answers on a closed port."""
    server = AwsServer()
    server.cluster("https://127.0.0.1:9", CA)
    try:
        yield server
    finally:
        server.stop()


def at(settings, server):
    """Returns settings with which karpdash has an identity at that AWS."""
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=KEYS, allow_loopback=True, aws=server.identity)


def drafted(server: AwsServer, cluster: str = ARN, *, region: str = "", by: str = "ada") -> AccessDraft:
    """Creates a draft, and the role with its external id."""
    draft = draft_access(cluster, region=region, by=by)
    server.roles[ROLE] = draft.external_id
    return draft


def registered(server: AwsServer, name: str = "shop") -> Cluster:
    found = register_eks(drafted(server).text, Details(name=name, by="ada"), role_arn=ROLE)
    return Cluster.objects.get(pk=found)
