"""What a trial on a real API server found and no other test tries there: rights, locks, forecasts, dumps."""

import json
import secrets
from dataclasses import replace

import pytest
import yaml

from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.collect.collect import collect
from migrations_app.errors import Conflict
from migrations_app.models.cluster import Cluster
from migrations_app.models.rollout import Rollout
from migrations_app.readiness.evaluate import evaluate
from migrations_app.samples.karpenter_objects import Launched, claim, machine
from migrations_app.use_cases.clusters.registration import Details, register_kubeconfig, try_kubeconfig
from migrations_app.use_cases.rollouts import lifecycle, worker
from migrations_app.use_cases.runtime.connections import connect
from tests.actions.on_server import QUICK, carried_out, installed, plan_of, previewed, put, registered
from tests.builders.pods import OLD, OTHER, pods
from tests.builders.pools import a_class, a_pool, a_provisioner, a_template
from tests.servers.access import wait_for_access
from tests.servers.waiting import eventually
from tests.use_cases.people import OPERATE, actor, person, user

pytestmark = [pytest.mark.apiserver, pytest.mark.django_db(transaction=True)]
RBAC = "rbac.authorization.k8s.io"
SECRETS = "/api/v1/{}secrets"


@pytest.fixture
def server(clean_apiserver, settings, monkeypatch):
    settings.ENV = replace(settings.ENV, **QUICK)
    monkeypatch.setattr(worker, "SLICE_SECONDS", 1.0)
    clean_apiserver.load_crds("alpha_and_beta")
    return clean_apiserver


def bind(server, role, who, *, namespace=""):
    name = role["metadata"]["name"]
    kind, place = ("RoleBinding", {"namespace": namespace}) if namespace else ("ClusterRoleBinding", {})
    server.admin.create({
        "apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": {"name": f"{name}-{who}", **place},
        "subjects": [{"kind": "User", "name": who, "apiGroup": RBAC}],
        "roleRef": {"kind": "ClusterRole", "name": name, "apiGroup": RBAC},
    })  # fmt: skip


def test_the_printed_roles_are_enough_stay_so_and_open_no_other_secret(server):  # D1
    installed(server, "0.32.10")
    who = f"karpdash-{secrets.token_hex(4)}"
    pair = server.client_cert(who)
    kubeconfig, client = server.kubeconfig(certificate=pair).encode(), server.client(certificate=pair)
    scan, releases = yaml.safe_load_all(try_kubeconfig(kubeconfig).rule)
    server.admin.apply(scan)
    bind(server, scan, who)
    wait_for_access(client, scan["rules"])
    told = try_kubeconfig(kubeconfig)
    assert [(one.group, one.plural) for one in told.missing] == [("", "secrets")]
    (again,) = yaml.safe_load_all(told.rule)
    assert again == releases  # applied, it takes nothing from the other role
    server.admin.apply(again)
    bind(server, again, who, namespace="kube-system")
    asked = {"kube-system": 200, "default": 403, "": 403}
    paths = {home: SECRETS.format(f"namespaces/{home}/" if home else "") for home in asked}
    eventually(lambda: client.request("GET", paths["kube-system"]).status == 200, what="the right to read releases")
    assert {home: client.request("GET", path).status for home, path in paths.items()} == asked
    last = try_kubeconfig(kubeconfig)
    assert (last.reachable, last.missing, last.rule) == (True, (), "")


def test_a_cluster_that_is_registered_twice_has_one_lock(server, monkeypatch):  # D4, A13
    monkeypatch.setattr("migrations_app.use_cases.rollouts.start_checks.approvals_needed", lambda _row: 0)
    installed(server, "0.32.10")
    put(server, a_provisioner(), a_pool(version="v1beta1"), *machine(OLD, template="default"))
    text = server.kubeconfig(server.admin_token).encode()
    both = [
        Cluster.objects.get(pk=register_kubeconfig(text, Details(name=name, by="ada"))) for name in ("shop", "again")
    ]
    first, second = (previewed(one, "roll_nodes") for one in both)
    assert {plan_of(one).identity.kube_system_uid for one in (first, second)} == {
        server.admin.get("/api/v1/namespaces/kube-system")["metadata"]["uid"]
    }
    for state in ("awaiting_approval", "approved"):
        Rollout.objects.update(state=state)
    ada = user("ada", OPERATE)
    lifecycle.start(first.pk, person(ada), digest=first.digest, by=actor(ada))
    with pytest.raises(Conflict) as told:
        lifecycle.start(second.pk, person(ada), digest=second.digest, by=actor(ada))
    assert (told.value.code, sorted(Rollout.objects.values_list("state", flat=True))) == (
        "busy", ["approved", "running"],
    )  # fmt: skip


def judged(cluster):
    with connect(cluster) as api:
        api.get("/version")
        return evaluate(collect(api, cluster="shop")).report


def test_what_karpdash_wrote_itself_is_no_finding(server):  # D7
    installed(server, "0.32.10")
    put(server, a_provisioner(), a_template())
    cluster = registered(server)
    row = carried_out(previewed(cluster, "convert_and_apply", node_role="nodes"))
    assert (row.state, row.cause) == ("succeeded", "")
    pool = server.admin.get("/apis/karpenter.sh/v1beta1/nodepools/web")
    assert {one["manager"] for one in pool["metadata"]["managedFields"]} == {"karpdash"}
    report = judged(cluster)
    told = {one.status for one in report.checks if one.id == "gitops_applies_current_versions"}
    assert told
    assert "fail" not in told


def test_protected_pods_are_named_in_the_preview_and_a_name_is_no_owner(server):  # D8, D10
    installed(server, "0.32.10")
    new = Launched(pool="web", number=5, cluster="test", kubelet="v1.28.4")
    put(server, a_provisioner(), a_pool(version="v1beta1"), *machine(OLD, template="default"))
    put(server, *claim(new, node_class="default", version="v1beta1"))
    marked = pods(name="batch", annotations={"karpenter.sh/do-not-evict": "true"})
    homes = sorted({one["metadata"]["namespace"] for one in marked if one["metadata"].get("namespace")})
    put(server, *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": home}} for home in homes), *marked)
    row = previewed(registered(server), "forced_deletion", provisioners=["web"])
    forecast = plan_of(row).forecast
    assert (row.state, forecast.nodes) == ("previewed", 1)  # the other node of that name is the NodePool's
    assert [line for line in forecast.blocked if "shop/batch" in line and "do-not-evict" in line] != []


@pytest.mark.parametrize(("gate", "nodes"), [("Drift=true", 2), ("Drift=false", 1)])
def test_drift_beside_a_roll_is_counted_where_the_gate_is_on(server, gate, nodes):  # D9
    installed(server, "0.32.10", FEATURE_GATES=gate)
    put(server, a_provisioner(), a_pool(version="v1beta1"))
    put(server, *machine(OLD, template="default"), *machine(OTHER, template="default"))
    plan = plan_of(previewed(registered(server), "roll_nodes", nodes=[OTHER.node]))
    by_drift = [line for line in plan.forecast.beside if "by drift" in line]
    assert (plan.forecast.nodes, len(by_drift)) == (nodes, nodes - 1)
    assert [step.after.no_drains for step in plan.steps if step.after] == [nodes == 2]


def test_a_dump_without_managed_fields_passes_nothing_for_want_of_them(server):  # D11
    installed(server, "0.32.10")
    put(server, a_provisioner(), a_template())
    for one in (a_pool(version="v1beta1"), a_class(version="v1beta1")):
        server.admin.apply({**one, "metadata": {"name": one["metadata"]["name"]}}, manager="kustomize-controller")
    kinds = {
        "NodePool": ("karpenter.sh/v1beta1", "nodepools"),
        "EC2NodeClass": ("karpenter.k8s.aws/v1beta1", "ec2nodeclasses"),
        "Deployment": ("apps/v1", "deployments"),
    }
    live = [
        one | {"apiVersion": version, "kind": kind}
        for kind, (version, plural) in kinds.items()
        for one in server.admin.items(f"/apis/{version}/{plural}")
    ]
    bare = [one | {"metadata": {k: v for k, v in one["metadata"].items() if k != "managedFields"}} for one in live]

    def told(documents):
        files = {"all.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}).encode()}
        files["version.json"] = json.dumps(server.admin.get("/version")).encode()
        found = evaluate(collect(open_bundle(files), cluster="shop")).report
        return {one.status for one in found.checks if one.id == "gitops_applies_current_versions"}

    assert ("fail" in told(live), told(bare) <= {"unknown"}, len(told(bare))) == (True, True, 1)
