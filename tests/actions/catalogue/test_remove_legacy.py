"""Alpha objects go only when nothing hangs on them, their CRDs only when no object is left, Machines never."""

import re

import pytest

from migrations_app.actions.base import Unavailable
from migrations_app.actions.registry import all_actions
from migrations_app.errors import InvalidInput
from migrations_app.execution.proof import permissions_to_execute, refuse_missing_rights
from migrations_app.karpenter import kinds
from migrations_app.readiness.rbac.roles import act_rules
from migrations_app.use_cases.rollouts.backups import diffs_of
from tests.actions.on_server import carried_out, installed, previewed, put, registered
from tests.actions.scenes import a_plan, a_scene, action_of, asks_too_much, forecast_of, steps_of
from tests.actions.whole_rollouts import CRDS, done, lasting, roll_back, sent
from tests.builders.clusters import a_cluster, helm_crds
from tests.builders.pools import a_machine, a_pool, a_provisioner, a_template

ACTION = "remove_legacy"
ALPHA_CRDS = [doc for doc in helm_crds("0.32.10") if doc["metadata"]["name"] in
              {kind.crd_name for kind in kinds.ALPHA_KINDS}]  # fmt: skip
OBJECTS = (a_provisioner(), a_template())
DELETED_OBJECTS = ["Delete Provisioner web", "Delete AWSNodeTemplate default"]
CRD_NAMES = ("provisioners.karpenter.sh", "awsnodetemplates.karpenter.k8s.aws", "machines.karpenter.sh")
DELETED_CRDS = [f"Delete CustomResourceDefinition {name}" for name in CRD_NAMES]


def scene(*docs, version: str = "0.33.10"):
    found = (*ALPHA_CRDS, *docs)
    return a_scene(a_cluster(version).without("crds").with_docs(*helm_crds("0.33.10"), *found), *found)


def titles(*docs, **more) -> list[str]:
    return [step.title for step in steps_of(ACTION, scene(*docs, **more))]


def refused(*docs, **more) -> tuple[str, str]:
    with pytest.raises(Unavailable) as caught:
        titles(*docs, **more)
    return caught.value.code, caught.value.message


def test_objects_that_nothing_hangs_on_are_deleted_and_their_crds_wait():
    assert titles(*OBJECTS) == [*DELETED_OBJECTS, DELETED_CRDS[2]]


def test_crds_go_once_no_object_is_left():
    found = steps_of(ACTION, scene())
    assert [step.title for step in found] == DELETED_CRDS
    assert {(step.risk, step.undo.verb) for step in found} == {("destructive", "create")}
    assert action_of(ACTION).typed


class MayAllButList:
    def may(self, need, *, namespace="", name=""):
        return need.verb != "list" or bool(name)


def test_the_preview_proves_that_what_is_counted_may_be_listed():  # A26
    """A right for named objects does not cover a list."""
    with pytest.raises(InvalidInput) as caught:
        refuse_missing_rights(MayAllButList(), permissions_to_execute(a_plan(ACTION, steps_of(ACTION, scene()))))
    assert caught.value.code == "missing_rights"
    asked = set(re.findall(r'resources: \["(\w+)"\], verbs: \["list"\]', caught.value.message))
    assert asked == {"provisioners", "machines", "awsnodetemplates"}
    granted = {plural for rule in act_rules(all_actions()) if "list" in rule.verbs for plural in rule.resources}
    assert asked <= granted


def test_a_provisioner_with_nodes_or_machines_stays_with_its_template():  # CRD-12
    machine, *node = a_machine()
    assert titles(*OBJECTS, a_template(name="spare"), machine) == ["Delete AWSNodeTemplate spare"]
    assert titles(*OBJECTS, a_template(name="spare"), *node) == ["Delete AWSNodeTemplate spare", DELETED_CRDS[2]]


def test_where_everything_is_held_it_says_by_what():
    assert refused(*OBJECTS, *a_machine()) == ("in_use", "Provisioner web has 1 nodes and 1 Machines")


def test_a_release_that_launches_by_provisioners_keeps_them():
    assert refused(*OBJECTS, version="0.31.4")[0] == "in_use"
    assert refused(*OBJECTS, version="0.32.10")[0] == "in_use"


def test_beside_node_pools_0_32_gives_up_objects_but_no_crds():
    assert titles(*OBJECTS, a_pool(version="v1beta1"), version="0.32.10") == DELETED_OBJECTS


def test_a_provisioner_whose_pods_no_node_pool_takes_stays_while_0_32_launches_by_it():
    only_here = a_provisioner({"spec.labels": {"team": "ml"}}, name="ml")
    docs = (*OBJECTS, only_here, a_pool(version="v1beta1"))
    assert titles(*docs, version="0.32.10") == ["Delete Provisioner web"]
    assert titles(*docs) == [*DELETED_OBJECTS[:1], "Delete Provisioner ml", *DELETED_OBJECTS[1:], DELETED_CRDS[2]]
    code, message = refused(only_here, a_pool(version="v1beta1"), a_template(), version="0.32.10")
    assert (code, message) == (
        "in_use",
        "no NodePool replaces Provisioner ml: NodePool web does not give the label team=ml",
    )


def test_an_unknown_release_deletes_nothing():
    nobody = a_cluster("0.33.10").with_docs(*OBJECTS).without("controller", "helm_releases")
    with pytest.raises(Unavailable) as caught:
        steps_of(ACTION, a_scene(nobody))
    assert caught.value.code == "unknown_release"


@pytest.mark.parametrize("part", ["crds", "provisioners", "awsnodetemplates", "machines", "nodes", "nodepools"])
def test_a_part_that_was_not_read_whole_stops_it(part):
    for blind in (a_cluster("0.33.10").unseen(part), a_cluster("0.33.10").quarantined(part)):
        with pytest.raises(Unavailable) as caught:
            steps_of(ACTION, a_scene(blind.with_docs(*OBJECTS)))
        assert caught.value.code == "not_seen"


def test_the_forecast_moves_no_node():
    found = forecast_of(ACTION, scene(*OBJECTS))
    words = f"a re-made {DELETED_CRDS[2].rpartition(' ')[2]} gets another uid"
    assert (found.nodes, found.pods, found.cannot_be_undone) == (0, 0, (words,))


def test_a_plan_of_objects_alone_is_as_destructive_as_its_button():  # A43
    found = steps_of(ACTION, scene(*OBJECTS))
    assert {step.risk for step in found} == {action_of(ACTION).risk} == {"destructive"}


def test_it_asks_for_no_more_than_it_declares():  # A26
    found = (*steps_of(ACTION, scene(*OBJECTS)), *steps_of(ACTION, scene()))
    assert asks_too_much(ACTION, found) == set()


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_on_a_real_server_objects_go_before_their_crds_and_all_come_back(server):  # A24, A27, A35
    server.load_crds("alpha_and_beta")
    installed(server, "0.33.10")
    before = put(server, *OBJECTS)
    cluster, paths = registered(server), [server.admin.path_of(one) for one in before]
    first = done(cluster, ACTION)
    assert sent(first) == [("delete", "web"), ("delete", "default"), ("delete", "machines.karpenter.sh")]
    sides = diffs_of(first.pk, steps=["s001"])["s001"]
    assert (sides[0]["kind"], sides[1]) == ("Provisioner", None)
    second = done(cluster, ACTION)
    assert [verb for verb, _ in sent(second)] == ["delete"] * 2
    assert [one["metadata"]["name"] for one in server.admin.items(CRDS)] == [
        "ec2nodeclasses.karpenter.k8s.aws", "nodeclaims.karpenter.sh", "nodepools.karpenter.sh",
    ]  # fmt: skip
    roll_back(cluster, second)
    roll_back(cluster, first)
    assert len(server.admin.items(CRDS)) == 6
    after = [lasting(server.admin.get(path)) for path in paths]
    assert [one["spec"] for one in after] == [one["spec"] for one in before]


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_a_crd_does_not_take_an_object_along_that_came_after_the_preview_on_the_real_server(server):  # A17, R21
    server.load_crds("alpha_and_beta")
    installed(server, "0.33.10")
    row = previewed(registered(server), ACTION)
    (found,) = put(server, *OBJECTS[:1])  # as a delivery that applies an old source
    done_row = carried_out(row)
    crd = f"{found['kind'].lower()}s.karpenter.sh"
    words = f"objects of {crd}: 1 now, 0 at the preview; make a new preview"
    assert (done_row.state, done_row.cause_code, done_row.cause) == ("paused", "changed", words)
    assert server.admin.get(server.admin.path_of(found))["metadata"]["uid"] == found["metadata"]["uid"]
    assert crd in [one["metadata"]["name"] for one in server.admin.items(CRDS)]
