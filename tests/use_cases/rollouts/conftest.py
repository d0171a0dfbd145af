"""Fixtures for tests of rollouts under faults: a quick worker, a faulty proxy, and a comparison with the audit log at
the end.
"""

from dataclasses import replace

import pytest

from migrations_app.execution import steps
from migrations_app.models.cluster import Cluster
from migrations_app.use_cases.clusters.registration import Details, register_kubeconfig
from migrations_app.use_cases.rollouts import worker
from tests.servers.fault_proxy import FaultProxy
from tests.use_cases.rollouts.journal_check import complaints_of

QUICK = {
    "allow_loopback": True,
    "gate_poll": 0,
    "settle_seconds": 0,
    "cancel_seconds": 0,
    "encryption_keys": (("k", b"k" * 32),),
}


@pytest.fixture
def quick(settings, monkeypatch):
    """A worker that waits for nothing longer than a test can."""
    settings.ENV = replace(settings.ENV, **QUICK)
    monkeypatch.setattr(worker, "SLICE_SECONDS", 1.0)
    monkeypatch.setattr(steps, "DEADLINE_SECONDS", 0.3)
    monkeypatch.setattr(steps, "MAX_RETRY_PAUSE", 0.0)


@pytest.fixture
def long_slice(quick, monkeypatch):
    """Gives a worker's slice more time, so that it does not end early on a busy machine."""
    monkeypatch.setattr(worker, "SLICE_SECONDS", 60.0)


@pytest.fixture
def server(clean_apiserver):
    return clean_apiserver


@pytest.fixture
def proxy(server):
    made = FaultProxy(server)
    yield made
    made.stop()


@pytest.fixture
def cluster(proxy, quick, db) -> Cluster:
    """A cluster that is reached through the proxy."""
    text = proxy.kubeconfig(proxy.server.admin_token).encode()
    return Cluster.objects.get(pk=register_kubeconfig(text, Details(name="shop", by="ada")))


@pytest.fixture
def complaints(server):
    """Returns a function that compares the journal of a rollout with the API server's audit log; its list is to be
    empty.
    """
    mark = server.audit_mark()

    def told(row) -> list[str]:
        return complaints_of(row, server.audit_events(mark))

    return told
