"""A preview and its run on a twin, by the code that previews and runs on a server."""

from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from migrations_app.samples.karpenter_objects import machine
from migrations_app.twin.ports.reading import TwinReader
from migrations_app.twin.ports.writing import TwinWriter
from migrations_app.twin.server import Twin
from migrations_app.use_cases.rollouts import preview, worker
from tests.actions.on_server import QUICK, applied, carried_out, gone, installed, plan_of, previewed, put
from tests.builders.pods import OLD
from tests.builders.pools import a_pool, a_provisioner
from tests.builders.pools import put as changed
from tests.builders.rows import a_cluster
from tests.twin.as_server import TwinAsServer

FENCE = {"key": "karpenter.sh/legacy", "value": "true", "effect": "NoSchedule"}
MINE = {"key": "team", "value": "a", "effect": "NoSchedule"}


@pytest.fixture
def server(settings, monkeypatch) -> TwinAsServer:
    """A twin to which every connection of previews and workers goes."""
    twin = Twin(lambda: datetime.now(UTC), minor=28, collects=False)  # the owners in these documents have other uids

    @contextmanager
    def reader(*_, **__):
        yield TwinReader(twin)

    @contextmanager
    def writer(*_, **__):
        yield TwinWriter(twin)

    settings.ENV = replace(settings.ENV, **QUICK)
    monkeypatch.setattr(worker, "SLICE_SECONDS", 1.0)
    monkeypatch.setattr(preview, "connect", reader)
    for module in (preview, worker):
        monkeypatch.setattr(module, "connect_writer", writer)
    return TwinAsServer(twin)


@pytest.fixture
def provisioner(server) -> str:
    """The path of a Provisioner with one node, of which a NodePool can take over."""
    server.load_crds("alpha_and_beta")
    installed(server, "0.32.10", FEATURE_GATES="Drift=true")
    (made,) = put(server, changed(a_provisioner(), {"spec.taints": [MINE]}))
    put(server, a_pool({"spec.template.spec.taints": [MINE]}, version="v1beta1"), *machine(OLD, template="default"))
    return server.admin.path_of(made)


@pytest.mark.django_db(transaction=True)
def test_a_plan_is_previewed_and_carried_out(server, provisioner):
    row = previewed(a_cluster(), "taint_and_drift")
    assert (row.state, row.cause, [step.title for step in plan_of(row).steps]) == (
        "previewed",
        "",
        [
            "Taint Provisioner web: 1 of 1 node can drift",
            "Watch until 1 node went and what replaces them is Ready",
        ],
    )
    assert server.admin.get(provisioner)["spec"]["taints"] == [MINE], "a preview changes nothing"
    claim, node = f"/apis/karpenter.sh/v1alpha5/machines/{OLD.claim}", f"/api/v1/nodes/{OLD.node}"
    done = carried_out(row, between=lambda: gone(server, node, claim))
    assert (done.state, done.cause, applied(done)) == ("succeeded", "", ["s001"])
    assert server.admin.get(provisioner)["spec"]["taints"] == [MINE, FENCE]


@pytest.mark.django_db(transaction=True)
def test_an_object_that_changed_since_the_preview_stops_the_run(server, provisioner):
    row = previewed(a_cluster(), "taint_and_drift")
    server.admin.patch(provisioner, {"spec": {"taints": None}})
    assert (carried_out(row).state, applied(row)) == ("paused", [])
    assert "taints" not in server.admin.get(provisioner)["spec"]
