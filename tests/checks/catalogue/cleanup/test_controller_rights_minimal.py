import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import leaves
from migrations_app.samples.rbac import cluster_roles
from tests.builders.clusters import a_cluster, asked_hops, reads, remedies, result_of, result_without

CHECK = "controller_rights_minimal"
GOOD = ("pass", "The controller has no outdated Kubernetes permission", ())


def by_hand(*rules: dict):
    role, _ = cluster_roles("0.37.8", namespace="kube-system")
    role["rules"] += rules
    return a_cluster().without("controller_rbac").with_docs(role)


def a_rule(group: str, resource: str, *verbs: str) -> dict:
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}


def a_row(target: str, verbs: str, why: str) -> Evidence:
    return Evidence(
        kind="ClusterRole", name="karpenter-core", path=f"rules[{target}]", seen=verbs, wanted=f"absent: {why}"
    )


def test_nothing_but_what_is_needed():
    assert result_of(CHECK, "1.0", by_hand()) == GOOD


def test_creating_nodes_is_outgrown():
    rows = (a_row("nodes", "create", "0.34 and later create no nodes"),)
    found = result_of(CHECK, "1.0", by_hand(a_rule("", "nodes", "create", "get")))
    assert found == ("fail", "1 Kubernetes permission of the controller is no longer needed", rows)


def test_alpha_objects_are_outgrown():
    rows = (a_row("machines.karpenter.sh", "create, delete", "no release from 0.33 on reads alpha objects"),)
    found = result_of(CHECK, "1.0", by_hand(a_rule("karpenter.sh", "machines", "create", "delete")))
    assert found == ("fail", "1 Kubernetes permission of the controller is no longer needed", rows)


def test_a_rule_for_everything_is_somebodys_decision():
    assert result_of(CHECK, "1.0", by_hand(a_rule("*", "*", "*"))) == GOOD


def test_the_charts_roles_are_the_charts_business():
    found = result_of(CHECK, "1.0", a_cluster())
    assert found == ("not_applicable", "the chart writes every ClusterRole of the controller", ())


def test_no_role_at_all_is_not_believed():
    why = "no ClusterRole is bound to the controller's service account by a ClusterRoleBinding"
    assert result_of(CHECK, "1.0", a_cluster().without("controller_rbac")) == ("unknown", why, ())


def test_it_is_asked_once_rights_have_ended():
    assert asked_hops(CHECK)[0] == "0.33+"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_names_the_role():
    text = remedies(CHECK, "1.0", by_hand(a_rule("", "nodes", "create")))[0].text
    (line,) = text.splitlines()[1:]
    assert line.startswith("kubectl edit clusterrole karpenter-core  # rules[")


def test_a_rule_that_keeps_other_verbs_is_patched_and_brought_back():
    role = by_hand(a_rule("", "nodes", "create", "get"))
    (remedy,) = remedies(CHECK, "1.0", role)
    (step,) = leaves(remedy.change)
    at = len(role.build().controller_rbac.items[0].rules) - 1
    assert step.body == (
        {"op": "test", "path": f"/rules/{at}/verbs", "value": ["create", "get"]},
        {"op": "replace", "path": f"/rules/{at}/verbs", "value": ["get"]},
    )
    assert step.undo.body == (
        {"op": "test", "path": f"/rules/{at}/verbs", "value": ["get"]},
        {"op": "replace", "path": f"/rules/{at}/verbs", "value": ["create", "get"]},
    )
