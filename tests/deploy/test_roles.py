"""The published ClusterRoles: no more than is declared, and enough for a whole scan and a whole rollout."""

from dataclasses import replace

import pytest

from migrations_app.actions.base import Unavailable
from migrations_app.actions.changes import RbacNeed
from migrations_app.actions.registry import all_actions
from migrations_app.collect.collect import collect
from migrations_app.inventory.inventory import PART_NAMES
from migrations_app.karpenter import kinds
from migrations_app.karpenter.crds import CRD_SETS
from migrations_app.models.cluster import Cluster
from migrations_app.readiness.rbac import roles as published
from migrations_app.readiness.rbac.roles import SCANNED_KINDS, MissingPermission
from migrations_app.samples import fleet
from migrations_app.samples.karpenter_objects import machine
from migrations_app.use_cases.clusters import registration
from migrations_app.use_cases.clusters.registration import Details, register_kubeconfig, try_kubeconfig
from migrations_app.use_cases.rollouts import worker
from migrations_app.use_cases.runtime.connections import connect
from tests.actions import on_server
from tests.actions.on_server import applied, carried_out, gone, installed, plan_of, previewed, put
from tests.builders.pods import OLD
from tests.builders.pools import a_pool, a_provisioner
from tests.deploy.roles import bound, roles
from tests.samples.test_stories import scanned

SCAN, RELEASES = roles("scan.yaml")
DELIVERIES, LEADER = roles("deliveries.yaml")
(ACT,) = roles("act.yaml")
CRDS = "customresourcedefinitions"


def granted(role):
    """(verb, group, resource) -> names, of every rule; no names: all objects."""
    return {
        (verb, group, resource): tuple(rule.get("resourceNames", ()))
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_a_scan_lists_and_does_nothing_else():
    lists = {("list", kind.group, kind.plural): () for kind in SCANNED_KINDS if kind is not kinds.SECRET}
    told = {
        ("get", "", "namespaces"): ("kube-system",),
        ("create", "authorization.k8s.io", "selfsubjectaccessreviews"): (),
    }
    unchanged = {("watch", "", "nodes"): (), ("watch", "", "pods"): ()}
    assert granted(SCAN) == lists | told | unchanged


def test_secrets_stand_in_a_role_of_their_own():  # T18
    assert granted(RELEASES) == {("list", "", "secrets"): ()}
    assert [name for name in ("secrets", "pods/exec", "pods/eviction") if name in str(SCAN) + str(ACT)] == []


def test_acting_is_what_the_actions_declare():  # A26, T18
    declared = {need for action in all_actions() if not action.role for need in action.may}
    read = {RbacNeed(verb="get", group=need.group, plural=need.plural) for need in declared}
    beside = {(verb, group, plural) for verb, group, plural in granted(ACT) if verb not in ("list",)} - {
        ("get", "", "namespaces"),
        ("create", "authorization.k8s.io", "selfsubjectaccessreviews"),
    }
    wanted = {(n.verb, n.group, f"{n.plural}/{n.subresource}".rstrip("/")) for n in declared | read}
    assert beside == wanted
    assert {plural for verb, _, plural in granted(ACT) if verb == "list"} == {
        kind.plural for kind in published.COUNTED_KINDS
    }  # fmt: skip


def test_nothing_wide_stands_in_a_role():  # T18, T25
    every = [rule for role in (SCAN, RELEASES, ACT) for rule in role["rules"]]
    verbs = {verb for rule in every for verb in rule["verbs"]}
    assert verbs == {"get", "list", "watch", "create", "patch", "delete"}
    wide = [rule for rule in every if "*" in (*rule["apiGroups"], *rule["resources"])]
    # The kinds of Gatekeeper's constraints are named by whoever writes their templates, and they are only listed.
    assert wide == [{"apiGroups": ["constraints.gatekeeper.sh"], "resources": ["*"], "verbs": ["list"]}]
    assert [key for key in granted(ACT) if key[2] == "namespaces"] == [("get", "", "namespaces")]


def test_objects_with_known_names_are_named():  # T18, T25
    for role in (SCAN, ACT):
        for (verb, group, plural), names in granted(role).items():
            known = published.KNOWN_NAMES.get((group, plural.partition("/")[0]))
            if known and verb not in ("create", "list"):
                assert names == known, (verb, plural)


def test_every_crd_that_a_chart_brings_is_named():
    brought = {crd.kind.crd_name for row in CRD_SETS for crd in row.crds}
    assert brought <= set(published.KNOWN_NAMES[kinds.CRD.group, CRDS])


def read_by(action, inventory):
    """The kinds of what the action reads of a cluster; none where it is not offered."""
    try:
        return {(target.group, target.plural) for target in action.objects_to_read(inventory, {})}
    except Unavailable:
        return set()


def test_what_actions_read_may_be_read():
    inventories = [scanned(story).inventory for story in fleet.stories()]
    asked = {kind for action in all_actions() for inventory in inventories for kind in read_by(action, inventory)}
    assert len(asked) >= 5
    given = {*granted(ACT), *granted(DELIVERIES)}
    assert asked <= {(group, plural) for verb, group, plural in given if verb == "get"}


def test_what_delivers_stands_in_a_role_of_its_own():  # A26, T18
    declared = {need for action in all_actions() if action.role == "karpdash-deliveries" for need in action.may}
    changed = {(need.verb, need.group, need.plural) for need in declared}
    assert set(granted(DELIVERIES)) == changed | {("get", group, plural) for _, group, plural in changed}
    assert {verb for verb, _, _ in changed} == {"patch"}
    assert granted(LEADER) == {("get", "coordination.k8s.io", "leases"): ()}
    assert {kind[2] for kind in changed} & {plural for _, _, plural in granted(ACT)} == set()
    assert {action.role for action in all_actions()} == {"", DELIVERIES["metadata"]["name"]}


@pytest.fixture
def server(clean_apiserver, settings, monkeypatch):
    settings.ENV = replace(settings.ENV, **on_server.QUICK)
    monkeypatch.setattr(worker, "SLICE_SECONDS", 1.0)
    clean_apiserver.load_crds("alpha_and_beta")
    installed(clean_apiserver, "0.32.10")
    put(clean_apiserver, a_provisioner(), a_pool(version="v1beta1"), *machine(OLD, template="default"))
    return clean_apiserver


def registered(kubeconfig: str) -> Cluster:
    return Cluster.objects.get(pk=register_kubeconfig(kubeconfig.encode(), Details(name="shop", by="ada")))


@pytest.mark.django_db(transaction=True)
def test_a_scan_with_just_its_role_is_complete(server):
    kubeconfig = bound(server)
    looked = try_kubeconfig(kubeconfig.encode())
    assert (looked.reachable, looked.missing) == (True, ())
    with connect(registered(kubeconfig)) as api:
        api.get("/version")
        collected = collect(api, cluster="shop")
    unseen = {line.name: line.detail for line in collected.parts if not line.seen}
    assert (unseen, len(collected.parts), collected.complete) == ({}, len(PART_NAMES), True)


@pytest.mark.django_db(transaction=True)
def test_without_the_release_role_only_that_part_is_unknown(server):  # R15
    with connect(registered(bound(server, releases_in="default"))) as api:
        api.get("/version")
        collected = collect(api, cluster="shop")
    assert {line.name: line.why for line in collected.parts if not line.seen} == {"helm_releases": "forbidden"}
    assert registration.try_cluster(Cluster.objects.get().pk).missing == (MissingPermission("", "secrets"),)


@pytest.mark.django_db(transaction=True)
def test_with_the_release_role_in_one_of_two_namespaces_nothing_passes_on_the_other(server):  # R15
    """No controller tells where Karpenter lives, so both of its usual homes are looked into."""
    kubeconfig = bound(server)
    server.admin.request("DELETE", "/apis/apps/v1/namespaces/kube-system/deployments/karpenter")
    with connect(registered(kubeconfig)) as api:
        api.get("/version")
        collected = collect(api, cluster="shop")
    lines = {line.name: line for line in collected.parts}
    assert [line.name for line in collected.parts if not line.seen] == []
    told = lines["helm_releases"]
    assert (told.seen, told.quarantined, told.detail) == (
        True, 1, "every record of the namespace karpenter: forbidden",
    )  # fmt: skip
    assert collected.complete is False


@pytest.mark.django_db(transaction=True)
def test_an_action_without_its_role_is_refused_at_the_preview(server):  # A26
    row = previewed(registered(bound(server)), "roll_nodes")
    assert (row.state, row.cause_code) == ("expired", "missing_rights")
    wanted = [
        RbacNeed(verb=verb, group=kind.group, plural=kind.plural)
        for verb, kind in (
            ("delete", kinds.NODE), ("get", kinds.NODE),
            ("get", kinds.PROVISIONER), ("patch", kinds.PROVISIONER),
            ("get", kinds.DEPLOYMENT),
        )
    ]  # fmt: skip
    assert sorted(row.cause.partition("missing rules: ")[2].split(" - ")) == sorted(
        f"{'- ' * (number == 0)}{need.rule}" for number, need in enumerate(sorted(wanted))
    )


@pytest.mark.django_db(transaction=True)
def test_an_action_with_its_role_is_carried_out(server):  # A26, T18
    mark = server.audit_mark()
    row = previewed(registered(bound(server, acting=True)), "roll_nodes")
    assert (row.state, row.cause, len(plan_of(row).steps)) == ("previewed", "", 2)

    def drained():
        for one in server.admin.items("/api/v1/nodes"):
            if "deletionTimestamp" in one["metadata"]:
                owner = one["metadata"]["ownerReferences"][0]["name"]
                gone(
                    server, f"/api/v1/nodes/{one['metadata']['name']}", f"/apis/karpenter.sh/v1alpha5/machines/{owner}"
                )

    done = carried_out(row, between=drained)
    assert (done.state, done.cause, applied(done)) == ("succeeded", "", ["s001", "s002"])
    assert server.admin.items("/api/v1/nodes") == []
    ours = [one for one in server.audit_events(mark) if one["user"]["username"].startswith("karpdash-")]
    refused = [one["requestURI"] for one in ours if one.get("responseStatus", {}).get("code") == 403]
    assert (refused, "deletecollection" in {one["verb"] for one in ours}) == ([], False)


@pytest.mark.django_db(transaction=True)
def test_rules_for_named_objects_are_enough(server):  # T25
    """CRDs may be changed by name only: the review without a name says no, the one with it yes."""
    row = previewed(
        registered(bound(server, acting=True)), "adopt_crds", release="karpenter-crd", namespace="kube-system"
    )
    assert (row.state, row.cause) == ("previewed", "")
