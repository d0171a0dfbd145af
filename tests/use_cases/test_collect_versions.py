"""In which version objects are read where the conversion fails, or where nothing converts (R16)."""

from contextlib import closing

import pytest

from migrations_app.clients.kubernetes.kubeconfig import read_kubeconfig
from migrations_app.clients.kubernetes.reader import open_live
from migrations_app.errors import CONVERSION_FAILED
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.report import Collected
from migrations_app.use_cases.collect.collect import collect
from tests.actions.on_server import installed
from tests.clients.rig import HERE
from tests.servers.apiserver import ApiServer

BETA, V1 = "karpenter.sh/v1beta1", "karpenter.sh/v1"
pytestmark = pytest.mark.apiserver


def pool(server: ApiServer) -> None:
    server.admin.create({"apiVersion": BETA, "kind": "NodePool", "metadata": {"name": "default"}, "spec": {}})


def read(server: ApiServer) -> Collected:
    connection = read_kubeconfig(server.kubeconfig(server.admin_token).encode())
    with closing(open_live(connection, reach=HERE)) as api:
        return collect(api, cluster="test")


def test_where_the_webhook_does_not_answer_the_stored_version_is_read(clean_apiserver: ApiServer) -> None:
    clean_apiserver.load_crds("beta_with_v1", conversion_webhook=True)
    installed(clean_apiserver, "0.37.8")
    pool(clean_apiserver)
    found = read(clean_apiserver)
    part = found.inventory.nodepools
    assert [one.name for one in part.items] == ["default"]
    assert (part.served, part.instead_of) == (BETA, V1)
    line = next(line for line in found.parts if line.name == "nodepools")
    assert (line.seen, line.detail) == (True, f"read in {BETA}: the conversion to {V1} fails")
    told = next(one for one in evaluate(found).report.checks if one.id == "karpenter_lists_answer")
    rows = [(row.name, row.seen) for row in told.evidence]
    assert (told.status, rows[0]) == (
        "fail",
        ("nodepools.karpenter.sh", f"{CONVERSION_FAILED} to {V1}; read in {BETA}"),
    )


def test_where_nothing_converts_objects_are_read_as_what_they_are(clean_apiserver: ApiServer) -> None:
    clean_apiserver.load_crds("beta_with_v1")
    pool(clean_apiserver)
    part = read(clean_apiserver).inventory.nodepools
    assert (part.served, part.instead_of, len(part.items)) == (BETA, "", 1)


def test_where_v1_is_stored_it_is_read(clean_apiserver: ApiServer) -> None:
    clean_apiserver.load_crds("v1_with_beta")
    assert read(clean_apiserver).inventory.nodepools.served == V1
