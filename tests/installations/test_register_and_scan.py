"""The main job, whole: a 0.32 cluster is registered in the browser, scanned by the worker, shown, and judged alike by
the command on the live cluster and on its bundle.
"""

import html
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bench import load, seed
from tests.installations.running import Up, bare_environment, kill
from tests.installations.visitor import Visitor
from tests.servers.apiserver import ApiServer
from tests.servers.waiting import eventually

NODES = 6
BLOCKERS = {
    "kubernetes_inside_window",
    "legacy_machines_gone",
    "legacy_node_templates_gone",
    "legacy_provisioners_gone",
    "nodes_owned_by_nodeclaims",
    "pools_admit_provisioner_pods",
    "workloads_select_current_labels",
}
COUNTS = {"provisioners": 4, "awsnodetemplates": 1, "machines": NODES, "nodes": NODES, "crds": 6, "helm_releases": 1}


@pytest.fixture
def shop(clean_apiserver: ApiServer, place: Path) -> Path:
    """The kubeconfig of a cluster on 0.32: Provisioners and Machines, nodes, workloads and pods, Helm's record."""
    instances = load.launched(NODES)
    nodes = [load.node_name(one) for one in instances]
    workloads = list(load.workloads())[:12]
    everything = [*load.installation(), *load.machines(instances), *workloads, *load.pods(range(12), nodes)]
    seed.install(clean_apiserver, everything)
    path = place / "kubeconfig"
    path.write_text(clean_apiserver.kubeconfig(clean_apiserver.admin_token, context="shop"))
    return path


def karpdash(*words: object, data: Path | None = None) -> "subprocess.CompletedProcess[str]":
    settings = {"allow_loopback": "1"} | ({"data_dir": str(data)} if data else {})
    command = [sys.executable, "-m", "karpdash.command", *map(str, words)]
    return subprocess.run(command, env=bare_environment(**settings), capture_output=True, text=True, check=False)


def report(*words: object, data: Path | None = None) -> Any:
    """The JSON of a scan that found blockers."""
    done = karpdash("scan", *words, "-o", "json", data=data)
    assert (done.returncode, done.stderr) == (1, "")
    return json.loads(done.stdout)


def test_the_command_says_the_same_of_a_cluster_and_of_its_bundle(shop: Path) -> None:
    live = report("--kubeconfig", shop)
    out = shop.with_name("shop.tar.gz")
    assert karpdash("bundle", "--kubeconfig", shop, "-o", out).returncode == 0
    offline = report("--bundle", out)
    assert offline["checks"] == live["checks"]
    same = ("cluster", "hops", "target", "nodes", "legacy", "anomalies", "complete")
    assert {name: offline[name] for name in same} == {name: live[name] for name in same}
    assert len({check["id"] for check in live["checks"]}) >= 15


@pytest.fixture
def dashboard(place: Path) -> Iterator[Up]:
    up = Up(place, settings={"allow_loopback": "1"}, words=("--no-demo",))
    yield up.start().serving()
    left = up.family()
    up.end()
    kill(left)


def registered(dashboard: Up, kubeconfig: str) -> Visitor:
    """Somebody who has pasted the kubeconfig into the form, and waited for the worker's first snapshot."""
    visitor = Visitor(dashboard.address)
    visitor.sign_in(dashboard.password)
    visitor.send("/clusters/new", way="paste", name="shop", kubeconfig=kubeconfig)
    complete = "SELECT complete FROM migrations_app_snapshot"
    eventually(lambda: dashboard.rows(complete) == [(1,)], what="the worker to publish a snapshot", seconds=90)
    return visitor


def stored(visitor: Visitor) -> Any:
    """The stored snapshot, as the API gives it."""
    (line,) = json.loads(visitor.get("/api/v1/snapshots"))["results"]
    return json.loads(visitor.get(f"/api/v1/snapshots/{line['id']}"))


def test_a_cluster_is_registered_scanned_and_shown(shop: Path, dashboard: Up) -> None:
    visitor = registered(dashboard, shop.read_text())
    address = visitor.at.removeprefix(dashboard.address)
    found = stored(visitor)
    assert open_blockers(found, "0.33+").keys() == BLOCKERS
    assert found["checks"] == report("--kubeconfig", shop)["checks"]
    assert found["nodes"] == {"total": NODES, "by_owner": owners(karpenter_alpha=NODES)}
    assert {part["name"]: part["count"] for part in found["parts"] if part["name"] in COUNTS} == COUNTS
    page = html.unescape(visitor.get(address))
    assert [summary for summary in open_blockers(found, "0.33+").values() if summary not in page] == []
    nodes = visitor.get(f"{address}nodes")
    assert [name for name in map(load.node_name, load.launched(NODES)) if name not in nodes] == []


def open_blockers(found: Any, hop: str) -> dict[str, str]:
    """The summary of each blocker that fails at the hop, by the check's id."""
    here = (check for check in found["checks"] if (check["hop"], check["severity"]) == (hop, "blocker"))
    return {check["id"]: check["summary"] for check in here if check["status"] == "fail"}


def owners(**counts: int) -> dict[str, int]:
    names = (
        "karpenter_alpha",
        "karpenter_beta",
        "karpenter_v1",
        "managed_node_group",
        "fargate",
        "auto_mode",
        "hybrid",
    )
    return dict.fromkeys((*names, "self_managed", "unknown"), 0) | counts


def test_no_secret_is_left_in_the_open(shop: Path, dashboard: Up, apiserver: ApiServer) -> None:  # T22
    visitor = registered(dashboard, shop.read_text())
    assert apiserver.admin_token not in visitor.page
    assert dashboard.end() == 0
    kept = [path for path in dashboard.data.rglob("*") if path.is_file()]
    assert len(kept) > 5
    assert [path.name for path in kept if apiserver.admin_token.encode() in path.read_bytes()] == []


def test_the_connection_test_names_the_missing_rights(shop: Path, dashboard: Up, clean_apiserver: ApiServer) -> None:
    nobody = clean_apiserver.kubeconfig(clean_apiserver.make_user("nobody"), context="shop")
    visitor = Visitor(dashboard.address)
    visitor.sign_in(dashboard.password)
    page = visitor.send("/clusters/new", do="test", way="paste", name="shop", kubeconfig=nobody)
    assert [word for word in ("provisioners", "machines", "ClusterRole") if word not in page] == []
    assert dashboard.rows("SELECT count(*) FROM migrations_app_cluster") == [(0,)]
