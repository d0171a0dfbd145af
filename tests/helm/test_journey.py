"""A journey in which karpdash upgrades the controller itself: its preview, with a real helm on a real API server."""

import pytest

from tests.acceptance import clusters
from tests.acceptance.real_clusters import load
from tests.actions import charts
from tests.builders.newest import NEWEST
from tests.helm.own_charts import install, packed, play_controllers
from tests.servers.processes import discard, folder
from tests.use_cases.journeys.test_on_server import CLEAN, shift, standing
from tests.use_cases.rollouts.workers import worker_processes

HOME = "kube-system"


@pytest.fixture
def place():
    found = folder("journey")
    charts.real_chart(found / "d" / "charts", f"v{NEWEST}", version=NEWEST)
    (found / "d" / "charts" / "next.tgz").write_bytes(packed(NEWEST))
    yield found
    discard(found)


@pytest.fixture
def people(clean_apiserver, place, helm):
    with worker_processes(clean_apiserver, place, module="tests.helm.journey_worker_process") as found:
        found.mark = clean_apiserver.audit_mark()
        found.ask("enlist")
        found.ask("configure", helm.program, str(place / "d"))
        yield found


def installed_by_helm(server, helm):
    """The sample cluster, its controller installed by a real helm instead of written by hand."""
    load(server, [one for one in clusters.objects(CLEAN) if not _of_chart(one)])
    install(helm, server, packed(CLEAN.version), {"settings": {"clusterName": "shop"}}, namespace=HOME)
    play_controllers(server, namespace=HOME)


def _of_chart(document):
    name = document["metadata"]["name"]
    ours = (("Deployment", "karpenter"), ("ServiceAccount", "karpenter"), ("ClusterRole", "karpenter-core"))
    record = document["kind"] == "Secret" and name.startswith("sh.helm.release.v1.karpenter.")
    return record or (document["kind"], name) in ours


def test_the_preview_of_a_journey_shows_what_helm_would_do(people, clean_apiserver, helm):
    installed_by_helm(clean_apiserver, helm)
    cluster = people.ask("register", clean_apiserver.kubeconfig(clean_apiserver.admin_token), "shop")
    people.ask("waive", cluster, "kubernetes_inside_window", "running_release_fits_kubernetes")
    journey = people.ask("plan_by_helm", cluster, f"karpenter-{NEWEST}", "next.tgz")
    assert shift(people, journey) == 0
    assert people.ask("shown", journey) == [
        ["upgrade_crds", "shown_in_journey", ""], ["upgrade_controller", "shown_in_journey", ""],
    ]  # fmt: skip
    here = standing(people, journey)
    assert [one[3] for one in here["steps"] if one[1] == "rollout"] == ["upgrade_crds", "upgrade_controller"]
    every = clean_apiserver.audit_events(people.mark)
    sent = [one for one in every if one["userAgent"].startswith("karpdash") and "helm" in one["userAgent"]]
    assert {one["verb"] for one in sent} >= {"create", "patch"}
    records = clean_apiserver.admin.items(f"/api/v1/namespaces/{HOME}/secrets", labelSelector="name=karpenter")
    assert [one["metadata"]["labels"]["version"] for one in records] == ["1"]
