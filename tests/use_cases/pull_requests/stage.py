"""A cluster whose NodePool is delivered by Git, a repository on a stand-in of a Git host, and a person."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from django.utils import timezone

from migrations_app.checks.base import Remedy
from migrations_app.checks.changes import ChangeTarget, ObjectPatch
from migrations_app.inventory.facts.delivery_sources import GitSource
from migrations_app.models.audit import AuditEvent
from migrations_app.models.cluster import Cluster
from migrations_app.models.pull_request import PullRequest
from migrations_app.readiness.report import InstallationFacts
from migrations_app.use_cases.pull_requests.opening import open_request
from migrations_app.use_cases.pull_requests.preview import PreviewRequest, preview_request
from migrations_app.use_cases.pull_requests.repositories import NewRepository, register_repository
from tests.builders.rows import a_cluster, a_finding, a_report, a_snapshot
from tests.fakes.evilk8s import AUTHORITY, EvilServer
from tests.fakes.git_hosts import PATH, TOKEN, FakeHost
from tests.use_cases.clusters.eks import KEYS

CHECK, HOP = "consolidation_calm", "0.32"
FILE = "clusters/shop/pool.yaml"
POOL = """\
# Ask the platform team before you change this.
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: shop
spec:
  disruption:
    consolidateAfter: 0s  # too eager
  weight: 10
"""
FIXED = POOL.replace("0s ", "1m ").replace("1m ", '"1m" ')
FILES = {FILE: POOL, "clusters/shop/kustomization.yaml": "resources: [pool.yaml]\n", "README.md": "shop\n"}
PATCH = ObjectPatch(
    target=ChangeTarget("NodePool", "shop", resource="nodepools.karpenter.sh"),
    body={"spec": {"disruption": {"consolidateAfter": "1m"}}},
)


def finding(change: Any = PATCH, **more: Any) -> Any:
    """Returns a failing check of an object that Flux delivers, whose fix is that change."""
    remedies = tuple(Remedy(how=how, text="x", change=change) for how in ("flux", "kubectl"))
    return a_finding(CHECK, hop=HOP, severity="warning", remedies=remedies, **more)


def a_delivered_cluster(address: str, change: Any = PATCH, *, name: str = "shop") -> Cluster:
    """Creates the cluster with a snapshot in which that check fails."""
    cluster = a_cluster(name)
    report = a_report("shop", checks=(finding(change),))
    place = GitSource(
        kind="Kustomization", namespace="flux-system", name="shop", address=address, branch="main", path="clusters/shop"
    )
    installed = InstallationFacts(namespace="kube-system", release="karpenter", git=(place,))
    facts = msgspec.structs.replace(report.cluster, installed=installed)
    a_snapshot(cluster, msgspec.structs.replace(report, cluster=facts))
    return cluster


@contextmanager
def running(host: FakeHost, settings: Any, monkeypatch: Any, folder: Any) -> Iterator[str]:
    """Serves the host on loopback with a certificate of the tests; returns the address of its repository."""
    (folder / "ca.pem").write_text(AUTHORITY.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "ca.pem"))
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=KEYS, allow_loopback=True)
    with EvilServer(host) as server:
        yield f"{server.url}/{PATH}"


def registered(host, address, **changed):
    said = {"kind": host.kind, "address": address, "secret": TOKEN, "by": "ada"}
    return register_repository(NewRepository(**(said | changed)), now=timezone.now())


def previewed(asked, eva, **changed):
    values = {name: getattr(asked, name) for name in asked.__slots__} | changed
    return PullRequest.objects.get(pk=preview_request(PreviewRequest(**values), eva, now=timezone.now()))


def opened(row, eva):
    open_request(row.pk, eva, digest=row.digest, now=timezone.now())
    return PullRequest.objects.get(pk=row.pk)


def verbs():
    return list(AuditEvent.objects.order_by("seq").values_list("verb", flat=True))
