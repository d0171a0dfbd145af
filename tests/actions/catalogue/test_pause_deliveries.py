"""Deliveries are switched off with what their switch said before, and switched on again exactly as they were."""

import json

import pytest

from migrations_app.actions.base import Unavailable
from migrations_app.errors import InvalidInput
from migrations_app.inventory.facts.delivery_sources import PAUSED
from migrations_app.models.cluster import Cluster
from migrations_app.use_cases.clusters.registration import Details, register_kubeconfig
from tests.actions.delivered import AUTOMATED, FROM_GIT, application, definitions, helm_release, kustomization
from tests.actions.on_server import previewed, put, registered
from tests.actions.scenes import a_scene, asks_too_much, bodies, steps_of
from tests.actions.whole_rollouts import done, lasting, roll_back
from tests.builders.clusters import a_cluster
from tests.deploy.roles import bound_in

NAME = "pause_deliveries"
NAMED = "HelmRelease flux-system/karpenter"
TOLD = json.dumps(AUTOMATED, sort_keys=True, separators=(",", ":"))


def scene(*docs):
    return a_scene(a_cluster().with_docs(*docs), *docs)


def steps(*docs, **parameters):
    return steps_of(NAME, scene(*docs), **parameters)


def refused(*docs, **parameters):
    with pytest.raises((Unavailable, InvalidInput)) as caught:
        steps(*docs, **parameters)
    return caught.value.code


def paused(said, spec):
    return {"metadata": {"annotations": {PAUSED: said}}, "spec": spec}


def test_each_is_switched_off_in_its_own_way():
    app = application(automated=AUTOMATED)
    found = steps(helm_release(), kustomization(suspend=False), app)
    off, away = {"suspend": True}, {"syncPolicy": {"automated": None}}
    assert bodies(found) == [
        ("patch", NAMED, paused("null", off)),
        ("patch", "Kustomization flux-system/karpenter", paused("false", off)),
        ("patch", "Application argocd/karpenter", paused(TOLD, away)),
    ]
    assert [step.undo.body for step in found] == [
        paused(None, {"suspend": None}),
        paused(None, {"suspend": False}),
        paused(None, {"syncPolicy": {"automated": AUTOMATED}}),
    ]
    assert {step.risk for step in found} == {"medium"}


def test_what_stands_still_already_is_left_alone():
    still = (helm_release(suspend=True), application(), application(automated={"enabled": False}))
    assert refused(*still) == "nothing_to_do"


def test_only_those_that_are_named_are_paused():
    found = steps(helm_release(), kustomization(), deliveries=[NAMED])
    assert [one[1] for one in bodies(found)] == [NAMED]
    assert refused(helm_release(), deliveries=["HelmRelease flux-system/other"]) == "gone"
    assert refused(helm_release(), deliveries=NAMED) == "bad_parameter"


def test_what_delivers_to_another_cluster_is_left_alone():
    away = application(automated=AUTOMATED, destination={"name": "far", "namespace": "kube-system"})
    assert refused(away) == "nothing_to_do"


def owned(app):
    owner = {"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "name": "all", "uid": "u"}
    return app | {"metadata": app["metadata"] | {"ownerReferences": [owner]}}


def test_whoever_would_switch_it_on_again_is_named():
    assert refused(owned(application(automated=AUTOMATED))) == "kept"
    tracked = application(automated=AUTOMATED)
    tracked["metadata"]["annotations"] = {"argocd.argoproj.io/tracking-id": "root:argoproj.io/Application:argocd/x"}
    silent, stated = helm_release(marks=FROM_GIT), helm_release(marks=FROM_GIT, suspend=False)
    assert [one.manager for found in (tracked, silent, stated) for one in steps(found)] == [
        "Argo CD root", "", "Flux flux-system/apps"
    ]  # fmt: skip
    assert "Flux flux-system/apps writes this object" in steps(silent)[0].note


def test_it_asks_for_no_more_than_it_declares():  # A26
    assert asks_too_much(NAME, steps(helm_release(), kustomization(), application(automated={}))) == set()


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_on_a_real_server_all_come_back_exactly_as_they_were(server):  # A19, A25, A27, A35, A39
    server.load_documents(definitions())
    for name in ("flux-system", "argocd"):
        server.admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    docs = (helm_release(), kustomization(suspend=False), application(automated=AUTOMATED, revisionHistoryLimit=3))
    before = put(server, *docs)
    cluster, paths = registered(server), [server.admin.path_of(one) for one in before]

    def now():
        return [lasting(server.admin.get(path)) for path in paths]

    done(cluster, NAME)
    still = now()
    assert [one["metadata"]["annotations"][PAUSED] for one in still] == ["null", "false", TOLD]
    assert [one["spec"].get("suspend") for one in still] == [True, True, None]
    assert still[2]["spec"]["syncPolicy"] == {}

    row = done(cluster, "resume_deliveries")
    assert now() == [lasting(one) for one in before]

    roll_back(cluster, row)  # the rollback of a resume is the pause
    assert now() == still
    done(cluster, "resume_deliveries")
    assert now() == [lasting(one) for one in before]
    assert previewed(cluster, "resume_deliveries").cause_code == "nothing_to_do"


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_on_a_real_server_the_printed_role_in_its_namespace_is_enough(server):  # A26, T25
    server.load_documents(definitions())
    for name in ("flux-system", "argocd"):
        server.admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    put(server, helm_release(), application(automated=AUTOMATED))
    access = bound_in(server, "flux-system").encode()
    cluster = Cluster.objects.get(pk=register_kubeconfig(access, Details(name="bound", by="ada")))
    mark = server.audit_mark()
    done(cluster, NAME, deliveries=[NAMED])
    done(cluster, "resume_deliveries")
    ours = [one for one in server.audit_events(mark) if one["user"]["username"].startswith("karpdash-")]
    closed = {one["objectRef"]["resource"] for one in ours if one.get("responseStatus", {}).get("code") == 403}
    assert closed <= {"secrets"}  # Helm's records, whose role is not bound
    elsewhere = previewed(cluster, NAME, deliveries=["Application argocd/karpenter"])
    assert (elsewhere.state, elsewhere.cause_code) == ("expired", "missing_rights")
    assert 'resources: ["applications"]' in elsewhere.cause
