import copy
import shlex

import pytest
import yaml

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import leaves
from migrations_app.samples.kubernetes_objects import doc, meta
from migrations_app.samples.rbac import cluster_roles
from tests.builders.clusters import (
    a_cluster,
    an_empty_cluster,
    asked_hops,
    finding_of,
    reads,
    remedies,
    result_of,
    result_without,
)
from tests.builders.newest import NEWEST_MINOR

CHECK = "controller_rbac_current"
GOOD = ("pass", "The controller has every Kubernetes permission of its version", ())


def a_row(target: str, verbs: str, wanted: str) -> Evidence:
    path = f"rules[{target}]"
    return Evidence(
        kind="ClusterRole", name="bound to the controller", path=path, seen=f"not granted: {verbs}", wanted=wanted
    )


def by_hand(version: str = "0.37.8", *, running: str = "", kubernetes: str = "1.29", without: tuple[str, ...] = ()):
    """Roles that nobody's chart writes, as that release needs them; `without` are resources left out."""
    role, _ = cluster_roles(version, namespace="kube-system")
    role["rules"] = [rule for rule in role["rules"] if rule["resources"][0] not in without]
    return a_cluster(running or version, kubernetes=kubernetes).without("controller_rbac").with_docs(role)


@pytest.mark.parametrize("hop", ["1.0"])
def test_the_charts_roles_are_right(hop):
    assert result_of(CHECK, hop, a_cluster()) == GOOD


def test_a_right_that_the_running_release_lacks():
    rows = (
        a_row("pods", "get, list, watch", "what 0.37.8 needs: schedules"),
        a_row("pods", "delete", "what 1.0.14 needs; no chart writes these roles: "
              "ends pods when terminationGracePeriod is over"),
    )  # fmt: skip
    _, summary, found = result_of(CHECK, "1.0", by_hand(without=("pods",)))
    assert (found[0], [row for row in found if row.path == "rules[pods]"]) == (rows[0], list(rows))
    assert summary.startswith("The controller lacks permissions on ")


def test_roles_by_hand_lack_what_the_hop_needs():
    what = "what 1.0.14 needs; no chart writes these roles"
    rows = (
        a_row("nodes", "update", f"{what}: takes its taints and finalizers off nodes"),
        a_row("pods", "delete", f"{what}: ends pods when terminationGracePeriod is over"),
        a_row(
            "volumeattachments.storage.k8s.io",
            "get, list, watch",
            f"{what}: waits for volumes to detach before it ends an instance",
        ),
        a_row("customresourcedefinitions.apiextensions.k8s.io", "get", f"{what}: reads which versions are stored"),
        a_row(
            "customresourcedefinitions.apiextensions.k8s.io/status",
            "patch",
            f"{what}: takes v1beta1 off status.storedVersions",
        ),
    )
    found = result_of(CHECK, "1.0", by_hand())
    assert found == ("fail", "The controller lacks permissions on 5 resources", rows)


def test_a_role_of_ones_own_beside_those_of_the_chart_asks_for_nothing():
    role, _ = cluster_roles("0.37.8", namespace="kube-system")
    by_chart = {**role, "metadata": {**role["metadata"], "labels": {"helm.sh/chart": "karpenter-0.37.8"}}}
    own = {**role, "metadata": {"name": "karpenter-extra"}, "rules": role["rules"][:1]}
    alone = a_cluster().without("controller_rbac").with_docs(by_chart)
    beside = a_cluster().without("controller_rbac").with_docs(by_chart, own)
    assert result_of(CHECK, "1.0", beside) == result_of(CHECK, "1.0", alone) == GOOD


def test_roles_by_hand_that_look_ahead():
    role, _ = cluster_roles("1.0.14", namespace="kube-system")
    assert result_of(CHECK, "1.0", a_cluster().with_docs(role)) == GOOD


@pytest.mark.parametrize(
    "rule",
    [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        {"apiGroups": ["*"], "resources": ["*", "*/status"], "verbs": ["*"]},
    ],
)
def test_a_rule_for_everything_is_enough(rule):
    admin = cluster_roles("0.37.8", namespace="kube-system")[0] | {"rules": [rule]}
    assert result_of(CHECK, "1.0", a_cluster().without("controller_rbac").with_docs(admin)) == GOOD


def test_rights_on_named_objects_are_none_but_for_crds():
    role = copy.deepcopy(cluster_roles("1.0.14", namespace="kube-system")[0])
    names = ["ec2nodeclasses.karpenter.k8s.aws", "nodepools.karpenter.sh", "nodeclaims.karpenter.sh"]
    for rule in role["rules"]:
        if rule["resources"][0].startswith("customresourcedefinitions") and "list" not in rule["verbs"]:
            rule["resourceNames"] = names
    role["rules"].append({"apiGroups": [""], "resources": ["events"], "verbs": ["get", "list", "watch"]})
    cluster = a_cluster("1.0.14").without("controller_rbac").with_docs(role)
    assert result_of(CHECK, "1.1+", cluster) == GOOD
    nodes = next(rule for rule in role["rules"] if rule["resources"] == ["nodes"])
    nodes["resourceNames"] = ["one"]
    assert result_of(CHECK, "1.1+", a_cluster("1.0.14").without("controller_rbac").with_docs(role))[0] == "fail"


def test_without_webhooks_rights_on_crds_are_not_needed():
    role = cluster_roles("0.37.8", namespace="kube-system", webhooks=False)[0]
    role["metadata"]["labels"] = {"helm.sh/chart": "karpenter-0.37.8"}
    off = a_cluster(env={"DISABLE_WEBHOOK": "true"}).without("controller_rbac").with_docs(role)
    assert result_of(CHECK, "1.0", off) == GOOD


def test_webhooks_are_off_by_default_in_the_older_patches():
    role = cluster_roles("0.33.7", namespace="kube-system", webhooks=False)[0]
    role["metadata"]["labels"] = {"helm.sh/chart": "karpenter-v0.33.7"}
    quiet = a_cluster("0.33.7", kubernetes="1.28").without("controller_rbac").with_docs(role)
    assert result_of(CHECK, "0.33+", quiet) == GOOD
    later = a_cluster("0.33.8", kubernetes="1.28").without("controller_rbac").with_docs(role)
    assert result_of(CHECK, "0.33+", later)[0] == "fail"


def test_no_role_at_all_is_not_believed():
    why = "no ClusterRole is bound to the controller's service account by a ClusterRoleBinding"
    assert result_of(CHECK, "1.0", a_cluster().without("controller_rbac")) == ("unknown", why, ())


def test_it_blocks_where_conversion_rests_on_it():
    assert asked_hops(CHECK) == ("*",)
    assert finding_of(CHECK, "1.0", by_hand()).severity == "blocker"
    assert finding_of(CHECK, NEWEST_MINOR, by_hand("1.2.6", kubernetes="1.32")).severity == "warning"


def test_without_a_controller_there_is_nothing_to_ask():
    found = result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")
    assert found == ("not_applicable", "there is no Karpenter Deployment", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_grants_beside_what_is_there():
    first = remedies(CHECK, "1.0", by_hand())[0]
    note, *lines = first.text.splitlines()
    assert note == "# Gives the controller the rights it lacks; the roles that it has stay as they are"
    role, binding = (one.manifest for one in leaves(first.change))
    assert printed("\n".join(lines)) == [role, binding]
    assert role["rules"] == [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["update"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["delete"]},
        {"apiGroups": ["storage.k8s.io"], "resources": ["volumeattachments"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["get"]},
        {"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions/status"], "verbs": ["patch"]},
    ]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "karpenter", "namespace": "kube-system"}]
    assert binding["roleRef"]["name"] == role["metadata"]["name"] == "karpenter-lacking"
    assert [one.undo.target.kind for one in leaves(first.change)] == ["ClusterRole", "ClusterRoleBinding"]


def test_another_fix_takes_nothing_from_a_role_of_that_name():
    """kubectl apply replaces the rules of a role."""
    own = {"apiGroups": ["example.com"], "resources": ["things"], "resourceNames": ["one"], "verbs": ["get"]}
    updates = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["update"]}
    role = doc("rbac.authorization.k8s.io/v1", "ClusterRole", metadata=meta("karpenter-lacking"), rules=[own, updates])
    given = remedies(CHECK, "1.0", by_hand().with_docs(role))[0]
    (change,) = leaves(given.change)
    deletes = {"apiGroups": [""], "resources": ["pods"], "verbs": ["delete"]}
    assert change.manifest["rules"][:3] == [own, updates, deletes]
    assert change.undo.manifest == {**change.manifest, "rules": [own, updates]}
    assert "Adds rights that the controller lacks to its ClusterRole karpenter-lacking" in given.text


def printed(text):
    """What kubectl is given to read, document by document."""
    words = shlex.split(text.replace("\\\n", ""))
    found, here = [], []
    for word in words:
        if word == "|":
            found.append(yaml.safe_load("\n".join(here[2:])))
        here = [] if word == "-" else [*here, word]
    return found


def test_roles_that_the_chart_writes_get_none_beside_them():
    role, _ = cluster_roles("0.37.8", namespace="kube-system")
    role["rules"] = role["rules"][1:]
    role["metadata"] = {**role["metadata"], "labels": {"helm.sh/chart": "karpenter-0.37.8"}}
    by_chart = a_cluster().without("controller_rbac").with_docs(role)
    found = remedies(CHECK, "1.0", by_chart)
    assert "helm" in {one.how for one in found}
    assert [one for one in found if "clusterrole" in one.text] == []
