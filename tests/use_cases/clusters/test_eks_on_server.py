"""An EKS cluster from its ARN to a scan, on a real kube-apiserver that believes signed tokens.

Real: the API server, its RBAC, TLS, the token and its signature. Stubs: STS and EKS, and the webhook for tokens.
"""

import base64
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Scan
from migrations_app.use_cases.clusters.eks_registration import try_eks
from migrations_app.use_cases.clusters.registration import try_cluster
from migrations_app.use_cases.scans.queue import claim, request_scan
from migrations_app.use_cases.scans.worker import scan_claimed
from tests.fakes.aws_server import ARN, ROLE
from tests.fakes.eks_authenticator import Authenticator
from tests.servers.access import grant
from tests.servers.apiserver import ApiServer
from tests.use_cases.clusters import eks

pytestmark = [pytest.mark.django_db, pytest.mark.apiserver, pytest.mark.xdist_group("eks-real-server")]
READER = "arn:aws:sts::111122223333:assumed-role/karpdash-reader"
NODES = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "get"]}]


@pytest.fixture(scope="module")
def authenticator() -> Iterator[Authenticator]:
    found = Authenticator("shop", user=READER, groups=["readers"])
    yield found
    found.stop()


@pytest.fixture(scope="module")
def server(authenticator: Authenticator) -> Iterator[ApiServer]:
    with tempfile.TemporaryDirectory() as folder:
        found = ApiServer(flags=authenticator.flags(Path(folder)))
        yield found
        found.stop()


@pytest.fixture
def aws(settings, server):
    with eks.running() as found:
        found.cluster(server.url, base64.b64encode(server.ca_pem.encode()).decode())
        eks.at(settings, found)
        yield found


def test_from_the_arn_to_a_scan(aws, server, authenticator):
    draft = eks.drafted(aws)
    tried = try_eks(draft.text, role_arn=ROLE, by="ada")
    assert (tried.guarded, tried.arn, tried.result.reachable) == (True, ARN, True)
    assert tried.result.kubernetes.startswith("v1.")
    assert "nodes" in {kind.plural for kind in tried.result.missing}
    grant(server.admin, role="readers", user=READER, rules=NODES)
    row = eks.registered(aws)
    asked = claim(request_scan(row.pk).scan_id)
    scan_claimed(asked)
    row.refresh_from_db()
    assert (row.last_error_code, row.latest is not None, Scan.objects.get().state) == ("", True, "done")
    assert set(authenticator.keys) <= set(aws.sessions)


def test_a_token_signed_for_another_cluster_is_not_believed(aws, authenticator):
    other = ARN.replace("shop", "other")
    aws.clusters["other"] = aws.clusters["shop"] | {"arn": other, "name": "other"}
    tried = try_eks(eks.drafted(aws, other).text, role_arn=ROLE, by="ada")
    assert (tried.guarded, tried.arn, tried.result.error) == (True, other, "unauthorized")


def test_a_registered_cluster_is_tested_as_it_is_scanned(aws, server):
    row = eks.registered(aws)
    assert (try_cluster(row.pk).reachable, Cluster.objects.get().server) == (True, server.url)
