"""Karpenter upgraded in the object of Flux or Argo CD that is its own source: version and values, and nothing else."""

from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest
from django.utils import timezone

from migrations_app.actions.base import Unavailable
from migrations_app.actions.patches import field_conditions
from migrations_app.actions.plan import numbered
from migrations_app.actions.render import step_lines
from migrations_app.actions.targets import crds as crd_targets
from migrations_app.actions.undo import inverses, without_uid
from migrations_app.errors import InvalidInput
from migrations_app.karpenter.versions import release
from migrations_app.models.rollout import Rollout
from migrations_app.readiness.delivery_diff import carriers
from migrations_app.use_cases.rollouts.helm import values
from tests.actions.delivered import (
    APPLICATIONS,
    AUTOMATED,
    FROM_GIT,
    GIVEN,
    HELM_RELEASES,
    application,
    argo_brings,
    definitions,
    flux_brings,
    helm_release,
)
from tests.actions.on_server import carried_out, gone, installed, previewed, put, registered
from tests.actions.scenes import a_scene, action_of, asks_too_much, bodies, forecast_of, steps_of
from tests.actions.whole_rollouts import lasting, rollback_preview, sent
from tests.builders.clusters import a_cluster
from tests.servers import crds

NAME = "upgrade_delivery"
EDITS = (("webhook.enabled", "false"), ("replicas", ""))


def scene(*docs, edits=EDITS, version="1.0.8"):
    docs = docs or (helm_release(),)
    found = a_scene(a_cluster(version).with_docs(*docs), *docs)
    return replace(found, edits=edits)


def steps(*docs, edits=EDITS, **parameters):
    return steps_of(NAME, scene(*docs, edits=edits), **({"release": "1.0.14"} | parameters))


def refused(*docs, edits=EDITS, **parameters):
    with pytest.raises((Unavailable, InvalidInput)) as caught:
        steps(*docs, edits=edits, **parameters)
    return caught.value.code


@pytest.fixture(autouse=True)
def one_hop(monkeypatch):
    """1.0.14 is one patch away: what the next hop lands on is another test's subject."""
    for module in (crd_targets, values):
        monkeypatch.setattr(module, "planned_release", lambda *_, wanted: release(wanted))


def test_a_helm_release_gets_version_and_values_and_keeps_the_rest():  # A02
    (step,) = steps()
    body = {"chart": {"spec": {"version": "1.0.14"}}, "values": {"replicas": None, "webhook": {"enabled": False}}}
    assert bodies([step]) == [("patch", "HelmRelease flux-system/karpenter", {"spec": body})]
    assert step.undo.body == {
        "spec": {"chart": {"spec": {"version": "1.0.8"}}, "values": {"replicas": 2, "webhook": None}}
    }
    assert step.title == "Upgrade karpenter in HelmRelease flux-system/karpenter from 1.0.8 to 1.0.14"
    assert (step.risk, step.preconditions) == ("high", (("spec",), ("operation",)))


def test_what_is_waited_for_is_the_delivery_and_the_controller():  # A24
    (step,) = steps()
    assert (step.after.delivery.version, step.after.controller.release) == ("1.0.14", "1.0.14")
    assert (step.after.controller.deployment, step.after.controller.leader) == (
        "karpenter",
        "karpenter-leader-election",
    )
    assert (step.undo_after.delivery.version, step.undo_after.controller.release) == ("1.0.8", "1.0.8")


def test_the_words_say_what_is_waited_for():
    (step,) = steps(edits=())
    text = "\n".join(step_lines(step))
    assert "HelmRelease flux-system/karpenter has delivered 1.0.14, the controller runs an image of 1.0.14" in text
    assert "undo: patching HelmRelease flux-system/karpenter" in text


def test_the_chart_of_the_crds_has_no_controller_to_wait_for():
    docs = (helm_release(), helm_release(chart="karpenter-crd"))
    (step,) = steps(*docs, edits=(), chart="karpenter-crd")
    assert bodies([step])[0][1:] == (
        "HelmRelease flux-system/karpenter-crd", {"spec": {"chart": {"spec": {"version": "1.0.14"}}}}
    )  # fmt: skip
    assert (step.after.controller, step.after.delivery.version) == (None, "1.0.14")


def test_an_application_gets_its_values_where_it_has_them():
    (step,) = steps(application(helm={"valuesObject": dict(GIVEN)}, automated=AUTOMATED))
    values = {"replicas": None, "webhook": {"enabled": False}}
    assert step.change.body == {"spec": {"source": {"targetRevision": "1.0.14", "helm": {"valuesObject": values}}}}
    assert step.undo.body["spec"]["source"]["helm"] == {"valuesObject": {"replicas": 2, "webhook": None}}


def test_values_that_are_text_stay_text_and_parameters_that_would_win_go():
    rows = [{"name": "replicas", "value": "3"}, {"name": "logLevel", "value": "debug"}]
    helm = {"values": "settings:\n  clusterName: shop\n", "parameters": rows}
    (step,) = steps(application(helm=helm, automated=AUTOMATED))
    assert step.change.body["spec"]["source"]["helm"] == {
        "values": "settings:\n  clusterName: shop\nwebhook:\n  enabled: false\n", "parameters": rows[1:],
    }  # fmt: skip
    assert step.undo.body["spec"]["source"] == {"targetRevision": "1.0.8", "helm": helm}


def test_of_several_sources_the_one_with_the_chart_changes():
    git = {"repoURL": "https://git.example/x", "path": "pools", "targetRevision": "main"}
    chart = {"repoURL": "public.ecr.aws/karpenter", "chart": "karpenter", "targetRevision": "1.0.8"}
    app = application(automated=AUTOMATED)
    del app["spec"]["source"]
    app["spec"]["sources"] = [git, chart]
    (step,) = steps(app, edits=())
    assert step.change.body == {"spec": {"sources": [git, chart | {"targetRevision": "1.0.14"}]}}
    assert step.undo.body == {"spec": {"sources": [git, chart]}}


def test_an_application_that_does_not_sync_by_itself_is_synced_once():
    options = {"syncPolicy": {"syncOptions": ["ServerSideApply=true"]}}
    (step,) = steps(application(**options), edits=())
    starts = {
        "initiatedBy": {"username": "karpdash"},
        "sync": {"prune": False, "syncOptions": ["ServerSideApply=true"]},
    }
    assert (step.change.body["operation"], step.undo.body["operation"]) == (starts, starts)
    assert {one.field[0] for one in (*step.postconditions, *step.undo_postconditions)} == {"spec"}
    (of_itself,) = steps(application(automated={}), edits=())
    assert "operation" not in of_itself.change.body


OWNER = [{"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "name": "all", "uid": "u"}]


def marked(found, **metadata):
    return found | {"metadata": found["metadata"] | metadata}


def written_by(name, found):
    fields = {"f:spec": {"f:chart": {"f:spec": {"f:version": {}}}}}
    return marked(found, managedFields=[{"manager": name, "operation": "Apply", "fieldsV1": fields}])


@pytest.mark.parametrize(
    ("code", "docs"),
    [
        ("no_delivery", [helm_release(chart="grafana")]),
        ("two_deliveries", [helm_release(), application()]),
        ("kept", [helm_release(marks=FROM_GIT)]),
        ("kept", [marked(application(), ownerReferences=OWNER)]),
        ("kept", [marked(application(), annotations={"argocd.argoproj.io/tracking-id": "root:x"})]),
        ("kept", [written_by("kustomize-controller", helm_release())]),
        ("kept", [written_by("Terraform", helm_release())]),
        ("suspended", [helm_release(suspend=True)]),
        ("busy", [application() | {"operation": {"sync": {}}}]),
        ("no_delivery", [application(destination={"server": "https://other.example"})]),
        ("no_delivery", [helm_release(kubeConfig={"secretRef": {"name": "far"}})]),
        ("nothing_to_do", [helm_release("1.0.14")]),
    ],
)
def test_what_is_not_changed_here(code, docs):  # A38
    assert refused(*docs, edits=()) == code


@pytest.mark.parametrize(
    "found",
    [
        helm_release(values="odd"),
        application(helm={"values": "- a"}),
        application(helm={"valuesObject": [1]}),
        application(helm="odd"),
    ],
)
def test_values_that_are_no_map_are_refused_and_break_no_scan(found):  # K18
    assert refused(found) == "values_elsewhere"
    told = carriers(a_cluster().with_docs(found).build())
    assert [one.chart for one in told] == ["karpenter"]


def test_what_a_report_keeps_of_an_object_has_no_secret():  # T23
    rows = [{"name": "controller.password", "value": "hunter2-77b1"}, {"name": "replicas", "value": "3"}]
    text = "podAnnotations:\n  password: hunter2-77b1\n"
    for helm in (
        {"values": text, "parameters": rows},
        {"valuesObject": {"podAnnotations": {"password": "hunter2-77b1"}}},
    ):
        (one,) = carriers(a_cluster().with_docs(application(helm=helm)).build())
        assert "hunter2" not in msgspec.json.encode(one).decode()
        assert set(one.spec["source"]["helm"]) == set(helm)


@pytest.mark.parametrize("name", ["helm-controller", "argocd-application-controller", "kubectl-edit", "argocd-server"])
def test_its_own_controller_and_people_do_not_make_it_another_ones(name):
    status = {"manager": name, "operation": "Update", "fieldsV1": {"f:status": {}}}
    for found in (helm_release(), application(automated=AUTOMATED)):
        if name.startswith("argocd") is (found["kind"] == "Application") or name.startswith("kubectl"):
            assert len(steps(marked(found, managedFields=[status]), edits=())) == 1


def test_a_value_that_looks_like_a_secret_stands_in_no_plan():  # T23
    helm = {"values": "podAnnotations:\n  password: hunter2-77b1\n"}
    assert refused(application(helm=helm, automated=AUTOMATED)) == "secret_value"
    assert refused(edits=(("controller.password", '"hunter2-77b1"'),)) == "secret_value"
    (step,) = steps(helm_release(values={"podAnnotations": {"password": "hunter2-77b1"}}))
    assert "hunter2" not in msgspec.json.encode(step).decode()


def test_where_the_tables_know_no_rollback_there_is_none():  # A35
    found = scene(helm_release("0.37.0"), version="0.37.0", edits=())
    (step,) = steps_of(NAME, found, release="1.1.0")
    assert (step.undo, step.undo_after, step.undo_postconditions) == (None, None, ())
    assert "no rollback from 1.1.0 to 0.37.0 is known to work" in step.note
    assert forecast_of(NAME, found, release="1.1.0").cannot_be_undone
    assert forecast_of(NAME, scene(), release="1.0.14").cannot_be_undone == ()


def test_what_a_person_did_meanwhile_is_told_before_rights_are_asked_for():
    def wanted(running, *docs, **parameters):
        found = a_cluster(running).with_docs(*docs).build()
        return [one.display_name for one in action_of(NAME).objects_to_read(found, {"release": "1.0.14"} | parameters)]

    with pytest.raises(Unavailable) as caught:
        wanted("1.0.14", helm_release("1.0.14"))
    assert caught.value.code == "nothing_to_do"
    assert wanted("1.0.8", helm_release("1.0.14")) == ["HelmRelease flux-system/karpenter"]
    assert wanted("1.0.14", helm_release("1.0.8")) == ["HelmRelease flux-system/karpenter"]


def test_a_rehearsal_does_not_know_what_a_delivery_brings():
    assert refused(edits=None) == "delivery_only_live"


def test_it_asks_for_no_more_than_it_declares():  # A26
    assert asks_too_much(NAME, steps()) == set()
    assert asks_too_much(NAME, steps(application())) == set()
    assert {need.verb for need in action_of(NAME).may} == {"patch"}


def test_taken_back_the_former_version_has_to_run_again():  # A35
    (step,) = numbered(steps())
    after = helm_release("1.0.14", values={"settings": {"clusterName": "shop"}, "webhook": {"enabled": False}})
    (back,) = inverses((step,), objects={without_uid(step.change.target): after}, made={})
    assert (back.step.change, back.step.after) == (step.undo, step.undo_after)
    assert back.step.postconditions == field_conditions(step.undo.body)
    changed = helm_release("1.0.15")
    with pytest.raises(Unavailable) as caught:
        list(inverses((step,), objects={without_uid(step.change.target): changed}, made={}))
    assert caught.value.code == "changed"


# On a real API server, with a stand-in for what Flux and Argo CD do.

START, NEXT = "1.0.8", "1.0.14"
DEPLOYMENT = "/apis/apps/v1/namespaces/kube-system/deployments/karpenter"


@pytest.fixture
def delivering(server, settings):
    """A server with the CRDs of v1, of Flux and Argo CD, and a controller; upgrades of it are allowed."""
    settings.ENV = replace(settings.ENV, controller_upgrades=True)
    server.load_documents([*crds.documents("v1"), *definitions()])
    for name in ("flux-system", "argocd"):
        server.admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    installed(server, START)
    return server


def controller_follows(server, version):
    """What the Deployment's controllers do once the chart names that release: a pod that is ready, and leads."""
    read = server.admin.get(DEPLOYMENT)
    containers = read["spec"]["template"]["spec"]["containers"]
    image = f"public.ecr.aws/karpenter/controller:{version}"
    server.admin.patch(DEPLOYMENT, {"spec": {"template": {"spec": {"containers": [containers[0] | {"image": image}]}}}})
    read = server.admin.get(DEPLOYMENT)
    wanted = read["spec"]["replicas"]
    counts = dict.fromkeys(("replicas", "updatedReplicas", "availableReplicas"), wanted)
    status = {"observedGeneration": read["metadata"]["generation"], **counts}
    server.admin.patch(f"{DEPLOYMENT}/status", {"status": status})
    pods = [_pod(server, read, image=image, name=f"karpenter-{version}-{number}") for number in range(wanted)]
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"} | {
        "metadata": {"name": "karpenter-leader-election", "namespace": "kube-system"},
        "spec": {"holderIdentity": f"{pods[0]}_1"},
    }
    server.admin.apply(lease)


def _pod(server, deployment, *, image, name):
    labels = deployment["spec"]["selector"]["matchLabels"]
    for other in server.admin.items("/api/v1/namespaces/kube-system/pods"):
        if not other["spec"]["containers"][0]["image"].endswith(image.rpartition(":")[2]):
            gone(server, f"/api/v1/namespaces/kube-system/pods/{other['metadata']['name']}")
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "kube-system", "labels": labels}}
    path = f"/api/v1/namespaces/kube-system/pods/{name}"
    if server.admin.request("GET", path).status != 200:
        server.admin.create(body | {"spec": {"containers": [{"name": "controller", "image": image}]}})
    ready = {"conditions": [{"type": "Ready", "status": "True"}], "phase": "Running"}
    server.admin.patch(f"{path}/status", {"status": ready})
    return name


def version_of(server, path):
    spec = server.admin.get(path)["spec"]
    return spec["chart"]["spec"]["version"] if "chart" in spec else spec["source"]["targetRevision"]


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("docs", "path", "brings"),
    [
        ([helm_release(START)], f"{HELM_RELEASES}/karpenter", flux_brings),
        ([application(START, automated=AUTOMATED)], f"{APPLICATIONS}/karpenter", argo_brings),
        ([application(START)], f"{APPLICATIONS}/karpenter", argo_brings),
    ],
    ids=["flux", "argocd", "argocd-by-hand"],
)
def test_on_a_real_server_the_object_changes_and_all_that_follows_is_waited_for(delivering, docs, path, brings):
    # A19, A24, A25, A27, A35
    put(delivering, *docs)
    cluster, before = registered(delivering), delivering.admin.get(path)
    row = previewed(cluster, NAME, release=NEXT)
    assert (row.state, row.cause) == ("previewed", "")
    assert version_of(delivering, path) == START
    seen = []

    def follow():
        """One thing at a time, so that a gate that looks at too little would pass too early."""
        seen.append((Rollout.objects.get(pk=row.pk).state, version_of(delivering, path)))
        if version_of(delivering, path) == NEXT and len(seen) > 1:
            (brings if len(seen) == 3 else lambda _: None)(delivering)
            (controller_follows(delivering, NEXT) if len(seen) == 5 else None)

    carried_out(row, between=follow)
    assert (row.state, row.cause) == ("succeeded", "")
    assert len(seen) >= 5
    assert set(seen) == {("running", NEXT)}
    assert sent(row) == [("patch", "karpenter")]

    back = rollback_preview(cluster, row)
    carried_out(back, between=lambda: (brings(delivering), controller_follows(delivering, START)))
    assert (back.state, back.cause) == ("succeeded", "")
    assert lasting(delivering.admin.get(path)) == lasting(before)


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_on_a_real_server_no_rollback_is_planned_into_a_running_sync(delivering):  # A35
    """Argo CD would go on with the version that the running sync began with."""
    path = f"{APPLICATIONS}/karpenter"
    put(delivering, application(START))
    cluster = registered(delivering)
    row = previewed(cluster, NAME, release=NEXT)

    def too_late():
        Rollout.objects.filter(pk=row.pk).update(gate_since=timezone.now() - timedelta(hours=1))

    assert carried_out(row, between=too_late).cause_code == "gate"
    back = rollback_preview(cluster, row)
    words = (
        "Application argocd/karpenter is being synced: wait until the sync has ended, or terminate it in Argo CD; "
        "then roll back"
    )
    assert (back.state, back.cause_code, back.cause) == ("expired", "busy", words)
    delivering.admin.patch(path, {"operation": None})
    back = rollback_preview(cluster, row)
    Rollout.objects.filter(pk=row.pk).update(state="rolling_back")  # as its start does
    carried_out(back, between=lambda: (argo_brings(delivering), controller_follows(delivering, START)))
    assert (back.state, version_of(delivering, path)) == ("succeeded", START)


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_on_a_real_server_what_git_writes_is_left_to_people(delivering, settings):  # A38
    git = helm_release(START, marks=FROM_GIT)
    put(delivering, git)
    cluster = registered(delivering)
    row = previewed(cluster, NAME, release=NEXT)
    assert (row.state, row.cause_code) == ("expired", "kept")
    assert "Flux flux-system/apps: change it there" in row.cause
    gone(delivering, f"{HELM_RELEASES}/karpenter")
    put(delivering, helm_release(START))
    settings.ENV = replace(settings.ENV, controller_upgrades=False)
    assert previewed(cluster, NAME, release=NEXT).cause_code == "controller_upgrades_off"
