"""CRDs that are there already are marked for karpenter-crd; nothing is deleted and nobody else's is taken unasked."""

import pytest

from migrations_app.actions.base import PlanningContext, Unavailable
from migrations_app.actions.catalogue.crds.adopt_crds import action
from migrations_app.karpenter import labels
from migrations_app.readiness import stage
from migrations_app.samples.installation import Crds, crds
from tests.actions.on_server import installed, registered
from tests.actions.whole_rollouts import CRDS, done, lasting, roll_back, sent
from tests.builders.clusters import ACluster, a_cluster

NAMES = ["ec2nodeclasses.karpenter.k8s.aws", "nodeclaims.karpenter.sh", "nodepools.karpenter.sh"]
OWNER = {labels.HELM_RELEASE_NAME: "karpenter-crd", labels.HELM_RELEASE_NAMESPACE: "kube-system"}


def bare(version: str = "0.37.8", **marks) -> ACluster:
    """A cluster whose CRDs nobody owns, or those with these annotations."""
    return a_cluster(version).without("crds").with_docs(*crds(Crds(version=version, **marks)))


def steps(cluster: ACluster, **parameters):
    inventory = cluster.build()
    return action.steps(
        PlanningContext(inventory=inventory, running=stage.detect_running_release(inventory), objects={}, now=""),
        parameters,
    )


def refused(cluster: ACluster, **parameters) -> tuple[str, str]:
    with pytest.raises(Unavailable) as caught:
        steps(cluster, **parameters)
    return caught.value.code, caught.value.message


def test_each_crd_without_an_owner_is_marked():
    found = steps(bare())
    assert sorted(step.title for step in found) == [
        f"Mark {name} for the Helm release kube-system/karpenter-crd" for name in NAMES
    ]
    wanted = {"labels": {labels.APP_MANAGED_BY: "Helm"}, "annotations": OWNER}
    assert [step.change.body for step in found] == [{"metadata": wanted}] * 3
    back = {"labels": {labels.APP_MANAGED_BY: None}, "annotations": dict.fromkeys(OWNER)}
    assert [step.undo.body for step in found] == [{"metadata": back}] * 3
    fields = {("metadata", "labels", labels.APP_MANAGED_BY), *(("metadata", "annotations", key) for key in OWNER)}
    assert [set(step.preconditions) for step in found] == [fields] * 3


def test_crds_that_are_marked_already_are_left_alone():
    assert refused(a_cluster("0.37.8"))[0] == "nothing_to_do"


def test_alpha_crds_are_marked_to_outlive_later_charts():
    found = {step.change.target.name: step.change.body["metadata"]["annotations"] for step in steps(bare("0.32.10"))}
    assert found["provisioners.karpenter.sh"] == OWNER | {"helm.sh/resource-policy": "keep"}
    assert found["nodepools.karpenter.sh"] == OWNER


def test_a_crd_of_another_release_is_taken_only_when_chosen():
    other = {labels.HELM_RELEASE_NAME: "karpenter", labels.HELM_RELEASE_NAMESPACE: "infra"}
    cluster = bare(annotations=other, labels={labels.APP_MANAGED_BY: "Helm"})
    code, words = refused(cluster, take_over=NAMES[:2])
    assert (code, NAMES[2] in words, NAMES[0] in words, "infra/karpenter" in words) == (
        "owned_by_other",
        True,
        False,
        True,
    )
    found = steps(cluster, take_over=NAMES)
    assert [step.undo.body["metadata"]["annotations"] for step in found] == [other] * 3
    assert all("infra/karpenter" in step.note for step in found)


def test_who_would_revert_it_is_named():
    flux = {"kustomize.toolkit.fluxcd.io/name": "infra", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
    assert {step.manager for step in steps(bare(labels=flux))} == {"Flux flux-system/infra"}
    assert {step.manager for step in steps(bare())} == {""}


def test_another_release_and_namespace_can_be_named():
    found = steps(bare(), release="crds", namespace="karpenter")
    wanted = {labels.HELM_RELEASE_NAME: "crds", labels.HELM_RELEASE_NAMESPACE: "karpenter"}
    assert [step.change.body["metadata"]["annotations"] for step in found] == [wanted] * 3


def test_without_a_controller_the_namespace_has_to_be_named():
    assert refused(bare().without("controller"))[0] == "where"


def test_a_crd_that_is_being_deleted_is_not_adopted():
    docs = crds(Crds(version="0.37.8"))
    docs[0]["metadata"]["deletionTimestamp"] = "2026-10-01T12:00:00Z"
    assert refused(a_cluster().without("crds").with_docs(*docs))[0] == "terminating"


def test_unseen_crds_are_not_adopted():
    assert refused(bare().unseen("crds"))[0] == "not_seen"


def test_it_asks_for_no_more_than_it_declares():  # A26
    assert {change.need for step in steps(bare()) for change in (step.change, step.undo)} <= set(action.may)


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_on_a_real_server_the_marks_come_and_go(server):  # A24, A27, A35
    server.load_crds("beta")
    installed(server, "0.37.8")
    cluster, before = registered(server), server.admin.items(CRDS)
    row = done(cluster, "adopt_crds")
    after = server.admin.items(CRDS)
    assert [one["metadata"]["annotations"] for one in after] == [OWNER] * 3
    assert [one["metadata"]["labels"] for one in after] == [{labels.APP_MANAGED_BY: "Helm"}] * 3
    assert sorted(sent(row)) == [("patch", name) for name in NAMES]
    roll_back(cluster, row)
    assert [lasting(one) for one in server.admin.items(CRDS)] == [lasting(one) for one in before]
