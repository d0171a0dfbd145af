"""Retired marks and labels get their successors, and each step says which pods restart by it."""

from typing import Any

import pytest

from migrations_app.actions.base import Unavailable
from migrations_app.actions.changes import ObjectTarget
from migrations_app.actions.conditions import FieldEquals
from migrations_app.actions.gate import Gate
from migrations_app.actions.gates.workload_gate import WorkloadGate
from migrations_app.actions.targets import workloads
from migrations_app.errors import InvalidInput
from migrations_app.samples.karpenter_objects import claim
from migrations_app.samples.kubernetes_objects import containers, template, workload
from tests.actions.on_server import applied, carried_out, installed, plan_of, previewed, put, registered, taken_back
from tests.actions.scenes import a_scene, action_of, asks_too_much, bodies, forecast_of, steps_of
from tests.builders.clusters import a_cluster
from tests.builders.pods import OLD, bare, pods
from tests.builders.pools import a_pool
from tests.builders.pools import put as changed

ACTION = "rename_markers"
EVICT = {"karpenter.sh/do-not-evict": "true"}
DISRUPT = {"karpenter.sh/do-not-disrupt": "true"}
SELECTS = {"nodeSelector": {"karpenter.sh/provisioner-name": "web"}}
OLD_KEY, NEW_KEY = "karpenter.sh/provisioner-name", "karpenter.sh/nodepool"


def made(kind="Deployment", name="shop", *, marks=None, replicas=3, **spec: Any):
    pod = template({"app": name}, {"containers": containers(name, "web:1")} | spec, annotations=marks)
    return workload(kind, name, namespace="shop", replicas=replicas, pod=pod)


def cron(version="v1", **spec: Any):
    pod = template({"app": "nightly"}, {"containers": containers("nightly", "web:1"), "restartPolicy": "Never"} | spec)
    return {
        "apiVersion": f"batch/{version}",
        "kind": "CronJob",
        "metadata": {"name": "nightly", "namespace": "shop", "uid": "c"},
        "spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": pod}}},
    }


def job(*, suspend: bool, **spec: Any):
    pod = template({"app": "once"}, {"containers": containers("once", "web:1"), "restartPolicy": "Never"} | spec)
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once", "namespace": "shop", "uid": "j"},
            "spec": {"suspend": suspend, "template": pod}}  # fmt: skip


def cluster(*docs, version="0.32.10"):
    return a_cluster(version, kubernetes="1.28").with_docs(a_pool(version="v1beta1"), *docs)


def planned(*docs, version="0.32.10", read=(), **parameters):
    scene = a_scene(cluster(*docs, version=version), *(read or docs))
    return steps_of(ACTION, scene, **parameters)


def waits_for(doc, *, pods: int, available: int = 0) -> Gate:
    kind, meta = doc["kind"], doc["metadata"]
    target = ObjectTarget("apps", "v1", f"{kind.lower()}s", kind, meta["name"], namespace="shop", uid=meta["uid"])
    return Gate(workload=WorkloadGate(target=target, available=available), pending_above=0, seconds=max(900, 60 * pods))


def left(*docs, **parameters):
    return forecast_of(ACTION, a_scene(cluster(*docs), *docs), **parameters)


def test_a_mark_of_a_template_gets_its_successor_beside_it():  # WL-03
    (step,) = planned(made(marks=EVICT))
    field = ("spec", "template", "metadata", "annotations", "karpenter.sh/do-not-disrupt")
    assert (
        step.title
        == "Rename retired keys in the pod template of Deployment shop/shop: restarts 3 pods one after the other"
    )
    assert step.change.body == {"spec": {"template": {"metadata": {"annotations": DISRUPT}}}}
    assert (step.preconditions, step.postconditions, step.undo_postconditions) == (
        (field,),
        (FieldEquals(field, "true"),),
        (FieldEquals(field),),
    )
    assert step.undo.body == {"spec": {"template": {"metadata": {"annotations": dict.fromkeys(DISRUPT)}}}}
    assert (step.risk, step.after, step.change.target.uid) == (
        "medium", waits_for(made(), pods=3), made()["metadata"]["uid"],
    )  # fmt: skip


def test_once_the_old_mark_means_nothing_it_is_taken_out():
    (step,) = planned(made(marks=EVICT), version="1.0.8")
    assert step.change.body["spec"]["template"]["metadata"]["annotations"] == DISRUPT | dict.fromkeys(EVICT)
    assert step.undo.body["spec"]["template"]["metadata"]["annotations"] == EVICT | dict.fromkeys(DISRUPT)


def test_a_selector_of_the_old_label_is_replaced_and_a_list_stands_whole():  # WL-01, A02
    (step,) = planned(made(**SELECTS))
    assert step.change.body == {"spec": {"template": {"spec": {"nodeSelector": {OLD_KEY: None, NEW_KEY: "web"}}}}}
    wanted = {"topologyKey": OLD_KEY, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    other = wanted | {"topologyKey": "topology.kubernetes.io/zone"}
    (step,) = planned(made(topologySpreadConstraints=[wanted, other]))
    field = ("spec", "template", "spec", "topologySpreadConstraints")
    assert (step.preconditions, step.postconditions) == (
        (field,),
        (FieldEquals(field, [wanted | {"topologyKey": NEW_KEY}, other]),),
    )
    assert step.undo_postconditions == (FieldEquals(field, [wanted, other]),)


def test_a_pool_of_another_name_has_to_be_chosen():
    apart = made(nodeSelector={OLD_KEY: "gone"})
    with pytest.raises(Unavailable, match="there is no NodePool gone: convert the Provisioners first"):
        planned(apart)
    (step,) = planned(apart, pool="web")
    assert step.change.body["spec"]["template"]["spec"]["nodeSelector"] == {OLD_KEY: None, NEW_KEY: "web"}
    with pytest.raises(Unavailable, match="there is no NodePool none"):
        planned(apart, pool="none")


RECREATE = {"spec.strategy": {"type": "Recreate"}}
PAUSED = {"spec.paused": True}
ON_DELETE = {"spec.updateStrategy": {"type": "OnDelete"}}


@pytest.mark.parametrize(
    ("doc", "note", "pods_restarting"),
    [
        (made(replicas=1, **SELECTS), "restarts 1 pod one after the other", 1),
        (changed(made(**SELECTS), RECREATE), "stops 3 pods at once and starts them again", 3),
        (changed(made(**SELECTS), PAUSED), "restarts 3 pods once it is resumed", 3),
        (made("StatefulSet", **SELECTS), "restarts 3 pods one after the other", 3),
        (changed(made("DaemonSet", **SELECTS), ON_DELETE), "3 pods stay as they are until deleted", 0),
        (made("DaemonSet", replicas=7, **SELECTS), "restarts 7 pods one after the other", 7),
        (cron(**SELECTS), "no pod restarts; the next run has it", 0),
        (job(suspend=True, **SELECTS), "no pod runs yet", 0),
    ],
)
def test_each_step_says_which_pods_restart(doc, note, pods_restarting):
    (step,) = planned(doc)
    assert step.title.endswith(f": {note}")
    assert (step.after is not None, step.risk) == (bool(pods_restarting), "medium" if pods_restarting else "low")
    assert left(doc).pods == pods_restarting


def test_pods_that_were_not_available_and_a_paused_workload_are_not_waited_for():
    halfway = changed(made(replicas=20, **SELECTS), {"status.availableReplicas": 15})
    (step,) = planned(halfway)
    assert step.after == step.undo_after == waits_for(halfway, pods=20, available=15)
    (step,) = planned(changed(made(**SELECTS), PAUSED))
    assert step.after == Gate(pending_above=0)


def test_a_cronjob_is_changed_where_its_template_lies():
    (step,) = planned(cron(**SELECTS))
    inner = {"nodeSelector": {OLD_KEY: None, NEW_KEY: "web"}}
    assert step.change.body == {"spec": {"jobTemplate": {"spec": {"template": {"spec": inner}}}}}


def test_a_job_that_runs_cannot_be_changed():
    running = job(suspend=False, **SELECTS)
    with pytest.raises(Unavailable, match="nothing to do"):
        planned(running)
    assert left(running).blocked == ("Job shop/once: its template cannot be changed any more",)


def test_pods_that_nothing_restarts_are_marked_as_they_are():
    one = bare("one") | {}
    one["metadata"]["annotations"] = EVICT
    (step,) = planned(one)
    assert step.title == "Mark Pod shop/one with karpenter.sh/do-not-disrupt: it does not restart"
    assert (step.change.body, step.risk) == ({"metadata": {"annotations": DISRUPT}}, "low")


def test_pods_of_a_template_that_restarts_them_are_left_alone():
    running = pods(name="shop", annotations=EVICT, count=3)
    assert len(planned(made(marks=EVICT), *running)) == 1


def test_pods_beyond_the_known_names_are_told():
    many = pods("ReplicaSet", "alone", annotations=EVICT, count=5)
    told = left(*many)
    assert len(planned(*many)) == 3
    assert told.blocked == ("ReplicaSet shop/alone: 2 more of its pods keep the old mark alone until they restart",)


def test_nodes_carry_marks_too():
    node = claim(OLD, node_class="default", version="v1beta1")[1]
    marked = changed(node, {"metadata.annotations": {"karpenter.sh/do-not-consolidate": "true"}})
    (step,) = planned(marked)
    assert (step.change.path, step.change.body) == (f"/api/v1/nodes/{OLD.node}", {"metadata": {"annotations": DISRUPT}})


def test_only_what_was_asked_for():
    both = made(marks=EVICT, **SELECTS)
    assert list(planned(both, placement=False)[0].change.body["spec"]["template"]) == ["metadata"]
    assert list(planned(both, marks=False)[0].change.body["spec"]["template"]) == ["spec"]
    with pytest.raises(Unavailable, match="nothing to do"):
        planned(both, namespaces=["other"])


def test_the_controllers_own_rules_are_the_charts():
    scene = a_scene(a_cluster("0.32.10", kubernetes="1.28").with_docs(a_pool(version="v1beta1")))
    with pytest.raises(Unavailable, match="nothing to do"):
        steps_of(ACTION, scene)


def test_who_would_revert_it_is_named():  # ROLL-05
    kept = changed(made(**SELECTS), {"metadata.labels": {"kustomize.toolkit.fluxcd.io/name": "apps"}})
    (step,) = planned(kept)
    assert (step.manager, "change its source too" in step.note) == ("Flux apps", True)


def test_a_workload_that_is_gone_meanwhile():
    scene = a_scene(cluster(made(**SELECTS)))
    assert forecast_of(ACTION, scene).blocked == ("Deployment shop/shop: is gone",)


def test_the_objects_to_read():
    one = bare("one") | {}
    one["metadata"]["annotations"] = EVICT
    wanted = action_of(ACTION).objects_to_read(cluster(made(**SELECTS), one).build(), {})
    assert [found.display_name for found in wanted] == ["Deployment shop/shop", "Pod shop/one"]


def test_nothing_is_planned_on_what_was_not_read():
    for part in action_of(ACTION).parts:
        with pytest.raises(Unavailable) as told:
            steps_of(ACTION, a_scene(cluster(made(**SELECTS)).unseen(part), made(**SELECTS)))
        assert told.value.code == "not_seen"


@pytest.mark.parametrize("name", ["", ".", "..", "../x", 7])
def test_names_that_are_none(name):
    with pytest.raises(InvalidInput) as told:
        planned(made(**SELECTS), namespaces=[name])
    assert told.value.code == "bad_name"


def test_it_asks_for_no_more_than_it_says():
    one = bare("one") | {}
    one["metadata"]["annotations"] = EVICT
    docs = (made(**SELECTS), made("StatefulSet", **SELECTS), made("DaemonSet", **SELECTS), cron(**SELECTS), one)
    steps = planned(*docs, job(suspend=True, **SELECTS))
    assert (len(bodies(steps)), asks_too_much(ACTION, steps)) == (6, set())


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_on_the_real_server(server):  # A17, A27, A35, WL-01, WL-03
    server.load_crds("beta")
    installed(server, "0.37.8")
    server.admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    avoids = {"matchExpressions": [{"key": OLD_KEY, "operator": "DoesNotExist"}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [avoids]}}}
    docs = (made(marks=EVICT, **SELECTS), made("DaemonSet", "agent", affinity=affinity), cron("v1beta1", **SELECTS))
    put(server, a_pool(version="v1beta1"), *({**doc, "status": {}} for doc in docs))
    paths = [server.admin.path_of(doc) for doc in docs]
    before = [server.admin.get(path)["spec"] for path in paths]
    row = previewed(registered(server), ACTION)
    assert (row.state, row.cause, len(plan_of(row).steps)) == ("previewed", "", 3)
    assert [server.admin.get(path)["spec"] for path in paths] == before
    done = carried_out(row, between=lambda: settled(server, paths))
    assert (done.state, done.cause, applied(done)) == ("succeeded", "", ["s001", "s002", "s003"])
    pod = server.admin.get(paths[0])["spec"]["template"]
    assert (pod["metadata"]["annotations"], pod["spec"]["nodeSelector"]) == (EVICT | DISRUPT, {NEW_KEY: "web"})
    assert taken_back(done) == ["s003", "s002", "s001"]
    assert [server.admin.get(path)["spec"] for path in paths] == before


def settled(server, paths) -> None:
    """What the controllers of these workloads report once all of their pods are replaced."""
    for path in paths:
        found = server.admin.get(path)
        counts = {"Deployment": DEPLOYED, "DaemonSet": ON_EVERY_NODE}.get(found["kind"])
        if counts:
            status = counts | {"observedGeneration": found["metadata"]["generation"]}
            server.admin.patch(f"{path}/status", {"status": status})


DEPLOYED = {"replicas": 3, "updatedReplicas": 3, "readyReplicas": 3, "availableReplicas": 3}
ON_EVERY_NODE = {
    "desiredNumberScheduled": 2, "currentNumberScheduled": 2, "updatedNumberScheduled": 2, "numberMisscheduled": 0,
    "numberReady": 2, "numberAvailable": 2,
}  # fmt: skip


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_no_two_workloads_restart_at_the_same_time_on_the_real_server(server):  # A24, R24
    server.load_crds("beta")
    installed(server, "0.37.8")
    server.admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    put(server, a_pool(version="v1beta1"), *({**made(name=name, **SELECTS), "status": {}} for name in ("one", "two")))
    paths = [f"/apis/apps/v1/namespaces/shop/deployments/{name}" for name in ("one", "two")]
    settled(server, paths)
    row, waits = previewed(registered(server), ACTION), []

    def look() -> None:
        row.refresh_from_db()
        generations = [server.admin.get(path)["metadata"]["generation"] for path in paths]
        if generations == [2, 1] and row.waits_for:
            waits.append(row.waits_for)
        if len(waits) > 1 or generations == [2, 2]:
            settled(server, paths)

    done = carried_out(row, between=look)
    assert (done.state, done.cause, applied(done)) == ("succeeded", "", ["s001", "s002"])
    words = "Deployment shop/one was not taken up by its controller yet"
    assert waits[:2] == [words] * 2


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_pods_that_do_not_become_available_hold_the_next_workload_on_the_real_server(server, monkeypatch):  # A24, R24
    monkeypatch.setattr(workloads, "LEAST_SECONDS", 2)
    monkeypatch.setattr(workloads, "SECONDS_A_POD", 0)
    server.load_crds("beta")
    installed(server, "0.37.8")
    server.admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    put(server, a_pool(version="v1beta1"), *({**made(name=name, **SELECTS), "status": {}} for name in ("one", "two")))
    one, two = (f"/apis/apps/v1/namespaces/shop/deployments/{name}" for name in ("one", "two"))
    settled(server, [one, two])
    row = previewed(registered(server), ACTION)

    def stuck() -> None:
        status = {"observedGeneration": 2, "replicas": 4, "updatedReplicas": 1, "availableReplicas": 2}
        server.admin.patch(f"{one}/status", {"status": status})

    done = carried_out(row, between=stuck)
    assert (done.state, done.cause_code, applied(done)) == ("paused", "gate", ["s001"])
    assert done.cause.endswith(
        "after 2 s still not so; Deployment shop/one: pods replaced: 1 of 3; Deployment shop/one: pods of the former "
        "template: 3; Deployment shop/one: pods available: 2, before: 3"
    )
    assert server.admin.get(two)["metadata"]["generation"] == 1


def test_a_rollout_of_argo_is_left_to_people():
    by_argo = made(name="steps", **SELECTS) | {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"}
    beside = made(**SELECTS)
    instead = {"pool": "web"}
    assert [step.change.target.kind for step in planned(by_argo, beside, **instead)] == ["Deployment"]
    assert left(by_argo, beside, **instead).blocked == ("Rollout shop/steps: change its manifest",)
